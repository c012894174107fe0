"""Secrets: kept out of everything a run writes, by value.

A secret is the value of an environment variable whose name says so, or one among the options of a model
(`core.secrets`). It is searched for in each line just before it is written; without secrets that costs nothing.
Passwords in URLs, keys in queries and the values of headers that hold a key are known by their form: they are taken out
of error messages and manifests, but not out of prompts and answers, which are data.
"""

import json
import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from ..core import AssayError, Outcome, PlanError
from ..core.message import CHAT_ROLES
from ..core.secrets import HIDDEN, secrets_of

SHORTEST = 8
"""Shorter values are words of everyday text: they are not searched for in prompts and answers."""
SHORTEST_IN_MESSAGES = 4
REDACTED = "[redacted]"
_ENVIRONMENT_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_KNOWN = r"(?!\[redacted|\$\{env:)"
"""Hidden already, or only named."""
_USER_IN_URL = re.compile(r"(?<=://)[^/\s?#\"']+(?=@)")
_QUERY = re.compile(
    r"([?&](?:[\w-]*key|[\w-]*token|[\w-]*secret|password|sig|signature)=)" + _KNOWN + r"[^&\s\"'#]{8,}", re.IGNORECASE
)
_HEADER = re.compile(
    r"(\b(?:(?:proxy-)?authorization|[\w-]*api-key|[\w-]*auth-token|[\w-]*access-token)[\"']?\s*[:=]\s*[\"']?"
    r"(?:(?:bearer|basic|token)\s+)?)" + _KNOWN + r"[^\s\"',;]{8,}",
    re.IGNORECASE,
)
_BEARER = re.compile(r"(?<=Bearer )" + _KNOWN + r"[^\s\"',;]{8,}")
_WORD = re.compile(r"[a-z_]+")
"""A secret of this form stays in keys: there it is the name of a field or a metric, and records are read by it."""
_WORDS = frozenset({"output", "reasoning", "content_filter", "tool_calls", *CHAT_ROLES, *map(str, Outcome)})
"""Words of the record format, under these names: none of them is a secret, whatever some variable holds."""
_WORDED = frozenset({"kind", "outcome", "role", "type", "stop_reason"})


class Redactor:
    """Takes known secrets out of what is about to be written."""

    def __init__(self, secrets: frozenset[str] = frozenset(), in_messages: frozenset[str] = frozenset()) -> None:
        """`in_messages` are further ones, which prompts and answers may hold by chance."""
        self._secrets, self._in_messages = secrets, in_messages
        self.answers_changed = 0
        """Answers that held a secret and were written without it: whoever reads them again reads something else."""
        self._prepare()

    @classmethod
    def of(cls, *settings: Mapping[str, Any], environment: Mapping[str, str] | None = None) -> "Redactor":
        """For the secrets of this process's environment and of the given model options."""
        variables = os.environ if environment is None else environment
        found = {
            value
            for name, value in variables.items()
            if _ENVIRONMENT_NAME.search(name) and len(value) >= SHORTEST and not os.path.exists(value)
        }
        # A variable may hold a URL with a password or a key in it, as those of proxies and endpoints do.
        urls = secrets_of([value for value in variables.values() if "://" in value])
        found |= {secret for secret, is_sure in urls.items() if is_sure and len(secret) >= SHORTEST}
        made = cls(frozenset(found))
        made.learn(*settings)
        return made

    def learn(self, *settings: Mapping[str, Any]) -> None:
        """Adds the secrets of further model options."""
        if given := secrets_of(list(settings)):
            found = {secret for secret, is_sure in given.items() if _is_searched(secret, is_sure)}
            others = {secret for secret in given if len(secret) >= SHORTEST_IN_MESSAGES}
            self._secrets, self._in_messages = self._secrets | found, self._in_messages | (others - found)
            self._prepare()

    def _prepare(self) -> None:
        self._texts = _longest_first(self._secrets | self._in_messages)
        self._searched = _longest_first(self._secrets)
        self._bytes = list(dict.fromkeys(form for secret in self._searched for form in _json_forms(secret)))

    def holds_secret(self, body: bytes) -> bool:
        """Whether a line of JSON holds a secret; one search for each."""
        return any(secret in body for secret in self._bytes)

    def line(self, body: bytes) -> bytes:
        """A line of JSON without the secrets, no copy where there is none; an answer that held one says `redacted`."""
        if not self.holds_secret(body):
            return body
        record = json.loads(body)
        shown = self._without(record)
        if isinstance(record, dict) and record.get("kind") == "output" and shown["output"] != record["output"]:
            self.answers_changed += 1
            shown["details"] = {**shown.get("details", {}), "redacted": True}
        try:
            return json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode()
        except UnicodeEncodeError:
            return json.dumps(shown, separators=(",", ":")).encode()

    def _without(self, value: Any, name: str = "") -> Any:
        """Part of a record, without the secrets; the words by which records are read stay."""
        if isinstance(value, str):
            if name in _WORDED and value in _WORDS:
                return value
            return _cleared(value, self._searched)
        if isinstance(value, dict):
            return {_cleared(key, _odd(self._searched)): self._without(entry, key) for key, entry in value.items()}
        return [self._without(entry) for entry in value] if isinstance(value, list) else value

    def text(self, text: str) -> str:
        """A message, without the secrets and without what looks like one."""
        return scrub(_cleared(text, self._texts))

    def plain(self, value: Any) -> Any:
        """A document, without the secrets and without what looks like one."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {
                scrub(_cleared(name, _odd(self._texts))) if isinstance(name, str) else name: self.plain(entry)
                for name, entry in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self.plain(entry) for entry in value]
        return value

    def hide(self, error: Exception) -> None:
        """Takes secrets out of what an error says; what caused it is forgotten where it shows one."""
        if isinstance(error, AssayError):
            self._hide_lines(error)
        else:
            error.args = tuple(self.text(value) if isinstance(value, str) else value for value in error.args)
        cause = error.__cause__ or error.__context__
        while cause is not None:
            if self.text(str(cause)) != str(cause):
                error.__cause__, error.__suppress_context__ = None, True
                return
            cause = cause.__cause__ or cause.__context__

    def _hide_lines(self, error: AssayError) -> None:
        for fault in error.faults if isinstance(error, PlanError) else ():
            self.hide(fault)
        error.what = self.text(error.what)
        error.where = error.where and self.text(error.where)
        error.fix = error.fix and self.text(error.fix)
        error.args = (error.what,)


def scrub(text: str) -> str:
    """A message without what looks like a key: passwords in URLs, keys in queries, headers that hold one."""
    if "://" in text:
        text = _USER_IN_URL.sub(lambda user: user[0] if not HIDDEN.sub("", user[0]).strip(":") else REDACTED, text)
    if "=" in text:
        text = _QUERY.sub(rf"\g<1>{REDACTED}", text)
    if ":" in text or "=" in text:
        text = _HEADER.sub(rf"\g<1>{REDACTED}", text)
    return _BEARER.sub(REDACTED, text) if "Bearer " in text else text


def _is_searched(secret: str, is_sure: bool) -> bool:
    """Whether a secret is searched for in prompts and answers; a header's plain word is likely to be one of theirs."""
    return len(secret) >= SHORTEST and (is_sure or not (secret.isalpha() and secret.islower()))


def _longest_first(secrets: frozenset[str]) -> list[str]:
    """Each secret as it is and as URLs have it; the longest first, since one may begin with another."""
    others = {form for secret in secrets for form in (quote(secret, safe=""), unquote(secret))}
    known = secrets | {form for form in others if len(form) >= SHORTEST}
    return sorted(known, key=lambda secret: (-len(secret), secret))


def _cleared(text: str, secrets: list[str]) -> str:
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, REDACTED) if len(secret) >= SHORTEST else _word(secret).sub(REDACTED, text)
    return text


def _odd(secrets: list[str]) -> list[str]:
    """Those that are no plain words."""
    return [secret for secret in secrets if not _WORD.fullmatch(secret)]


def _word(secret: str) -> re.Pattern[str]:
    """A short secret where it stands alone: it may also be a piece of a word."""
    return re.compile(rf"(?<![\w-]){re.escape(secret)}(?![\w-])")


def _json_forms(secret: str) -> list[bytes]:
    """A secret as it stands in JSON, whichever encoder wrote it."""
    return [
        json.dumps(secret, ensure_ascii=is_ascii)[1:-1].encode("utf-8", "surrogatepass") for is_ascii in (False, True)
    ]

"""Secrets, kept out of everything a run writes, by value.

Which values they are and how they may be spelled, `core.secrets` knows. They are searched for in each line just before
it is written; without secrets that costs nothing. What only looks like a secret is taken out of error messages and
manifests, but not out of prompts and answers, which are data.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..core import AssayError, Outcome, PlanError
from ..core import secrets as known
from ..core.message import CHAT_ROLES
from ..core.secret_forms import forms_of, hidden_forms, json_forms
from ..core.secrets import HIDDEN, MARK, SHORTEST, SHORTEST_WORD, cleared, scrub

_WORD = re.compile(r"[a-z_]+")
"""A secret of this form stays in keys: there it is the name of a field or a metric, and records are read by it."""
_WORDS = frozenset(
    {
        "output",
        "reasoning",
        "content_filter",
        "tool_calls",
        *CHAT_ROLES,
        *map(str, Outcome),
    }
)
"""Words of the record format, under these names: none of them is a secret, whatever some variable holds."""
_WORDED = frozenset({"kind", "outcome", "role", "type", "stop_reason"})


class Redactor:
    """Takes known secrets out of what is about to be written."""

    def __init__(
        self,
        secrets: frozenset[str] = frozenset(),
        in_messages: frozenset[str] = frozenset(),
    ) -> None:
        """`in_messages` are further ones, which prompts and answers may hold by chance."""
        self._own, self._own_in_messages = secrets, in_messages
        self._has_echoed = False
        self.answers_changed = 0
        """Answers that held a secret and were written without it: whoever reads them again reads something else."""
        self._prepare()

    @classmethod
    def of(
        cls, *settings: Mapping[str, Any], environment: Mapping[str, str] | None = None
    ) -> "Redactor":
        """For the secrets of this process's environment and of the given model options."""
        known.learn(*settings)
        return cls(frozenset(known.of_environment(environment)))

    def learn(self, *settings: Mapping[str, Any]) -> None:
        """Adds the secrets of further model options."""
        known.learn(*settings)

    def _prepare(self) -> None:
        self._seen, secrets = known.remembered()
        found = {
            secret
            for secret, is_sure in secrets.items()
            if _is_searched(secret, is_sure)
        }
        others = {secret for secret in secrets if len(secret) >= SHORTEST_WORD}
        self._searched = self._own | found
        self._all = self._searched | self._own_in_messages | others
        self._bytes = _shortest_only(
            spelled for form in self._searched for spelled in json_forms(form)
        )
        every = _shortest_only(
            spelled for form in forms_of(self._searched) for spelled in json_forms(form)
        )
        self._encoded = [form for form in every if form not in self._bytes]

    def _look(self) -> None:
        if self._seen != known.remembered()[0]:
            self._prepare()

    def holds_secret(self, body: bytes, *, is_answer: bool = False) -> bool:
        """Whether a line of JSON, or an answer alone, holds a secret; one search for each form it may have."""
        self._look()
        for secret in self._bytes:
            if secret in body:
                self._has_echoed = True
                return True
        answer = body if is_answer else self._echo(body) if self._encoded else b""
        for form in self._encoded if answer else ():
            if form in answer:
                self._has_echoed = True
                return True
        return False

    def _echo(self, body: bytes) -> bytes:
        """The part of a line in which a secret may stand in base64, or as URLs have it.

        That is what a model answered or an error says. Prompts and scores repeat it, but only after an answer had it.
        """
        if self._has_echoed or b'"error"' in body:
            return body
        start = body.find(b'"output":')
        return body[start:] if start >= 0 else b""

    def line(self, body: bytes) -> bytes:
        """A line of JSON without the secrets, no copy where there is none; an answer that held one says `redacted`."""
        if not self.holds_secret(body):
            return body
        record = json.loads(body)
        copy = self._without(record)
        if (
            isinstance(record, dict)
            and record.get("kind") == "output"
            and copy["output"] != record["output"]
        ):
            self.answers_changed += 1
            copy["details"] = {**copy.get("details", {}), "redacted": True}
        try:
            return json.dumps(copy, ensure_ascii=False, separators=(",", ":")).encode()
        except UnicodeEncodeError:
            return json.dumps(copy, separators=(",", ":")).encode()

    def _without(self, value: Any, name: str = "") -> Any:
        """Part of a record, without the secrets; the words by which records are read stay."""
        if isinstance(value, str):
            return (
                value
                if name in _WORDED and value in _WORDS
                else cleared(value, self._searched)
            )
        if isinstance(value, dict):
            return {
                cleared(key, _odd(self._searched)): self._without(entry, key)
                for key, entry in value.items()
            }
        return (
            [self._without(entry) for entry in value]
            if isinstance(value, list)
            else value
        )

    def text(self, text: str) -> str:
        """A message, without the secrets and without what looks like one."""
        self._look()
        return scrub(cleared(text, self._all))

    def plain(self, value: Any) -> Any:
        """A document, without the secrets and without passwords in URLs and headers; names of files stay."""
        self._look()
        if isinstance(value, str):
            return hidden_forms(cleared(value, self._all), MARK, HIDDEN)
        if isinstance(value, Mapping):
            return {
                self._plain_name(name): self.plain(entry)
                for name, entry in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self.plain(entry) for entry in value]
        return value

    def _plain_name(self, name: Any) -> Any:
        return (
            hidden_forms(cleared(name, _odd(self._all)), MARK, HIDDEN)
            if isinstance(name, str)
            else name
        )

    def hide(self, error: Exception) -> None:
        """Takes secrets out of what an error says; what caused it is forgotten where it shows one."""
        if isinstance(error, AssayError):
            self._hide_lines(error)
        else:
            error.args = tuple(
                self.text(value) if isinstance(value, str) else value
                for value in error.args
            )
        cause = error.__cause__ or error.__context__
        while cause is not None:
            if self.plain(str(cause)) != str(cause):
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


def _shortest_only(forms: Iterable[bytes]) -> list[bytes]:
    """The forms without those that hold another of them: whoever searches finds these too."""
    shortest: list[bytes] = []
    for form in sorted(set(forms), key=len):
        if not any(shorter in form for shorter in shortest):
            shortest.append(form)
    return shortest


def _is_searched(secret: str, is_sure: bool) -> bool:
    """Whether a secret is searched for in prompts and answers; a header's plain word is likely to be one of theirs."""
    return len(secret) >= SHORTEST and (
        is_sure or not (secret.isalpha() and secret.islower())
    )


def _odd(secrets: frozenset[str]) -> frozenset[str]:
    """Those that are no plain words."""
    return frozenset(secret for secret in secrets if not _WORD.fullmatch(secret))

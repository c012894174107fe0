"""Redaction: replace secrets in everything that a run writes.

`core.secrets` has the values and their spellings. Each line is searched just before it
is written; without secrets this costs nothing. Text that only looks like a secret is
removed from error messages and manifests, but not from prompts and answers, which are
data.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

from ..core import AssayError, Outcome, PlanError
from ..core import secrets as known
from ..core.message import CHAT_ROLES
from ..core.secret_forms import forms_of, hidden_forms, json_forms
from ..core.secrets import HIDDEN, MARK, SHORTEST, SHORTEST_WORD, redact_secrets, scrub

T = TypeVar("T")

_WORD = re.compile(r"[a-z_]+")
"""Matches an ordinary word.

A secret that is an ordinary word is not removed from JSON keys, because it may be the
name of a field or metric.
"""
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
"""Words of the record format. They are not removed, even if a secret variable holds such a word."""
_WORDED = frozenset({"kind", "outcome", "role", "type", "stop_reason"})


class Redactor:
    """Replaces known secrets in everything that a run writes."""

    def __init__(
        self,
        secrets: frozenset[str] = frozenset(),
        in_messages: frozenset[str] = frozenset(),
    ) -> None:
        """Search for `secrets` everywhere, and for `in_messages` only in error messages.

        Prompts and answers may contain the latter by chance.
        """
        self._own = secrets
        self._own_in_messages = in_messages
        self._has_echoed = False
        self.answers_changed = 0
        """Number of answers that contained a secret, which was redacted."""
        self._prepare()

    @classmethod
    def of(
        cls,
        *settings: Mapping[str, Any],
        environment: Mapping[str, str] | None = None,
    ) -> "Redactor":
        """Return a redactor for the secrets in the environment and in the given model options."""
        known.learn(*settings)
        return cls(frozenset(known.secrets_of_environment(environment)))

    def learn(self, *settings: Mapping[str, Any]) -> None:
        """Add the secrets of further model options."""
        known.learn(*settings)

    def _prepare(self) -> None:
        self._seen, secrets = known.remembered()
        likely = {
            secret
            for secret, is_sure in secrets.items()
            if _is_searched(secret, is_sure)
        }
        others = {secret for secret in secrets if len(secret) >= SHORTEST_WORD}
        self._searched = self._own | likely
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

    def holds_secret(
        self,
        body: bytes,
        *,
        is_answer: bool = False,
    ) -> bool:
        """Return True if a line of JSON contains a secret in any spelling. The line may also be an answer alone."""
        self._look()
        for secret in self._bytes:
            if secret in body:
                self._has_echoed = True
                return True
        if is_answer:
            answer = body
        elif self._encoded:
            answer = self._echo(body)
        else:
            answer = b""
        for form in self._encoded if answer else ():
            if form in answer:
                self._has_echoed = True
                return True
        return False

    def _echo(self, body: bytes) -> bytes:
        """Return the part of a line that may contain a secret in base64 or URL form: the answer or an error.

        Prompts and scores contain such a form only if an answer contained it before.
        """
        if self._has_echoed or b'"error"' in body:
            return body
        start = body.find(b'"output":')
        if start >= 0:
            return body[start:]
        return b""

    def line(self, body: bytes) -> bytes:
        """Return a line of JSON without the secrets. Mark an answer that contained one as `redacted`."""
        if not self.holds_secret(body):
            return body
        record = json.loads(body)
        copy: Any = self._without(record)
        if (
            isinstance(record, dict)
            and record.get("kind") == "output"
            and copy["output"] != record["output"]
        ):
            self.answers_changed += 1
            copy["details"] = {**copy.get("details", {}), "redacted": True}
        try:
            return json.dumps(
                copy,
                ensure_ascii=False,
                separators=(",", ":"),
            ).encode()
        except UnicodeEncodeError:
            return json.dumps(copy, separators=(",", ":")).encode()

    def _without(
        self,
        value: object,
        name: str = "",
    ) -> object:
        """Return a part of a record without the secrets. Words of the record format are kept."""
        if isinstance(value, str):
            if name in _WORDED and value in _WORDS:
                return value
            return redact_secrets(value, self._searched)
        if isinstance(value, dict):
            return {
                redact_secrets(key, _odd(self._searched)): self._without(entry, key)
                for key, entry in value.items()
            }
        if isinstance(value, list):
            return [self._without(entry) for entry in value]
        return value

    def text(self, text: str) -> str:
        """Return a message without secrets and without text that looks like one."""
        self._look()
        return scrub(redact_secrets(text, self._all))

    def plain(self, value: T) -> T:
        """Return a document without secrets, and without passwords in URLs and headers. Names of files are kept."""
        return cast("T", self._plain_value(value))

    def _plain_value(self, value: object) -> object:
        self._look()
        if isinstance(value, str):
            return hidden_forms(redact_secrets(value, self._all), MARK, HIDDEN)
        if isinstance(value, Mapping):
            return {
                self._plain_name(name): self._plain_value(entry)
                for name, entry in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self._plain_value(entry) for entry in value]
        return value

    def _plain_name(self, name: object) -> object:
        if isinstance(name, str):
            return hidden_forms(redact_secrets(name, _odd(self._all)), MARK, HIDDEN)
        return name

    def hide(self, error: Exception) -> None:
        """Remove secrets from an error's message. Remove the cause of the error as well if it contains a secret."""
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
                error.__cause__ = None
                error.__suppress_context__ = True
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
    """Return the shortest texts to search for. A text that contains another one is left
    out, because a search for the shorter text finds both.
    """
    shortest: list[bytes] = []
    for form in sorted(set(forms), key=len):
        if not any(shorter in form for shorter in shortest):
            shortest.append(form)
    return shortest


def _is_searched(
    secret: str,
    is_sure: bool,
) -> bool:
    """Return True if prompts and answers must be searched for this secret.

    An ordinary word from a header is not searched for, because they probably contain it
    by chance.
    """
    return len(secret) >= SHORTEST and (
        is_sure or not (secret.isalpha() and secret.islower())
    )


def _odd(secrets: frozenset[str]) -> frozenset[str]:
    """Return the secrets that are not ordinary words."""
    return frozenset(secret for secret in secrets if not _WORD.fullmatch(secret))

"""Secrets: kept out of everything a run writes, by value.

A secret is the value of an environment variable, or of a model's option, whose name says so. It is searched for in each
line just before it is written; without secrets that costs nothing. Passwords in URLs and bearer tokens are known by
their form: they are taken out of error messages and manifests, but not out of prompts and answers, which are data.
"""

import json
import os
import re
from collections.abc import Mapping
from typing import Any

SHORTEST = 8
"""Shorter values are words of everyday text."""
REDACTED = "[redacted]"
_ENVIRONMENT_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
# Options are named more freely than variables: `tokenizer`, `max_tokens` and `pad_token` hold no secret.
_OPTION_NAME = re.compile(
    r"(?:.*(?:api|access|secret|private|auth)[_-]?)?key|(?:.*(?:auth|access|api|hf|bearer|refresh)[_-]?)?token"
    r"|.*secret.*|.*password.*",
    re.IGNORECASE,
)
_USER_IN_URL = re.compile(r"(?<=://)[^/\s@\"']*:[^/\s@\"']*(?=@)")
_BEARER = re.compile(r"(?<=Bearer )[^\s\"',;]{8,}")


class Redactor:
    """Takes known secrets out of what is about to be written."""

    def __init__(self, secrets: frozenset[str] = frozenset()) -> None:
        # The longest first: one secret may begin with another.
        self._texts = sorted(secrets, key=lambda secret: (-len(secret), secret))
        self._bytes = list(dict.fromkeys(form for secret in self._texts for form in _json_forms(secret)))

    @classmethod
    def of(cls, *settings: Mapping[str, Any], environment: Mapping[str, str] | None = None) -> "Redactor":
        """For the secrets of this process's environment and of the given model options."""
        variables = os.environ if environment is None else environment
        found = {
            value
            for name, value in variables.items()
            if _ENVIRONMENT_NAME.search(name) and len(value) >= SHORTEST and not os.path.exists(value)
        }
        for options in settings:
            found |= _secret_options(options)
        return cls(frozenset(found))

    def line(self, body: bytes) -> bytes:
        """A line of JSON without the secrets; one search for each, no copy where there is none."""
        for secret in self._bytes:
            if secret in body:
                body = body.replace(secret, REDACTED.encode())
        return body

    def text(self, text: str) -> str:
        """A message, without the secrets and without what looks like one."""
        for secret in self._texts:
            text = text.replace(secret, REDACTED)
        return scrub(text)

    def plain(self, value: Any) -> Any:
        """A document, without the secrets and without what looks like one."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.plain(name): self.plain(entry) for name, entry in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.plain(entry) for entry in value]
        return value


def scrub(text: str) -> str:
    """A message without passwords in URLs and without bearer tokens."""
    if "@" in text and "://" in text:
        text = _USER_IN_URL.sub(REDACTED, text)
    return _BEARER.sub(REDACTED, text) if "Bearer " in text else text


def _secret_options(options: Mapping[str, Any]) -> set[str]:
    found: set[str] = set()
    for name, value in options.items():
        if isinstance(value, Mapping):
            found |= _secret_options(value)
        elif isinstance(value, str) and len(value) >= SHORTEST and _OPTION_NAME.fullmatch(str(name)):
            found.add(value)
    return found


def _json_forms(secret: str) -> list[bytes]:
    """A secret as it stands in JSON, whichever encoder wrote it."""
    return [
        json.dumps(secret, ensure_ascii=is_ascii)[1:-1].encode("utf-8", "surrogatepass") for is_ascii in (False, True)
    ]

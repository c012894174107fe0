"""Keys in TELEVAL's YAML files: read from the environment if the file refers to it, and redacted otherwise."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...core import UsageError
from ...core.secrets import (
    MARK,
    REFERENCE,
    fill_references,
    redact_options,
    redact_secrets,
    remember,
    secrets_of,
    variable,
)

_KEY_NAME = re.compile(r"(?:^|_)keys?\d*$", re.IGNORECASE)
"""Pattern for names of arguments whose values are keys, such as `api_keys`.

Names of variables are replaced only in these arguments.
"""
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
PLACEHOLDERS = frozenset({"", "xxx", "***", "your_key", "none", "empty", MARK})
"""Common placeholders for a missing key."""


def expand(value: object) -> Any:
    """Replace `${env:NAME}` in a value of a YAML file by the environment variable. Raise if it is not set.

    In arguments for keys, a variable's plain name also works: `key: JUDGE_API_KEY`.
    """
    named = _with_references(value)
    for name in REFERENCE.findall(repr(named)):
        if variable(name) is None:
            raise UsageError(
                f"the environment variable {name} is not set", fix=f"export {name}=…"
            )
    return fill_references(named, "an entry")


def known_secrets(args: object) -> tuple[str, ...]:
    """Return all keys of an entry, including those in the environment. Variables that are not set are skipped."""
    secrets = secrets_of(_with_references(args))
    keys = tuple(key for key in secrets if key.lower() not in PLACEHOLDERS)
    remember(keys)
    return keys


def holds_key(args: object) -> bool:
    """Return True if an entry contains a key, rather than the name of a variable."""
    texts = list(_texts_of(args))
    return any(key in text for key in known_secrets(args) for text in texts)


def _texts_of(value: object) -> Iterator[str]:
    """Yield the names and values in an entry as texts."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name)
            yield from _texts_of(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _texts_of(inner)
    else:
        yield str(value)


def hidden(args: object) -> Any:
    """Return an entry's arguments as a run records them: keys are redacted, and `${env:NAME}` is unchanged."""
    return redact_options(_with_references(args))


def _with_references(
    value: object,
    *,
    is_key: bool = False,
) -> Any:
    """Replace the plain name of an environment variable with `${env:NAME}`, only in arguments that hold keys."""
    if isinstance(value, Mapping):
        return {
            name: _with_references(
                inner, is_key=is_key or _KEY_NAME.search(str(name)) is not None
            )
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [_with_references(inner, is_key=is_key) for inner in value]
    is_name = is_key and isinstance(value, str) and _VARIABLE.fullmatch(value)
    if not is_name or str(value).lower() in PLACEHOLDERS:
        return value
    return f"${{env:{value}}}"


def without_secrets(
    value: object,
    secrets: tuple[str, ...],
) -> Any:
    """Redact keys in a text, or in all texts of a value."""
    if not secrets:
        return value
    if isinstance(value, str):
        return redact_secrets(value, secrets)
    if isinstance(value, Mapping):
        return {name: without_secrets(value[name], secrets) for name in value}
    if isinstance(value, (list, tuple)):
        kind = type(value)
        return kind(without_secrets(inner, secrets) for inner in value)
    return value

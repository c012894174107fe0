"""Keys in guest YAML: taken from the environment where the file says so, and never shown where it holds them itself."""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...core import UsageError

_ENVIRONMENT = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
_SECRET_NAME = re.compile(r"(?:^|_)(?:api_?keys?|keys?|tokens?|secrets?|passwords?)\d*$", re.IGNORECASE)
_PLACEHOLDERS = frozenset({"", "xxx", "your_key", "none", "empty"})
HIDDEN = "***"


def expand(value: Any) -> Any:
    """A value of a YAML file with `${env:NAME}` replaced; an unset variable is an error that names it."""
    if isinstance(value, str):
        return _ENVIRONMENT.sub(_read, value)
    if isinstance(value, Mapping):
        return {name: expand(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [expand(inner) for inner in value]
    return value


def _read(found: re.Match[str]) -> str:
    name = found[1]
    if name not in os.environ:
        raise UsageError(f"the environment variable {name} is not set", fix=f"export {name}=…")
    return os.environ[name]


def hidden(value: Any, *, is_secret: bool = False) -> Any:
    """The value as it may be recorded: what stands under a secret's name is starred out, `${env:NAME}` stays."""
    if isinstance(value, Mapping):
        return {str(name): hidden(inner, is_secret=is_secret or is_secret_name(name)) for name, inner in value.items()}
    if isinstance(value, list):
        return [hidden(inner, is_secret=is_secret) for inner in value]
    if is_secret and isinstance(value, str) and not _ENVIRONMENT.fullmatch(value):
        return HIDDEN
    return value


def is_secret_name(name: Any) -> bool:
    """Whether an argument's name says that it holds a key: `key`, `api_key`, `api_keys`, `token`."""
    return _SECRET_NAME.search(str(name)) is not None


def secrets_in(value: Any, *, is_secret: bool = False) -> Iterator[str]:
    """The keys written out in a value, placeholders aside."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from secrets_in(inner, is_secret=is_secret or is_secret_name(name))
    elif isinstance(value, list):
        for inner in value:
            yield from secrets_in(inner, is_secret=is_secret)
    elif is_secret and isinstance(value, str) and _is_written_out(value):
        yield value


def _is_written_out(value: str) -> bool:
    return value.lower() not in _PLACEHOLDERS and not _ENVIRONMENT.fullmatch(value)


def without_secrets(text: str, secrets: tuple[str, ...]) -> str:
    """A text in which no key stands."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text

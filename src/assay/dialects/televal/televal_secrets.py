"""Keys in TELEVAL's YAML files: read from the environment if the file says so, and redacted if it contains them."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...core import UsageError
from ...core.secrets import MARK, REFERENCE, cleared, remember, variable

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:api_?keys?|keys?|tokens?|secrets?|passwords?)\d*$", re.IGNORECASE
)
_KEY_NAME = re.compile(r"(?:^|_)keys?\d*$", re.IGNORECASE)
"""Arguments that contain nothing but a key. `stop_tokens: [END_OF_TEXT]` does not name a variable."""
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
PLACEHOLDERS = frozenset({"", "xxx", "***", "your_key", "none", "empty", MARK})
"""Common placeholders for a missing key."""


def expand(value: object, *, is_key: bool = False) -> Any:
    """Replace `${env:NAME}` in a value of a YAML file; raise an error that names the variable if it is not set.

    If a key is expected, the plain name of a variable works too: `key: JUDGE_API_KEY`.
    """
    if isinstance(value, str):
        return (
            _read(value)
            if is_key and is_variable(value)
            else REFERENCE.sub(lambda m: _read(m[1]), value)
        )
    if isinstance(value, Mapping):
        return {
            name: expand(
                inner, is_key=is_key or _KEY_NAME.search(str(name)) is not None
            )
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [expand(inner, is_key=is_key) for inner in value]
    return value


def is_variable(value: str) -> bool:
    """Return True if a text has the form of a variable name and is not a placeholder."""
    return _VARIABLE.fullmatch(value) is not None and value.lower() not in PLACEHOLDERS


def known_secrets(args: object) -> tuple[str, ...]:
    """Return all keys of an entry, including those in the environment. Variables that are not set are skipped."""
    try:
        secrets = tuple(secrets_in(expand(args), is_expanded=True))
    except UsageError:
        secrets = tuple(secrets_in(args))
    remember(secrets)
    return secrets


def _read(name: str) -> str:
    value = variable(name)
    if value is None:
        raise UsageError(
            f"the environment variable {name} is not set", fix=f"export {name}=…"
        )
    return value


def hidden(value: object, *, is_secret: bool = False) -> Any:
    """Return a value for records: values under secret names are redacted, `${env:NAME}` is kept."""
    if isinstance(value, Mapping):
        return {
            str(name): hidden(inner, is_secret=is_secret or is_secret_name(name))
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [hidden(inner, is_secret=is_secret) for inner in value]
    if (
        is_secret
        and isinstance(value, str)
        and not REFERENCE.fullmatch(value)
        and not is_variable(value)
    ):
        return MARK
    return value


def is_secret_name(name: object) -> bool:
    """Return True if an argument's name suggests a key: `key`, `api_key`, `api_keys`, `token`."""
    return _SECRET_NAME.search(str(name)) is not None


def secrets_in(
    value: object,
    *,
    is_secret: bool = False,
    is_expanded: bool = False,
) -> Iterator[str]:
    """Yield the keys in a value, except placeholders; with `is_expanded`, also those of the environment."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            is_inside = is_secret or is_secret_name(name)
            yield from secrets_in(inner, is_secret=is_inside, is_expanded=is_expanded)
    elif isinstance(value, list):
        for inner in value:
            yield from secrets_in(inner, is_secret=is_secret, is_expanded=is_expanded)
    elif is_secret and isinstance(value, str) and _is_key(value, is_expanded):
        yield value


def _is_key(value: str, is_expanded: bool) -> bool:
    """Return True if a text is a key itself, not a placeholder or the name of a variable."""
    is_reference = REFERENCE.fullmatch(value) is not None or is_variable(value)
    return value.lower() not in PLACEHOLDERS and (is_expanded or not is_reference)


def without_secrets(value: object, secrets: tuple[str, ...]) -> Any:
    """Remove keys from a text, or from all texts in a value."""
    if not secrets:
        return value
    if isinstance(value, str):
        return cleared(value, secrets)
    if isinstance(value, Mapping):
        members = {}
        for name, inner in value.items():
            members[name] = without_secrets(inner, secrets)
        return members
    if isinstance(value, (list, tuple)):
        kind = type(value)
        return kind(without_secrets(inner, secrets) for inner in value)
    return value

"""Keys in guest YAML: taken from the environment where the file says so, and never shown where it holds them itself."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...core import UsageError
from ...core.secrets import MARK, REFERENCE, cleared, remember, variable

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:api_?keys?|keys?|tokens?|secrets?|passwords?)\d*$", re.IGNORECASE
)
_KEY_NAME = re.compile(r"(?:^|_)keys?\d*$", re.IGNORECASE)
"""Arguments that hold nothing but a key: `stop_tokens: [END_OF_TEXT]` names no variable."""
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
PLACEHOLDERS = frozenset({"", "xxx", "***", "your_key", "none", "empty", MARK})
"""What people write where a key belongs that they do not give."""


def expand(value: Any, *, is_key: bool = False) -> Any:
    """A value of a YAML file with `${env:NAME}` replaced; an unset variable is an error that names it.

    Where a key is expected, the name of a variable alone will do: `key: JUDGE_API_KEY`.
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
    """Whether a text is written as the name of an environment variable, and is no placeholder."""
    return _VARIABLE.fullmatch(value) is not None and value.lower() not in PLACEHOLDERS


def known_secrets(args: Any) -> tuple[str, ...]:
    """All keys of an entry, those of the environment too; one whose variable is not set is not known."""
    try:
        found = tuple(secrets_in(expand(args), is_expanded=True))
    except UsageError:
        found = tuple(secrets_in(args))
    remember(found)
    return found


def _read(name: str) -> str:
    value = variable(name)
    if value is None:
        raise UsageError(
            f"the environment variable {name} is not set", fix=f"export {name}=…"
        )
    return value


def hidden(value: Any, *, is_secret: bool = False) -> Any:
    """The value as it may be recorded: what stands under a secret's name is hidden, `${env:NAME}` stays."""
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


def is_secret_name(name: Any) -> bool:
    """Whether an argument's name says that it holds a key: `key`, `api_key`, `api_keys`, `token`."""
    return _SECRET_NAME.search(str(name)) is not None


def secrets_in(
    value: Any, *, is_secret: bool = False, is_expanded: bool = False
) -> Iterator[str]:
    """The keys written out in a value, placeholders aside; of an expanded one, those of the environment too."""
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
    """Whether a text is a key itself, not a placeholder for one or the name of the variable that holds it."""
    stands_for_one = REFERENCE.fullmatch(value) is not None or is_variable(value)
    return value.lower() not in PLACEHOLDERS and (is_expanded or not stands_for_one)


def without_secrets(value: Any, secrets: tuple[str, ...]) -> Any:
    """A text in which no key stands; of anything else, the texts in it."""
    if not secrets:
        return value
    if isinstance(value, Mapping):
        return {name: without_secrets(inner, secrets) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(without_secrets(inner, secrets) for inner in value)
    return cleared(value, secrets) if isinstance(value, str) else value

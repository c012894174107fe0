"""Tracebacks without secrets: both the exception's text and the lines of code may contain a key."""

import traceback
from collections.abc import Sequence
from types import TracebackType

from ..core.secrets import learn, without
from .arguments import typed_options


def without_secrets(text: str, arguments: Sequence[str]) -> str:
    """Return a text without the keys of the environment and of the command."""
    learn(*typed_options(arguments))
    return without(text)


def shown_traceback(
    error: BaseException,
    arguments: Sequence[str],
    trace: TracebackType | None = None,
) -> str:
    """Return Python's traceback of an error, without secrets.

    It starts at `trace` if that is given. Everything that is or looks like a key is removed.
    """
    lines = traceback.format_exception(type(error), error, trace or error.__traceback__)
    return without_secrets("".join(lines), arguments)

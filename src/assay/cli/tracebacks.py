"""Tracebacks without secrets: what an exception says, and the lines of code it came through, may show a key."""

import traceback
from collections.abc import Sequence
from types import TracebackType

from ..core.secrets import learn, without
from .arguments import typed_options


def without_secrets(text: str, arguments: Sequence[str]) -> str:
    """A text without the keys of the environment and of the command: it may show what its author was given."""
    learn(*typed_options(arguments))
    return without(text)


def shown_traceback(
    error: BaseException, arguments: Sequence[str], trace: TracebackType | None = None
) -> str:
    """What Python would print of an error, from `trace` on if given, without what is or looks like a key."""
    lines = traceback.format_exception(type(error), error, trace or error.__traceback__)
    return without_secrets("".join(lines), arguments)

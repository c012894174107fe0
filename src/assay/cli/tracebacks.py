"""Tracebacks without secrets: what an exception says, and the lines of code it came through, may show a key."""

import re
import traceback
from collections.abc import Sequence
from types import TracebackType

from ..core.secrets import without_keys
from ..store.secrets import Redactor
from .arguments import typed_options

_PLACE = re.compile(r'\s*(?:[|+]\s*)*File "')
"""A line that says where: a folder may be called like a key."""


def without_secrets(text: str, given: Sequence[str]) -> str:
    """A text without the keys of the environment and of the command: it may show what its author was given."""
    return Redactor.of(*typed_options(given)).text(text)


def shown_traceback(error: BaseException, given: Sequence[str], trace: TracebackType | None = None) -> str:
    """What Python would print of an error, from `trace` on if given, without what is or looks like a key."""
    written = traceback.format_exception(type(error), error, trace or error.__traceback__)
    lines = without_secrets("".join(written), given).splitlines(keepends=True)
    return "".join(line if _PLACE.match(line) else without_keys(line) for line in lines)

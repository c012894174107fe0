"""Reading a pipeline's weights: without a word on the terminal, and not without a tensor.

The libraries fill what a checkpoint lacks with random numbers, or with nothing, and say so in their logs alone.
"""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .weights import check_complete

LIBRARIES = ("diffusers", "transformers")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_LISTED = re.compile(r"newly initialized: \[([^\]]*)\]")
_TABLED = re.compile(r"^(\S+) *\|[^|\n]*MISSING", re.MULTILINE)


class _Kept(logging.Handler):
    """Keeps what is logged instead of showing it."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(_COLOURS.sub("", record.getMessage()))


def load_whole(kind: Any, source: str, options: dict[str, Any], where: str) -> Any:
    """A pipeline of a class with all its weights; a `ModelError` that names the first that are missing."""
    with quietly() as messages:
        pipe = kind.from_pretrained(source, **options)
    check_complete({*_reported(messages), *_empty(pipe)}, where)
    return pipe


@contextmanager
def quietly() -> Iterator[list[str]]:
    """Keeps what both libraries log, and their bars, from the terminal; gives what they would have said."""
    from diffusers.utils import logging as diffusers
    from transformers.utils import logging as transformers

    handler = _Kept()
    loggers = [logging.getLogger(name) for name in LIBRARIES]
    before = [(logger.handlers, logger.propagate, logger.level) for logger in loggers]
    bars = [
        library
        for library in (diffusers, transformers)
        if library.is_progress_bar_enabled()
    ]
    for logger in loggers:
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.WARNING)
    for library in bars:
        library.disable_progress_bar()
    try:
        yield handler.said
    finally:
        for logger, (handlers, propagate, level) in zip(loggers, before, strict=True):
            logger.handlers, logger.propagate = handlers, propagate
            logger.setLevel(level)
        for library in bars:
            library.enable_progress_bar()


def _reported(messages: list[str]) -> Iterator[str]:
    for text in messages:
        for found in _LISTED.finditer(text):
            yield from (
                name.strip(" '\"") for name in found[1].split(",") if name.strip()
            )
        if "LOAD REPORT" in text:
            yield from _TABLED.findall(text)


def _empty(pipe: Any) -> Iterator[str]:
    """Tensors that have a place and no numbers."""
    for part in pipe.components.values():
        if hasattr(part, "named_parameters"):
            yield from (
                name for name, tensor in part.named_parameters() if tensor.is_meta
            )

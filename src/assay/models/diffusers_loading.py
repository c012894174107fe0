"""Load the weights of a pipeline without printing to the terminal, and refuse a checkpoint with missing tensors.

The libraries fill missing tensors with random numbers or leave them empty, and mention this only in their logs.
"""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .weights import check_complete

if TYPE_CHECKING:
    from diffusers import DiffusionPipeline


LIBRARIES = ("diffusers", "transformers")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_LISTED = re.compile(r"newly initialized: \[([^\]]*)\]")
_TABLED = re.compile(r"^(\S+) *\|[^|\n]*MISSING", re.MULTILINE)


class _Kept(logging.Handler):
    """Collects log messages instead of showing them."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(_COLOURS.sub("", record.getMessage()))


def load_complete(
    kind: "type[DiffusionPipeline]", source: str, options: dict[str, Any], where: str
) -> "DiffusionPipeline":
    """Load a pipeline with all its weights; raise a `ModelError` that names the first missing tensors."""
    with quietly() as messages:
        pipe = kind.from_pretrained(source, **options)
    check_complete({*_reported(messages), *_empty(pipe)}, where)
    return pipe


@contextmanager
def quietly() -> Iterator[list[str]]:
    """Keep the logs and progress bars of both libraries off the terminal, and yield the list of their messages."""
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
        for match in _LISTED.finditer(text):
            for name in match[1].split(","):
                if name.strip():
                    yield name.strip(" '\"")
        if "LOAD REPORT" in text:
            yield from _TABLED.findall(text)


def _empty(pipe: "DiffusionPipeline") -> Iterator[str]:
    """Yield the names of tensors that have no data."""
    for part in pipe.components.values():
        if hasattr(part, "named_parameters"):
            yield from (
                name for name, tensor in part.named_parameters() if tensor.is_meta
            )

"""Loggers for users' files, and the functions with which VLMEvalKit's scripts get and set up loggers."""

import logging
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ...shapes import Record

if TYPE_CHECKING:
    from ...guest import Guest

__all__ = [
    "ROOT_LOGGER_NAME",
    "get_logger",
    "logger_initialized",
    "setup_logger",
]

ROOT_LOGGER_NAME = "vlmeval"
_FORMAT = logging.Formatter(
    "[%(asctime)s] %(levelname)s - %(name)s: %(message)s", "%Y-%m-%d %H:%M:%S"
)
GUEST_MODULE = "assay_guest_"
"""Prefix of the names under which user files are imported. Log lines omit it."""
logger_initialized: dict[str, bool] = {}
"""Names of loggers for which a handler was set up."""


class StderrHandler(logging.StreamHandler[TextIO]):
    """A handler that writes to the current standard error, until a script sets up a console handler."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)
        self.setFormatter(_FORMAT)

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        """The current standard error."""
        return sys.stderr


def get_logger(
    name: str | None = None,
    log_file: str | None = None,
    log_level: int = logging.INFO,
    file_mode: str = "w",
    root: str = "vlmeval",
) -> logging.Logger:
    """Return the logger `name`, below the toolkit's own logger. With `log_file`, it also writes to that file.

    It writes to standard error until a script calls `setup_logger`.
    """
    if name is not None and name.startswith(GUEST_MODULE):
        name = name.partition(f".{root}.")[2] or name
    if not name:
        full = root
    else:
        full = name if name.startswith(root) else f"{root}.{name}"
    base = logging.getLogger(root)
    if not base.handlers:
        base.addHandler(StderrHandler())
        base.setLevel(logging.INFO)
        base.propagate = False
    logger = logging.getLogger(full)
    if log_file is not None and not any(
        getattr(h, "baseFilename", None) == log_file for h in logger.handlers
    ):
        logger.addHandler(logging.FileHandler(log_file, file_mode))
        logger.setLevel(log_level)
        logger_initialized[full] = True
    return logger


def setup_logger(
    log_file: str | None = None,
    log_level: str = "INFO",
    console: bool = True,
    reset: bool = False,
) -> logging.Logger:
    """Return the toolkit's own logger, after adding a console handler and a file handler as requested.

    A logger that has handlers is returned unchanged, unless `reset` is True.
    """
    logger = logging.getLogger("vlmeval")
    is_default = all(isinstance(h, StderrHandler) for h in logger.handlers)
    if not is_default and not reset:
        return logger
    logger.handlers.clear()
    handlers: list[logging.Handler] = []
    if console:
        handlers.append(logging.StreamHandler(sys.stdout))
    if log_file is not None:
        Path(log_file).parent.mkdir(parents=True, exist_ok=True)
        handlers.append(logging.FileHandler(log_file, encoding="utf-8"))
    for handler in handlers:
        handler.setFormatter(_FORMAT)
        handler.setLevel(log_level.upper())
        logger.addHandler(handler)
    logger.setLevel(log_level.upper())
    logger.propagate = False
    return logger


def names_for(guest: "Guest") -> Record:
    """Return the `get_logger` that user files import. Its loggers are children of the toolkit's logger."""
    kits = guest.dialect.split("+")
    if ROOT_LOGGER_NAME in kits:
        root = ROOT_LOGGER_NAME
    else:
        root = kits[0]
    return {"get_logger": partial(get_logger, root=root)}

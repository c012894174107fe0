"""Loggers by name, and the two calls by which upstream's scripts set them up."""

import logging
import sys
from pathlib import Path

_FORMAT = logging.Formatter(
    "[%(asctime)s] %(levelname)s - %(name)s: %(message)s", "%Y-%m-%d %H:%M:%S"
)
logger_initialized: dict[str, bool] = {}
"""Names that have a handler of their own."""


def get_logger(
    name: str | None = None,
    log_file: str | None = None,
    log_level: int = logging.INFO,
    file_mode: str = "w",
    root: str = "vlmeval",
) -> logging.Logger:
    """A logger of that name below the kit's; with `log_file` it also writes there."""
    full = root if not name else name if name.startswith(root) else f"{root}.{name}"
    logger = logging.getLogger(full)
    if not logging.getLogger(root).handlers and not logger.handlers:
        logger.addHandler(logging.NullHandler())
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
    """The kit's own logger, with a console and a file as asked; one that is set up already stays."""
    logger = logging.getLogger("vlmeval")
    if logger.handlers and not reset:
        return logger
    logger.handlers.clear()
    handlers: list[logging.Handler] = (
        [logging.StreamHandler(sys.stdout)] if console else []
    )
    if log_file is not None:
        handlers.append(_file_handler(log_file))
    return _with(logger, handlers, log_level.upper())


def setup_subprocess_logger(log_file: str) -> logging.Logger:
    """The kit's own logger in a child process: everything into one file."""
    logger = logging.getLogger("vlmeval")
    logger.handlers.clear()
    return _with(logger, [_file_handler(log_file)], "DEBUG")


def _file_handler(log_file: str) -> logging.Handler:
    Path(log_file).parent.mkdir(parents=True, exist_ok=True)
    return logging.FileHandler(log_file, encoding="utf-8")


def _with(
    logger: logging.Logger, handlers: list[logging.Handler], level: str
) -> logging.Logger:
    for handler in handlers:
        handler.setFormatter(_FORMAT)
        handler.setLevel(level)
        logger.addHandler(handler)
    logger.setLevel(level)
    logger.propagate = False
    return logger

"""`vlmeval.smp.log`: a logger by name."""

import logging

__all__ = ["get_logger"]


def get_logger(
    name: str, log_file: str | None = None, log_level: int = logging.INFO, file_mode: str = "w"
) -> logging.Logger:
    """A logger of that name; with `log_file` it also writes there."""
    logger = logging.getLogger(name)
    logger.setLevel(log_level)
    if log_file is not None and not any(getattr(h, "baseFilename", None) == log_file for h in logger.handlers):
        logger.addHandler(logging.FileHandler(log_file, file_mode))
    return logger

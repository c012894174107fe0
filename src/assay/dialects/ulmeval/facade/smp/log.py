"""`ulmeval.smp.log`: loggers below the one called `ulmeval`."""

import logging

from ....kits.smp import log
from ....kits.smp.log import logger_initialized

__all__ = ["get_logger", "logger_initialized"]


def get_logger(
    name: str, log_file: str | None = None, log_level: int = logging.INFO, file_mode: str = "w"
) -> logging.Logger:
    """A logger of that name below the kit's; with `log_file` it also writes there."""
    return log.get_logger(name, log_file, log_level, file_mode, root="ulmeval")

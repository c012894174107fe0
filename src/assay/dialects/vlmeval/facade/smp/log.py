"""`vlmeval.smp.log`: loggers below the one called `vlmeval`."""

from ....kits.smp.log import (
    get_logger,
    logger_initialized,
    setup_logger,
    setup_subprocess_logger,
)

__all__ = [
    "ROOT_LOGGER_NAME",
    "get_logger",
    "logger_initialized",
    "setup_logger",
    "setup_subprocess_logger",
]

ROOT_LOGGER_NAME = "vlmeval"

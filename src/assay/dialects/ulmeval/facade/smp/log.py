"""`ulmeval.smp.log`: loggers below the one called `ulmeval`."""

from functools import partial

from ....kits.smp import log
from ....kits.smp.log import logger_initialized

__all__ = ["get_logger", "logger_initialized"]

get_logger = partial(log.get_logger, root="ulmeval")

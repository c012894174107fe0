"""`vlmeval.smp`: the helpers user files take with a star, and the libraries that come along with them."""

from typing import Any

from ....kits.smp import libraries
from . import documented, file, log, misc, status_report, vlm
from .documented import *  # noqa: F403
from .file import *  # noqa: F403
from .log import *  # noqa: F403
from .misc import *  # noqa: F403
from .status_report import *  # noqa: F403
from .vlm import *  # noqa: F403

logger = log.get_logger()


def __getattr__(name: str) -> Any:
    """Libraries that `from vlmeval.smp import *` brings along, loaded when they are asked for."""
    return libraries.library(name, "vlmeval.smp")


__all__ = [
    "logger",
    *libraries.offered(documented, file, log, misc, status_report, vlm),
]

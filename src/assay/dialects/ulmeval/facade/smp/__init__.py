"""`ulmeval.smp`: the helpers, and the libraries that `from ulmeval.smp import *` has always brought along."""

from typing import Any

from ....kits.smp import libraries
from . import file, log, misc, ulm
from .file import *  # noqa: F403
from .log import *  # noqa: F403
from .misc import *  # noqa: F403
from .ulm import *  # noqa: F403


def __getattr__(name: str) -> Any:
    return libraries.library(name, "ulmeval.smp")


__all__ = libraries.offered(file, log, misc, ulm)

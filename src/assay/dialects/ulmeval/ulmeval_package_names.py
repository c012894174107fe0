"""The module that replaces `ulmeval`. It provides the public names of all its submodules on demand."""

from ..kits.toolkit import names_of_parts
from .claims import NAMES

__version__ = "0.2rc1"
__getattr__ = names_of_parts(
    "ulmeval", NAMES, "smp", "dataset", "utils", "ulm", "api", "config"
)

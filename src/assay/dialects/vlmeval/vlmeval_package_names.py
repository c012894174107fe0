"""The module that replaces `vlmeval`. It provides the public names of all its submodules on demand."""

from ..kits.toolkit import names_of_parts
from .claims import NAMES

__getattr__ = names_of_parts(
    "vlmeval", NAMES, "smp", "utils", "dataset", "vlm", "api", "config"
)

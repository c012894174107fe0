"""The package `ulmeval` itself: public names of any of its parts, looked up on demand."""

import importlib
from typing import Any

from .claims import NAMES

__version__ = "0.2rc1"

_PARTS = ("smp", "dataset", "utils", "ulm", "api", "config")


def __getattr__(name: str) -> Any:
    """Return a name of one of the parts."""
    if name.startswith("__"):
        raise AttributeError(name)
    for part in _PARTS:
        module_name, _, names = NAMES[f"ulmeval.{part}"].partition(":")
        module = importlib.import_module(module_name)
        if name in names.split() or (not names and hasattr(module, name)):
            return getattr(module, name)
    raise AttributeError(f"the ulmeval dialect has no {name!r} in 'ulmeval'")

"""`ulmeval` as its users' files know it: the names of all its parts, found when they are asked for."""

import importlib
from typing import Any

__version__ = "0.2rc1"

_PARTS = ("smp", "dataset", "utils", "ulm", "api", "config")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _PARTS:
        return importlib.import_module(f".{name}", __name__)
    for part in _PARTS:
        module = importlib.import_module(f".{part}", __name__)
        if hasattr(module, name):
            return getattr(module, name)
    raise AttributeError(f"the ulmeval dialect has no {name!r} in 'ulmeval'")

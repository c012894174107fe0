"""The package `vlmeval` itself: public names of any of its parts, looked up on demand."""

import importlib
from typing import Any

from .claims import NAMES

_PARTS = ("smp", "utils", "dataset", "vlm", "api", "config")


def __getattr__(name: str) -> Any:
    """Return a public name of one of the parts."""
    if not name.startswith("__"):
        for part in _PARTS:
            module_name, _, names = NAMES[f"vlmeval.{part}"].partition(":")
            module = importlib.import_module(module_name)
            if name in (names.split() or module.__all__):
                return getattr(module, name)
    raise AttributeError(f"the vlmeval dialect has no {name!r} in 'vlmeval'")

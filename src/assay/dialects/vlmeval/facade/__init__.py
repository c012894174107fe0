"""`vlmeval` as user files see it: the names of VLMEvalKit, early and newer, over assay."""

import importlib
from typing import Any

_HOMES = ("smp", "utils", "dataset", "vlm", "api", "config")


def __getattr__(name: str) -> Any:
    """The package itself offers what its parts offer."""
    if not name.startswith("__"):
        for home in _HOMES:
            module = importlib.import_module(f".{home}", __name__)
            if name in getattr(module, "__all__", ()):
                return getattr(module, name)
    raise AttributeError(f"the vlmeval dialect has no {name!r} in 'vlmeval'")

"""The public names of a toolkit's package, which are those of its parts."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def names_of_parts(
    package: str, names: Mapping[str, str], *parts: str
) -> Callable[[str], Any]:
    """Return a module's `__getattr__` that looks a name up in the first part that offers it."""

    def find(name: str) -> Any:
        for part in parts if not name.startswith("__") else ():
            module_name, _, offered = names[f"{package}.{part}"].partition(":")
            module = importlib.import_module(module_name)
            if name in (offered.split() or module.__all__):
                return getattr(module, name)
        raise AttributeError(f"the {package} dialect has no {name!r} in {package!r}")

    return find

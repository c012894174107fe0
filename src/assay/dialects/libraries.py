"""Libraries that a dialect's files find with some names of ours in them, and nobody else does.

A dialect's `claims.LIBRARIES` says which module gives them: `datasets.load_dataset` runs loading scripts, for one.
"""

import importlib
import importlib.util
from collections.abc import Mapping
from types import ModuleType

from .overlay import with_names


class Libraries:
    """The libraries of one guest, each made when it is first imported."""

    def __init__(self, dialect: str) -> None:
        self._sources: dict[str, str] = {}
        for part in dialect.split("+"):
            claims = f"{__package__}.{part}.claims"
            if (
                part.isidentifier()
                and importlib.util.find_spec(f"{__package__}.{part}") is not None
            ):
                declared: Mapping[str, str] = getattr(
                    importlib.import_module(claims), "LIBRARIES", {}
                )
                self._sources.update(declared)
        self._made: dict[str, ModuleType] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._sources

    def of(self, name: str) -> ModuleType:
        """A library with our names in it; raises as an import does where it is not installed."""
        if name not in self._made:
            real = importlib.import_module(name)
            self._made[name] = with_names(
                real, importlib.import_module(self._sources[name]).NAMES
            )
        return self._made[name]

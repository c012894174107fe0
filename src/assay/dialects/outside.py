"""Modules outside a toolkit's folder, on `PYTHONPATH` or installed, that import the toolkit's names.

They are loaded like the toolkit's own files. They are recognised by their source on
their first import, or when the normal import fails on a toolkit's name.
"""

import re
import sys
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from ..code import neighbours
from .placing import Mount


class Outside:
    """The packages and modules outside a toolkit's folder that import the toolkit's names."""

    def __init__(self, tops: set[str]) -> None:
        self._mounts: dict[str, Mount] = {}
        self._tops = tops
        self._mention: re.Pattern[str] | None = None
        if tops:
            escaped = sorted(re.escape(name) for name in tops)
            names = "|".join(escaped)
            statement = rf"^[ \t]*(?:from|import)[ \t]+(?:{names})\b"
            self._mention = re.compile(statement, re.MULTILINE)

    def is_guest(self, name: str) -> bool:
        """Return True if the source of a module imports the toolkit's names.

        Return False for modules that are already imported and for Python's standard
        library.
        """
        top = name.partition(".")[0]
        if top in self._mounts:
            return True
        if (
            self._mention is None
            or top in sys.modules
            or top in sys.stdlib_module_names
        ):
            return False
        mount = top_mount(top)
        files = [
            file for part in _prefixes(name) if mount and (file := mount.file_of(part))
        ]
        if mount is None or not any(self._mentions(file) for file in files):
            return False
        self._mounts[top] = mount
        return True

    def recorded_after_failure(self, name: str, error: ModuleNotFoundError) -> bool:
        """Return True if the import of the module `name` failed because `name` imports the toolkit.

        The module is also recorded, so that the next import loads it like the toolkit's
        own files.
        """
        missing = (error.name or "").partition(".")[0]
        top = name.partition(".")[0]
        if missing in self._tops and top not in self._mounts:
            mount = top_mount(top)
        else:
            mount = None
        if mount is None:
            return False
        self._mounts[top] = mount
        for loaded in [
            module
            for module in sys.modules
            if module == top or module.startswith(f"{top}.")
        ]:
            del sys.modules[loaded]
        return True

    def file_of(self, name: str) -> Path | None:
        """Return the file of a recorded module that imports the toolkit; None for other modules."""
        mount = self._mounts.get(name.partition(".")[0])
        if mount is not None:
            return mount.file_of(name)
        return None

    def _mentions(self, file: Path) -> bool:
        assert self._mention is not None
        return (
            self._mention.search(file.read_text(encoding="utf-8", errors="replace"))
            is not None
        )


def installed_mount(top: str) -> Mount | None:
    """Return the folder of an installed module. None if it is importable only because assay loaded a user's file."""
    spec = _found(top)
    # A folder without `__init__.py` is not an installed package: every folder of the working folder is one.
    if (
        spec is None
        or spec.origin is None
        or spec.name.startswith("assay.")
        or neighbours.is_opened(spec)
    ):
        return None
    return _mount(spec)


def top_mount(top: str) -> Mount | None:
    """Return the folder from which a top-level module written in Python would be imported."""
    spec = _found(top)
    return _mount(spec) if spec is not None else None


def _mount(spec: ModuleSpec) -> Mount | None:
    locations = [Path(location) for location in spec.submodule_search_locations or ()]
    if locations:
        return _Only(spec.name, locations[0].resolve().parent)
    if spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return _Only(spec.name, Path(spec.origin).resolve().parent)


class _Only(Mount):
    """Limits a folder to the one package or module named `package`. Other modules are not imported from it."""

    def place_of(self, name: str) -> Path | None:
        is_meant = name == self.package or name.startswith(f"{self.package}.")
        if is_meant:
            return self.folder.joinpath(*name.split("."))
        return None

    def name_of(self, file: Path) -> str | None:
        name = Mount("", self.folder).name_of(file)
        is_meant = name is not None and (
            name == self.package or name.startswith(f"{self.package}.")
        )
        return name if is_meant else None


@lru_cache(maxsize=1024)
def _search(
    top: str,
    path: tuple[str, ...],
) -> ModuleSpec | None:
    try:
        return PathFinder.find_spec(top, list(path))
    except (ImportError, ValueError):
        return None


def _found(top: str) -> ModuleSpec | None:
    return _search(top, tuple(sys.path))


def _prefixes(name: str) -> list[str]:
    parts = name.split(".")
    prefixes = []
    for size in range(1, len(parts) + 1):
        prefixes.append(".".join(parts[:size]))
    return prefixes

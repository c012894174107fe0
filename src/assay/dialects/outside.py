"""Modules outside a guest's folder, on `PYTHONPATH` or installed, that import the guest's names: they are guests too.

Found by their text when a guest first imports them; or because importing them as Python does failed for want of a
guest's name.
"""

import re
import sys
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from ..code import neighbours
from .placing import Mount


class Outside:
    """The packages and modules outside that were found to be guests of some names."""

    def __init__(self, tops: set[str]) -> None:
        self._mounts: dict[str, Mount] = {}
        self._tops = tops
        words = "|".join(sorted(map(re.escape, tops)))
        self._mention = (
            re.compile(rf"^[ \t]*(?:from|import)[ \t]+(?:{words})\b", re.MULTILINE)
            if tops
            else None
        )

    def is_guest(self, name: str) -> bool:
        """Whether a module is one of them; what is already imported, or is Python's own, is not."""
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

    def took_one_in(self, name: str, error: ModuleNotFoundError) -> bool:
        """Whether an import failed because a module outside asked for a guest's name; it is one of them from now on."""
        missing, top = (error.name or "").partition(".")[0], name.partition(".")[0]
        mount = (
            top_mount(top)
            if missing in self._tops and top not in self._mounts
            else None
        )
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
        """The file of one of their modules."""
        mount = self._mounts.get(name.partition(".")[0])
        return mount.file_of(name) if mount is not None else None

    def _mentions(self, file: Path) -> bool:
        assert self._mention is not None
        return (
            self._mention.search(file.read_text(encoding="utf-8", errors="replace"))
            is not None
        )


def installed_mount(top: str) -> Mount | None:
    """The folder that holds an installed package or module; not what another file of this process made importable."""
    spec = _found(top)
    # A folder without `__init__.py` is no package that anybody installed: every folder of the working folder is one.
    if (
        spec is None
        or spec.origin is None
        or spec.name.startswith("assay.")
        or neighbours.is_opened(spec)
    ):
        return None
    return _mount(spec)


def top_mount(top: str) -> Mount | None:
    """The folder that holds a module at the top which is written in Python."""
    spec = _found(top)
    return _mount(spec) if spec is not None else None


def _mount(spec: ModuleSpec) -> Mount | None:
    places = [Path(place) for place in spec.submodule_search_locations or ()]
    if places:
        return _Only(spec.name, places[0].resolve().parent)
    if spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return _Only(spec.name, Path(spec.origin).resolve().parent)


class _Only(Mount):
    """A folder of which one package or module is meant: what else lies there is not."""

    def place_of(self, name: str) -> Path | None:
        is_meant = name == self.package or name.startswith(f"{self.package}.")
        return self.folder.joinpath(*name.split(".")) if is_meant else None

    def name_of(self, file: Path) -> str | None:
        found = Mount("", self.folder).name_of(file)
        is_meant = found is not None and (
            found == self.package or found.startswith(f"{self.package}.")
        )
        return found if is_meant else None


@lru_cache(maxsize=1024)
def _search(top: str, path: tuple[str, ...]) -> ModuleSpec | None:
    try:
        return PathFinder.find_spec(top, list(path))
    except (ImportError, ValueError):
        return None


def _found(top: str) -> ModuleSpec | None:
    return _search(top, tuple(sys.path))


def _prefixes(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:size]) for size in range(1, len(parts) + 1)]

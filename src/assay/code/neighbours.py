"""Neighbours: what a file people bring finds beside it when it imports.

A file that is loaded has its folder importable, behind all that already was. Two such folders may each have a
`helper.py`. The first folder has it under its plain name. In the second, the module has a name of its own in
`sys.modules`, and the files of that folder get builtins of their own whose `import` knows it: nobody else's changes.
Names looked up by `importlib` are Python's affair.
"""

import builtins
import hashlib
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

_homes: dict[Path, "_Home"] = {}
"""Folders of loaded files."""
_added: set[Path] = set()
"""Those among them that can be imported from for no other reason."""
_first: dict[str, Path] = {}
"""By the name of a module, the first of them that had one."""
_aliases: dict[str, str | None] = {}
"""By the name that a module of a later folder has in `sys.modules`, the module's file."""


class _Home:
    """A folder of loaded files, and the modules in it whose plain names mean another folder's."""

    def __init__(self, folder: Path) -> None:
        self._suffix = f"__{hashlib.sha256(str(folder).encode()).hexdigest()[:8]}"
        self.folder = folder
        self.aliases: dict[str, str] = {}
        self.builtins = _Builtins(vars(builtins), __import__=self._import)

    def learn_aliases(self) -> None:
        """Gives a name of its own to each module here that Python would look for in another such folder."""
        packages = {place.parent.name for place in self.folder.glob("*/__init__.py")}
        for name in packages | {place.stem for place in self.folder.glob("*.py")}:
            if _first.setdefault(name, self.folder) != self.folder:
                spec = found(name)
                meant = beside(self.folder, name, spec)
                if meant is not None and meant is not spec:
                    self.aliases[name] = f"{name}{self._suffix}"
                    _aliases[self.aliases[name]] = meant.origin
        if self.aliases and _finder not in sys.meta_path:
            sys.meta_path.insert(sys.meta_path.index(PathFinder), _finder)

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """What an import statement of a file here calls; the parameters are those of `__import__`."""
        top, dot, rest = name.partition(".")
        if level == 0 and top in self.aliases:
            name = f"{self.aliases[top]}{dot}{rest}"
        return builtins.__import__(name, globals, locals, fromlist or (), level)


class _Builtins(dict[str, Any]):
    """Python's builtins with another `__import__`; what is added to them later is found, too.

    A copy, since code in C may look into the dictionary itself.
    """

    __missing__ = vars(builtins).__getitem__


class Loader(SourceFileLoader):
    """Runs a file with the builtins that it needs to find its neighbours."""

    def exec_module(self, module: ModuleType) -> None:
        if (space := _builtins_for(self.path)) is not None:
            vars(module)["__builtins__"] = space
        super().exec_module(module)


class _Finder(MetaPathFinder):
    """Finds modules by the names of their own, and runs those of folders with such names with the folder's builtins."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> Any:
        file = _aliases.get(fullname)
        spec = (
            spec_from_file_location(fullname, file)
            if file
            else PathFinder.find_spec(fullname, path)
        )
        if (
            spec is not None
            and type(spec.loader) is SourceFileLoader
            and _builtins_for(spec.loader.path) is not None
        ):
            spec.loader = Loader(fullname, spec.loader.path)
        return spec


_finder = _Finder()


def open_folder(folder: Path) -> None:
    """Makes the modules of a folder importable; its own files will prefer them to those of other such folders."""
    if folder not in _homes:
        _homes[folder] = _Home(folder)
        _home_above.cache_clear()
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
        _added.add(folder)
    _homes[folder].learn_aliases()


def is_opened(spec: ModuleSpec) -> bool:
    """Whether a module at the top is found only because a file of its folder was loaded."""
    return _home_of(spec) in _added


def found(top: str) -> ModuleSpec | None:
    """Where a name at the top leads, loaded or not; nothing is imported."""
    spec = getattr(sys.modules.get(top), "__spec__", None)
    try:
        return spec or PathFinder.find_spec(top)
    except (ImportError, ValueError):
        return None


def beside(folder: Path, top: str, spec: ModuleSpec | None) -> ModuleSpec | None:
    """Where a name leads from a folder: to the file in it, where its `spec` now leads to another loaded file's."""
    if spec is None or _home_of(spec) not in (None, folder):
        for file in (
            folder / top / "__init__.py",
            folder / f"{top}.py",
        ):  # as Python prefers them
            if file.is_file():
                return spec_from_file_location(top, file)
    return spec


def file_of(spec: ModuleSpec | None) -> Path | None:
    """The file of a module; `None` where it has none, as a module of C has that is built in."""
    return (
        Path(spec.origin)
        if spec is not None and spec.has_location and spec.origin
        else None
    )


def forget(files: set[str]) -> None:
    """Makes modules of these files be run anew when they are next imported."""
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) in files:
            del sys.modules[name]


def _builtins_for(file: str) -> dict[str, Any] | None:
    """The builtins that a file must be run with to find its neighbours; `None` where Python's own do."""
    home = _home_above(file)
    return home.builtins if home is not None and home.aliases else None


@lru_cache(maxsize=8192)
def _home_above(file: str) -> _Home | None:
    """The folder of a loaded file in or under which a file lies; the nearest."""
    return next(
        (_homes[folder] for folder in Path(file).parents if folder in _homes), None
    )


def _home_of(spec: ModuleSpec) -> Path | None:
    """The folder of a loaded file that a module at the top comes from."""
    place = next(
        iter(spec.submodule_search_locations or ()),
        spec.origin if spec.has_location else None,
    )
    folder = _folder_of(place) if place else None
    return folder if folder in _homes else None


@lru_cache(maxsize=8192)
def _folder_of(place: str) -> Path:
    return Path(place).resolve().parent

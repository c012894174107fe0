"""Imports between users' files in the same folder.

Loading a file makes the other modules in its folder importable. Modules with the same
name in Python's path have precedence. If two such folders both have a `helper.py`, the
one loaded first keeps its name. The second one gets another name in `sys.modules`, and
the files of its folder get their own builtins, in which `import` uses that name.
Imports in all other files, and names looked up by `importlib`, are not affected.
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
"""The `_Home` object of each folder from which a user's file was loaded."""
_added: set[Path] = set()
"""Folders that assay added to Python's path when it loaded a file in them."""
_first: dict[str, Path] = {}
"""For each module name, the first folder with such a module. Only that module keeps its name."""
_aliases: dict[str, str | None] = {}
"""Maps the new name of each renamed module to its file.

A module is renamed if a folder loaded earlier has a module of the same name.
"""


class _Home:
    """A folder with users' files. If another folder has a module of the same name,
    `aliases` has a unique name for it.
    """

    def __init__(self, folder: Path) -> None:
        self._suffix = f"__{hashlib.sha256(str(folder).encode()).hexdigest()[:8]}"
        self.folder = folder
        self.aliases: dict[str, str] = {}
        self.builtins = _Builtins(vars(builtins), __import__=self._import)

    def learn_aliases(self) -> None:
        """Give a unique name to each module of this folder that Python would otherwise find in another user folder."""
        names = {path.stem for path in self.folder.glob("*.py")}
        for init_file in self.folder.glob("*/__init__.py"):
            names.add(init_file.parent.name)
        for name in names:
            if _first.setdefault(name, self.folder) == self.folder:
                continue
            spec = find_module(name)
            own_spec = spec_in_folder(self.folder, name, spec)
            if own_spec is None or own_spec is spec:
                continue
            alias = f"{name}{self._suffix}"
            self.aliases[name] = alias
            _aliases[alias] = own_spec.origin
        if self.aliases and _finder not in sys.meta_path:
            usual = sys.meta_path.index(PathFinder)
            sys.meta_path.insert(usual, _finder)

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """Import a module for a file of this folder, with the parameters of `__import__`."""
        top, dot, rest = name.partition(".")
        if level == 0 and top in self.aliases:
            name = f"{self.aliases[top]}{dot}{rest}"
        return builtins.__import__(name, globals, locals, fromlist or (), level)


class _Builtins(dict[str, Any]):
    """Python's builtins, with `__import__` replaced. Names added to the real builtins
    later are visible too.

    The entries are copied, because C code may read the dictionary directly.
    """

    __missing__ = vars(builtins).__getitem__


class Loader(SourceFileLoader):
    """Runs a file with builtins that import modules of the same folder."""

    def exec_module(self, module: ModuleType) -> None:
        if (space := _builtins_for(self.path)) is not None:
            vars(module)["__builtins__"] = space
        super().exec_module(module)


class _Finder(MetaPathFinder):
    """Finds renamed modules, and loads the files of a user folder with the builtins of that folder."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        file = _aliases.get(fullname)
        if file:
            spec = spec_from_file_location(fullname, file)
        else:
            spec = PathFinder.find_spec(fullname, path)
        if (
            spec is not None
            and type(spec.loader) is SourceFileLoader
            and _builtins_for(spec.loader.path) is not None
        ):
            spec.loader = Loader(fullname, spec.loader.path)
        return spec


_finder = _Finder()


def open_folder(folder: Path) -> None:
    """Make the modules of a folder importable. Files in it prefer them to modules of other users' folders."""
    if folder not in _homes:
        _homes[folder] = _Home(folder)
        _home_above.cache_clear()
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
        _added.add(folder)
    _homes[folder].learn_aliases()


def is_opened(spec: ModuleSpec) -> bool:
    """Return True if a top-level module can be imported only because a user's file of its folder was loaded."""
    return _home_of(spec) in _added


def find_module(top: str) -> ModuleSpec | None:
    """Return the spec of a top-level module without importing it."""
    spec = getattr(sys.modules.get(top), "__spec__", None)
    try:
        return spec or PathFinder.find_spec(top)
    except (ImportError, ValueError):
        return None


def spec_in_folder(
    folder: Path,
    top: str,
    spec: ModuleSpec | None,
) -> ModuleSpec | None:
    """Return the spec of a module that a file in `folder` imports.

    If `spec` is None or refers to another user folder, use the module's file in
    `folder`, if there is one.
    """
    if spec is None or _home_of(spec) not in (None, folder):
        for file in (
            folder / top / "__init__.py",
            folder / f"{top}.py",
        ):  # In the order in which Python prefers them.
            if file.is_file():
                return spec_from_file_location(top, file)
    return spec


def file_of(spec: ModuleSpec | None) -> Path | None:
    """Return the file of a module; None if it has none, such as a built-in module."""
    if spec is not None and spec.has_location and spec.origin:
        return Path(spec.origin)
    return None


def forget(files: set[str]) -> None:
    """Remove the modules of these files from `sys.modules`, so that they run again on their next import."""
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) in files:
            del sys.modules[name]


def _builtins_for(file: str) -> dict[str, Any] | None:
    """Return the builtins for running a file, so that its imports find modules of its
    own folder.

    Return None if no module of the folder was renamed.
    """
    home = _home_above(file)
    if home is not None and home.aliases:
        return home.builtins
    return None


@lru_cache(maxsize=8192)
def _home_above(file: str) -> _Home | None:
    """Return the innermost folder that contains the file and from which a user's file was loaded."""
    return next(
        (_homes[folder] for folder in Path(file).parents if folder in _homes), None
    )


def _home_of(spec: ModuleSpec) -> Path | None:
    """Return the user folder that contains a top-level module. Return None for any other module."""
    location = next(
        iter(spec.submodule_search_locations or ()),
        spec.origin if spec.has_location else None,
    )
    folder = _folder_of(location) if location else None
    return folder if folder in _homes else None


@lru_cache(maxsize=8192)
def _folder_of(place: str) -> Path:
    return Path(place).resolve().parent

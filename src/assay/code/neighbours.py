"""Neighbours: what a file people bring finds beside it when it imports.

A file that is loaded has its folder importable, behind all that already was. Two such folders may each have a
`helper.py`: files get the one of their own folder, also when they import late, and each of the two is run once. Only
where there are two of a name does `import` take a longer way; names looked up by `importlib` are Python's affair.
"""

import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from .imports import add_way, import_as_python

_homes: dict[Path, dict[str, ModuleType]] = {}
"""Folders of loaded files, each with those of its modules that had to make way for another folder's."""
_added: set[Path] = set()
"""Those among them that can be imported from for no other reason."""
_first: dict[str, Path] = {}
"""By the name of a module, the first of them that had one."""
_shared: set[str] = set()
"""Names that mean a module in more than one of them."""
_turning = threading.RLock()


def open_folder(folder: Path) -> None:
    """Makes the modules of a folder importable; its own files will prefer them to those of other such folders."""
    with _turning:
        if folder not in _homes:
            _shared.update(name for name in _modules_in(folder) if _first.setdefault(name, folder) != folder)
            _homes[folder] = {}
            _home_above.cache_clear()
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
            _added.add(folder)
        if _shared:
            add_way(_import_own)


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


def beside(folder: Path, top: str) -> Path | None:
    """The file beside a file that a name means, where Python would now look into another loaded file's folder."""
    spec = found(top)
    if spec is None or _home_of(spec) not in (None, folder):
        return _file_beside(folder, top)
    return None


def forget(files: set[str]) -> None:
    """Makes modules of these files be run anew when they are next imported."""
    for modules in (sys.modules, *_homes.values()):
        for name, module in list(modules.items()):
            if getattr(module, "__file__", None) in files:
                del modules[name]


def _import_own(name: str, scope: Mapping[str, Any], wanted: Sequence[str]) -> ModuleType | None:
    """What a file gets for a name that two folders have, where Python would now give it the other folder's."""
    top = name.partition(".")[0]
    home = _home_above(str(scope.get("__file__", ""))) if top in _shared else None
    if home is None or not beside(home, top):
        return None
    with _turned_to(home):
        return import_as_python(name, scope, wanted)


@contextmanager
def _turned_to(folder: Path) -> Iterator[None]:
    """While this holds, names that lie in a folder lead there; what was run from other folders has made way."""
    with _turning:
        homes = {top: _home_of(found(top)) for top in _shared if top in sys.modules}
        for name in [name for name in sys.modules if name.partition(".")[0] in homes]:
            top = name.partition(".")[0]
            home = homes[top]
            if home is not None and home != folder and _file_beside(folder, top):
                _homes[home][name] = sys.modules.pop(name)
        sys.modules.update(_homes[folder])
        _homes[folder].clear()
        sys.path.insert(min(sys.path.index(str(home)) for home in _homes if str(home) in sys.path), str(folder))
        try:
            yield
        finally:
            sys.path.remove(str(folder))


@lru_cache(maxsize=8192)
def _home_above(file: str) -> Path | None:
    """The folder of a loaded file in or under which a file lies; the nearest."""
    return next((folder for folder in Path(file).parents if folder in _homes), None) if file else None


def _home_of(spec: ModuleSpec | None) -> Path | None:
    """The folder of a loaded file that a module at the top comes from."""
    if spec is None:
        return None
    place = next(iter(spec.submodule_search_locations or ()), spec.origin if spec.has_location else None)
    folder = _folder_of(place) if place else None
    return folder if folder in _homes else None


@lru_cache(maxsize=8192)
def _folder_of(place: str) -> Path:
    return Path(place).resolve().parent


def _file_beside(folder: Path, top: str) -> Path | None:
    files = (folder / f"{top}.py", folder / top / "__init__.py")
    return next((file for file in files if file.is_file()), None)


def _modules_in(folder: Path) -> set[str]:
    packages = {place.parent.name for place in folder.glob("*/__init__.py")}
    return packages | {place.stem for place in folder.glob("*.py")}

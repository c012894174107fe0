"""Neighbours: what a file people bring finds beside it when it imports.

A file that is loaded has its folder importable, behind all that already was. Two such folders may each have a
`helper.py`: a file gets the one beside it, also when it imports late, and each of the two is run once.
"""

import builtins
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

_homes: dict[Path, dict[str, ModuleType]] = {}
"""Folders of loaded files, each with those of its modules that had to make way for another folder's."""
_added: set[Path] = set()
"""Those among them that can be imported from for no other reason."""
_turning = threading.RLock()


def open_folder(folder: Path) -> dict[str, Any]:
    """Makes a folder importable; returns the builtins of its files, whose `import` prefers what lies beside them."""
    _homes.setdefault(folder, {})
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
        _added.add(folder)
    return {**vars(builtins), "__import__": _import_for(folder)}


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


def _import_for(folder: Path) -> Callable[..., ModuleType]:
    def import_beside(
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        # Only where two folders are open can a name mean two files.
        if level == 0 and len(_homes) > 1 and beside(folder, name.partition(".")[0]):
            with _turned_to(folder):
                return builtins.__import__(name, globals, locals, fromlist or (), level)
        return builtins.__import__(name, globals, locals, fromlist or (), level)

    return import_beside


@contextmanager
def _turned_to(folder: Path) -> Iterator[None]:
    """While this holds, names that lie beside a file lead there; what was run from other folders has made way."""
    with _turning:
        tops = {name: _home_of(found(name)) for name in list(sys.modules) if "." not in name}
        for name in list(sys.modules):
            top = name.partition(".")[0]
            home = tops.get(top)
            if home not in (None, folder) and _file_beside(folder, top):
                _homes[home][name] = sys.modules.pop(name)
        sys.modules.update(_homes[folder])
        _homes[folder].clear()
        sys.path.insert(min(sys.path.index(str(home)) for home in _homes if str(home) in sys.path), str(folder))
        try:
            yield
        finally:
            sys.path.remove(str(folder))


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

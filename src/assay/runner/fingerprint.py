"""Fingerprints: digests of the code behind a component, so that a change of it is seen.

A user's function is known by the bytes of its file and of the neighbouring files it takes names from: any edit counts.
"""

import hashlib
import inspect
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from ..core import digest_of


def code_digest(thing: Any) -> str:
    """Digest of the code and the options of a component; plain data is hashed as it is."""
    return digest_of(_describe(thing))


def _describe(thing: Any) -> Any:
    if thing is None or isinstance(thing, (str, int, float, bool)):
        return thing
    if isinstance(thing, Mapping):
        return {str(key): _describe(value) for key, value in thing.items()}
    if isinstance(thing, (list, tuple, frozenset, set)):
        return [_describe(value) for value in thing]
    function = inspect.unwrap(thing) if callable(thing) else thing
    kind = function if inspect.isclass(function) or inspect.isroutine(function) else type(function)
    described: dict[str, Any] = {"name": getattr(kind, "__qualname__", kind.__name__), "code": _module_digest(kind)}
    if is_dataclass(thing) and not inspect.isclass(thing):
        described["options"] = {f.name: _describe(getattr(thing, f.name)) for f in fields(thing) if f.compare}
    closure = getattr(thing, "__closure__", None) or ()
    cells = [
        _describe(cell.cell_contents) for cell in closure if isinstance(cell.cell_contents, (str, int, float, dict))
    ]
    return {**described, "closure": cells} if cells else described


def _module_digest(thing: Any) -> str:
    module = sys.modules.get(getattr(thing, "__module__", "") or "")
    file = getattr(module, "__file__", None)
    if module is None or file is None:
        try:
            return hashlib.sha256(inspect.getsource(thing).encode()).hexdigest()
        except (OSError, TypeError):
            return "unknown"
    paths = sorted(_files_behind(module, Path(file).parent, set()))
    digest = hashlib.sha256()
    for path in paths:
        digest.update(_file_digest(path, path.stat().st_mtime_ns).encode())
    return digest.hexdigest()


def _files_behind(module: ModuleType, folder: Path, seen: set[str]) -> set[Path]:
    """The module's file, and those in the same folder it takes names from."""
    found = {Path(str(module.__file__))}
    seen.add(module.__name__)
    for value in list(vars(module).values()):
        owner = value if isinstance(value, ModuleType) else sys.modules.get(getattr(value, "__module__", None) or "")
        file = getattr(owner, "__file__", None)
        if owner is None or file is None or owner.__name__ in seen:
            continue
        if folder in Path(file).parents and "site-packages" not in file:
            found |= _files_behind(owner, folder, seen)
    return found


@lru_cache(maxsize=4096)
def _file_digest(path: Path, changed: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()

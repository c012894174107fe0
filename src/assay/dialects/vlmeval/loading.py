"""User files of this dialect, loaded once for each state of their source."""

import inspect
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from ...code.sources import digest_behind
from ...core import UsageError
from ..guest import Guest
from .claims import NAMES

_modules: dict[tuple[Path, str], ModuleType] = {}


def load_guest(path: str | Path) -> ModuleType:
    """The module of a guest file, with `vlmeval` importable in it."""
    file = Path(path).expanduser().resolve()
    if not file.is_file():
        raise UsageError("no such file", where=str(path))
    guest = Guest.of_file("vlmeval", NAMES, file)
    key = (file, digest_behind(file, libraries=False))
    if key not in _modules:
        _modules[key] = guest.load(file)
    return _modules[key]


def own_classes(module: ModuleType) -> list[type]:
    """The classes a user's file defines itself, in the order in which they stand there."""
    return [
        thing
        for thing in vars(module).values()
        if isinstance(thing, type) and getattr(thing, "__module__", "") == module.__name__
    ]


def parameters_of(function: Any) -> tuple[str, ...]:
    """The names of a function's parameters, of a method without `self`; `*` and `**` stand for any."""
    inner = getattr(function, "__func__", None)
    names = _names(function if inner is None else inner)
    return names[1:] if inner is not None and names[:1] not in (("*",), ("**",)) else names


@lru_cache(maxsize=1024)
def _names(function: Any) -> tuple[str, ...]:
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    return tuple("**" if p.kind is p.VAR_KEYWORD else "*" if p.kind is p.VAR_POSITIONAL else p.name for p in found)

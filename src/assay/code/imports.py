"""Imports: the one place where Python's `import` statement is replaced, while somebody answers for some names.

Whoever answers is asked in turn, the latest first, and returns `None` for what is not theirs; the rest is Python's.
"""

import builtins
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

Globals = Mapping[str, Any]
Way = Callable[[str, Globals, Sequence[str]], ModuleType | None]
"""A dotted name, the globals of the file that imports it, and what it wants of it."""

_ways: list[Way] = []
_by_name: set[Way] = set()
"""Those among them that answer for `importlib.import_module` too."""
_before = builtins.__import__
_module_before = importlib.import_module


def add_way(way: Way, *, by_name: bool = False) -> None:
    """From now on a way is asked first; one that is there already stays where it is.

    With `by_name` it also answers for `importlib.import_module`: a name made at run time is a name.
    """
    global _before
    if way not in _ways:
        _ways.append(way)
    if by_name:
        _by_name.add(way)
        importlib.import_module = _import_module
    if builtins.__import__ is not _import:
        _before = builtins.__import__
        builtins.__import__ = _import


def drop_way(way: Way) -> None:
    """A way is asked no more; without any, `import` is as it was."""
    if way in _ways:
        _ways.remove(way)
    _by_name.discard(way)
    if not _by_name and importlib.import_module is _import_module:
        importlib.import_module = _module_before
    if not _ways and builtins.__import__ is _import:
        builtins.__import__ = _before


def _import(
    name: str,
    globals: Globals | None = None,
    locals: Globals | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    """What an import statement calls; the parameters are those of `__import__`."""
    wanted = fromlist or ()
    if level == 0 and globals is not None:
        for way in reversed(_ways):
            module = way(name, globals, wanted)
            if module is not None:
                return module
    return _before(name, globals, locals, wanted, level)


def _import_module(name: str, package: str | None = None) -> ModuleType:
    """What `importlib.import_module` gives; whoever calls it is the one who asks."""
    scope = sys._getframe(1).f_globals
    if not name.startswith("."):
        for way in reversed(_ways):
            module = way(name, scope, ("*",)) if way in _by_name else None
            if module is not None:
                return module
    return _module_before(name, package)


def import_as_python(name: str, globals: Globals, wanted: Sequence[str]) -> ModuleType:
    """What `import` gives where nobody answers for the name."""
    return _before(name, globals, None, wanted, 0)

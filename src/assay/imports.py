"""Imports: the one place where Python's `import` statement is replaced, while somebody answers for some names.

Whoever answers is asked in turn, the latest first, and returns `None` for what is not theirs; the rest is Python's.
"""

import builtins
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

Globals = Mapping[str, Any]
Way = Callable[[str, Globals, Sequence[str]], ModuleType | None]
"""A dotted name, the globals of the file that imports it, and what it wants of it."""

_ways: list[Way] = []
_before = builtins.__import__


def add_way(way: Way) -> None:
    """From now on a way is asked first; one that is there already stays where it is."""
    global _before
    if way not in _ways:
        _ways.append(way)
    if builtins.__import__ is not _import:
        _before = builtins.__import__
        builtins.__import__ = _import


def drop_way(way: Way) -> None:
    """A way is asked no more; without any, `import` is as it was."""
    if way in _ways:
        _ways.remove(way)
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


def import_as_python(name: str, globals: Globals, wanted: Sequence[str]) -> ModuleType:
    """What `import` gives where nobody answers for the name."""
    return _before(name, globals, None, wanted, 0)

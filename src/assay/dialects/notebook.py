"""Dialects in a notebook: the names of a dialect importable by what is typed there, until `disable`.

Who asks decides: cells, the prompt, and the user's own files in the working folder are served; libraries import as
ever. Nothing is put into `sys.modules` under a dialect's names, so nothing of them is left behind.
"""

import builtins
import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from ..core import UsageError
from .guest import Guest
from .recognise import DIALECTS

_guests: dict[str, Guest] = {}
_plain_import = builtins.__import__


def enable(dialect: str) -> None:
    """Makes a dialect's names importable in this session, also where a package of such a name is installed."""
    if dialect not in DIALECTS:
        raise UsageError(f"unknown dialect {dialect!r}", fix=", ".join(DIALECTS))
    if dialect not in _guests:
        names: Mapping[str, str] = importlib.import_module(f".{dialect}.claims", __package__).NAMES
        _guests[dialect] = Guest(dialect, names, Path.cwd(), force=True)
    builtins.__import__ = _import


def disable(dialect: str) -> None:
    """Leaves the session as it was before `enable`."""
    _guests.pop(dialect, None)
    if not _guests and builtins.__import__ is _import:
        builtins.__import__ = _plain_import


def _import(
    name: str,
    globals: Mapping[str, Any] | None = None,
    locals: Mapping[str, Any] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    """What an import statement calls while a dialect is enabled; the names are those of `__import__`."""
    if level == 0 and globals is not None:
        guest = next((g for g in reversed(list(_guests.values())) if g.provides(name)), None)
        if guest is not None and _is_typed_here(globals, guest.root):
            return guest.import_for(name, fromlist or ())
    return _plain_import(name, globals, locals, fromlist or (), level)


def _is_typed_here(scope: Mapping[str, Any], folder: Path) -> bool:
    """Whether code is a cell, typed at the prompt, or a file of the user's own in the working folder."""
    file = scope.get("__file__")
    if scope.get("__name__") == "__main__" or file is None:
        return True
    return folder in Path(file).parents and "site-packages" not in Path(file).parts

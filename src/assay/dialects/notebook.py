"""Make a toolkit's names importable in a notebook session, until `disable`.

The importing code decides. Cells, code typed at the prompt and the user's own files in
the working folder get the names; any other file gets them only if no package of that
name is installed. `sys.modules` has no entry under a toolkit's name, so `disable`
leaves nothing behind. Typed code has no loader that could give it separate builtins.
This is therefore the only module that replaces `import` for the whole process.
"""

import builtins
import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

from ..core import UsageError
from .guest import Guest
from .outside import installed_mount
from .protocol import OURS, choose
from .recognise import DIALECTS
from .shapes import Fields

_ASSAY = Path(__file__).parents[1]
_guests: dict[str, Guest] = {}
_python_import = builtins.__import__
_python_import_module = importlib.import_module


def enable(
    dialect: str,
    protocol: str = OURS,
) -> None:
    """Make a toolkit's names importable in this session, even if a package of the same name is installed.

    `protocol="upstream"` selects the toolkit's own rules where they differ from
    assay's.
    """
    if dialect not in DIALECTS:
        known_dialects = ", ".join(DIALECTS)
        raise UsageError(f"unknown dialect {dialect!r}", fix=known_dialects)
    choose(dialect, protocol)
    if dialect not in _guests:
        names: Mapping[str, str] = importlib.import_module(
            f".{dialect}.claims", __package__
        ).NAMES
        folder = Path.cwd()
        _guests[dialect] = Guest(dialect, names, folder, force=True)
    if builtins.__import__ is not _import:
        global _python_import
        _python_import = builtins.__import__
        builtins.__import__ = _import
    importlib.import_module = _import_module


def disable(dialect: str) -> None:
    """Restore the session to its state before `enable`."""
    _guests.pop(dialect, None)
    choose(dialect, OURS)
    if not _guests and builtins.__import__ is _import:
        builtins.__import__ = _python_import
    if not _guests and importlib.import_module is _import_module:
        importlib.import_module = _python_import_module


def _import(
    name: str,
    globals: Fields | None = None,
    locals: Fields | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    """Import a module for an `import` statement: from an enabled toolkit if the importing code may use it.

    The parameters are those of `__import__`.
    """
    is_ours = level == 0 and globals is not None
    if is_ours:
        scope = globals or {}
        names = fromlist or ()
        module = _import_of_guest(name, scope, names)
    else:
        module = None
    return module or _python_import(name, globals, locals, fromlist or (), level)


def _import_module(
    name: str,
    package: str | None = None,
) -> ModuleType:
    """Import a module for `importlib.import_module`: from an enabled toolkit if the calling code may use it."""
    scope = sys._getframe(1).f_globals
    if name.startswith("."):
        module = None
    else:
        module = _import_of_guest(name, scope, ("*",))
    return module or _python_import_module(name, package)


def _import_of_guest(
    name: str,
    scope: Fields,
    wanted: Sequence[str],
) -> ModuleType | None:
    """Return the module of an enabled toolkit for an import in typed code; `None` leaves the import to Python."""
    guest = next(
        (g for g in reversed(list(_guests.values())) if g.provides(name)), None
    )
    if guest is None or not _is_served(
        scope,
        name,
        guest.root,
        is_library=guest.is_library(name),
    ):
        return None
    return guest.module(name, wanted)


def _is_served(
    scope: Fields,
    name: str,
    folder: Path,
    *,
    is_library: bool = False,
) -> bool:
    """Return True if the importing code gets a toolkit's module `name` from assay.

    This is the case in notebook cells, in typed code and in the user's own files in the
    working folder. Other files get it only if no package of that name is installed.
    """
    file = scope.get("__file__")
    if scope.get("__name__") == "__main__" or file is None:
        return True
    if _ASSAY in Path(file).parents:
        return False  # Also in a checkout of assay.
    file_path = Path(file)
    is_here = folder in file_path.parents and "site-packages" not in Path(file).parts
    return is_here or (
        not is_library and installed_mount(name.partition(".")[0]) is None
    )

"""Dialects in a notebook: the names of a dialect importable by what is typed there, until `disable`.

Only code without a file of its own (notebook cells, the prompt), or `__main__`, is served; libraries are not.
"""

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType

from ..core import UsageError
from .recognise import DIALECTS

_finders: dict[str, "_Finder"] = {}


def enable(dialect: str) -> None:
    """Makes a dialect's names importable in this session."""
    if dialect not in DIALECTS:
        raise UsageError(f"unknown dialect {dialect!r}", fix=", ".join(DIALECTS))
    if dialect not in _finders:
        names: dict[str, str] = importlib.import_module(f".{dialect}.claims", __package__).NAMES
        finder = _Finder(names)
        _finders[dialect] = finder
        sys.meta_path.insert(0, finder)


def disable(dialect: str) -> None:
    """Leaves the session as it was before `enable`."""
    finder = _finders.pop(dialect, None)
    if finder is None:
        return
    sys.meta_path.remove(finder)
    for name in [n for n in sys.modules if n.partition(".")[0] in finder.names]:
        if getattr(sys.modules[name], "__name__", "").startswith("assay."):
            del sys.modules[name]


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Serves a dialect's names to interactive code."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of a guest name; nothing for code that lies in a library."""
        top = fullname.partition(".")[0]
        if top not in self.names or not _asked_interactively():
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """The module of assay that stands for the name."""
        top = spec.name.partition(".")[0]
        return importlib.import_module(self.names[top] + spec.name[len(top) :])

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: it was loaded under its own name."""


def _asked_interactively() -> bool:
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith(("importlib", "assay.dialects.notebook")):
            return module == "__main__" or "__file__" not in frame.f_globals
        frame = frame.f_back  # type: ignore[assignment]
    return False

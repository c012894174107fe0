"""Guests: files written for another system, loaded with that system's names importable in them and nowhere else.

A guest file gets builtins of its own whose `__import__` knows the dialect's names; so do the neighbours it imports. The
rest of the process never sees those names: nothing is put into `sys.modules` under them, nothing has to be undone. A
name that is really installed, or lies beside the file, is not hidden unless the dialect was asked for by name.
"""

import builtins
import importlib
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from ..core import AssayError, UsageError
from ..userfiles import describe_failure, failing_line


class Guest:
    """One user's files under one dialect."""

    def __init__(self, dialect: str, names: Mapping[str, str], root: Path, *, force: bool = False) -> None:
        self.dialect = dialect
        self.root = root.resolve()
        self._names = {top: real for top, real in names.items() if force or not self._is_taken(top)}
        """Top-level guest names, and the modules of assay that stand for them."""
        self._modules: dict[Path, ModuleType] = {}
        self._builtins = {**vars(builtins), "__import__": self._import}

    def load(self, path: str | Path, *, name: str | None = None) -> ModuleType:
        """The module of a guest file; pointing at it is the consent to run it."""
        file = Path(path).expanduser().resolve()
        if file in self._modules:
            return self._modules[file]
        if not file.is_file():
            raise UsageError("no such file", where=str(path))
        own = name or f"assay_guest_{self.dialect}_{file.stem.replace('-', '_')}"
        spec = importlib.util.spec_from_file_location(own, file)
        if spec is None or spec.loader is None:
            raise UsageError("not a Python file", where=str(path))
        module = importlib.util.module_from_spec(spec)
        module.__dict__["__builtins__"] = self._builtins
        self._modules[file] = module
        sys.modules[own] = module
        try:
            spec.loader.exec_module(module)
        except BaseException as error:
            del self._modules[file]
            sys.modules.pop(own, None)
            if isinstance(error, AssayError) or not isinstance(error, Exception):
                raise
            raise UsageError(describe_failure(error), where=f"{path}{failing_line(error, file)}") from error
        return module

    def run_script(self, path: str | Path) -> dict[str, Any]:
        """Runs a script as `__main__` with the dialect's names importable, and returns what it defined."""
        file = Path(path).expanduser().resolve()
        code = compile(file.read_bytes(), str(file), "exec")
        scope: dict[str, Any] = {"__name__": "__main__", "__file__": str(file), "__builtins__": self._builtins}
        run_code(code, scope)
        return scope

    def _is_taken(self, top: str) -> bool:
        """Whether a name already means something here: beside the file, or installed."""
        if (self.root / f"{top}.py").exists() or (self.root / top / "__init__.py").exists():
            return True
        if top in sys.modules:
            return not sys.modules[top].__name__.startswith("assay.")
        try:
            return importlib.util.find_spec(top) is not None
        except (ImportError, ValueError):
            return False

    def _import(
        self,
        name: str,
        scope: Mapping[str, Any] | None = None,
        local: Mapping[str, Any] | None = None,
        wanted: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        top = name.partition(".")[0]
        if level == 0 and top in self._names:
            return self._import_provided(name, top, wanted or ())
        if level == 0:
            neighbour = self._neighbour(name)
            if neighbour is not None:
                return self._import_neighbour(name, neighbour, wanted or ())
        return builtins.__import__(name, scope, local, wanted or (), level)

    def _import_provided(self, name: str, top: str, wanted: Sequence[str]) -> ModuleType:
        real = self._names[top] + name[len(top) :]
        try:
            module = importlib.import_module(real)
        except ModuleNotFoundError as error:
            if error.name is not None and real.startswith(error.name):
                raise ModuleNotFoundError(f"the {self.dialect} dialect has no module {name!r}", name=name) from error
            raise
        for attribute in wanted:
            if attribute != "*" and not hasattr(module, attribute):
                if importlib.util.find_spec(f"{real}.{attribute}") is not None:
                    importlib.import_module(f"{real}.{attribute}")
                else:
                    raise ImportError(f"the {self.dialect} dialect has no {attribute!r} in {name!r}", name=name)
        return module if wanted else importlib.import_module(self._names[top])

    def _neighbour(self, name: str) -> Path | None:
        """A file of the user's own, beside the guest, that a name stands for."""
        base = self.root.joinpath(*name.split("."))
        for file in (base.with_suffix(".py"), base / "__init__.py"):
            if file.is_file():
                return file
        return None

    def _import_neighbour(self, name: str, file: Path, wanted: Sequence[str]) -> ModuleType:
        parts = name.split(".")
        module = self.load(file, name=f"assay_guest_{self.dialect}_{'_'.join(parts)}")
        if file.name == "__init__.py":
            for attribute in wanted:
                child = self._neighbour(f"{name}.{attribute}")
                if child is not None and not hasattr(module, attribute):
                    setattr(module, attribute, self.load(child))
        if wanted or len(parts) == 1:
            return module
        outer: ModuleType = ModuleType(parts[0])
        chain = outer
        for part in parts[1:-1]:
            inner = ModuleType(part)
            setattr(chain, part, inner)
            chain = inner
        setattr(chain, parts[-1], module)
        return outer


def run_code(code: Any, scope: dict[str, Any]) -> None:
    """Runs a user's own script: the command that names it is the consent."""
    module = ModuleType("__main__")
    module.__dict__.update(scope)
    exec(code, module.__dict__)  # noqa: S102 - the user's script, named on the command line
    scope.update(module.__dict__)

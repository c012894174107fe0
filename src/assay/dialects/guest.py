"""Guests: files written for another system, loaded with that system's names importable in them and nowhere else.

A guest file gets builtins of its own whose `__import__` knows the dialect's names; so do the neighbours it imports. The
rest of the process never sees those names: nothing is put into `sys.modules` under them, nothing has to be undone. A
name that is really installed, or lies beside the file, is not hidden unless the dialect was asked for by name.

A dotted name (`src.dataset`) stands for one part of a package the user shares with the dialect: ours answers for that
part, the user's own files for every other (`src.models.mine`), and for what ours does not define. A module of ours
whose names depend on whose they are (`src.registry.registry`) has `names_for(guest)`, which gives them.
"""

import builtins
import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType
from typing import Any

from .. import neighbours
from ..core import AssayError, UsageError, trust
from ..userfiles import describe_failure, failing_line

_forced: ContextVar[str | None] = ContextVar("forced", default=None)


@contextmanager
def forced(dialect: str | None) -> Iterator[None]:
    """While this holds, guests of a dialect that was asked for by name hide real packages of its names."""
    token = _forced.set(dialect)
    try:
        yield
    finally:
        _forced.reset(token)


def stands_for(name: str, names: Mapping[str, str]) -> str | None:
    """The module of assay that a guest name leads to, by the longest prefix that is known; `None` if none is."""
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        real = names.get(".".join(parts[:size]))
        if real is not None:
            return ".".join([real, *parts[size:]])
    return None


def module_exists(real: str) -> bool:
    """Whether assay has such a module; a parent that is no package means that it has not."""
    try:
        return importlib.util.find_spec(real) is not None
    except (ImportError, ValueError):
        return False


class Guest:
    """One user's files under one dialect."""

    def __init__(self, dialect: str, names: Mapping[str, str], root: Path, *, force: bool = False) -> None:
        self.dialect = dialect
        self.root = root.resolve()
        force = force or _forced.get() == dialect
        self._names = {top: real for top, real in names.items() if "." in top or force or not self._is_taken(top)}
        """Guest names, and the modules of assay that stand for them."""
        self._shared_tops = {name.partition(".")[0] for name in self._names if "." in name}
        self._shared: dict[str, ModuleType] = {}
        self._modules: dict[Path, ModuleType] = {}
        self._builtins = {**vars(builtins), "__import__": self._import}
        self._importlib = _Overlay("importlib", importlib, lambda: importlib)
        self._importlib.__dict__["import_module"] = self.import_module

    def load(self, path: str | Path, *, name: str | None = None) -> ModuleType:
        """The module of a guest file; pointing at it is the consent to run it."""
        file = Path(path).expanduser().resolve()
        if file not in self._modules and not file.is_file():
            raise UsageError("no such file", where=str(path))
        try:
            return self._execute(file, name)
        except AssayError:
            raise
        except Exception as error:
            raise UsageError(describe_failure(error), where=f"{path}{failing_line(error, file)}") from error

    def module(self, name: str) -> ModuleType:
        """The module a guest file would get under this dotted name; raises `ImportError` as it would there."""
        return self._import(name, fromlist=("*",))

    def provides(self, name: str) -> bool:
        """Whether a dotted name is one of the dialect's, or lies in a package the user shares with it."""
        top = name.partition(".")[0]
        return top in self._names or top in self._shared_tops

    def import_for(self, name: str, wanted: Sequence[str]) -> ModuleType:
        """What an `import` statement gets for a name the dialect provides."""
        return self._import(name, fromlist=wanted)

    def import_module(self, name: str, package: str | None = None) -> ModuleType:
        """`importlib.import_module` as a guest's file has it: names made at run time are served like written ones."""
        if self.provides(name) or self._neighbour(name) is not None:
            return self._import(name, fromlist=("*",))
        return importlib.import_module(name, package)

    def _execute(self, file: Path, name: str | None = None) -> ModuleType:
        """Runs a file once, under a name of its own; what it raises comes out as it is, so that guests can catch it."""
        trust.check(file)
        if file in self._modules:
            return self._modules[file]
        place = hashlib.sha256(str(file).encode()).hexdigest()[:8]
        # The last part is the file's own name, or its folder's: guests register things under it.
        last = _plain(file.parent.name if file.name == "__init__.py" else file.stem)
        own = f"{name or f'assay_guest_{self.dialect}'}_{place}.{last}"
        spec = importlib.util.spec_from_file_location(own, file)
        if spec is None or spec.loader is None:
            raise UsageError("not a Python file", where=str(file))
        module = importlib.util.module_from_spec(spec)
        module.__dict__["__builtins__"] = self._builtins
        self._modules[file] = module
        sys.modules[own] = module
        try:
            with trust.running():
                spec.loader.exec_module(module)
        except BaseException:
            del self._modules[file]
            sys.modules.pop(own, None)
            raise
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
        try:
            spec = importlib.util.find_spec(top)
        except (ImportError, ValueError):
            return top in sys.modules
        # What another file of this process made importable for itself means nothing to this guest.
        return spec is not None and not (spec.name.startswith("assay.") or neighbours.is_opened(spec))

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """What an import statement in a guest's file calls; the parameters are those of `__import__`."""
        wanted = fromlist or ()
        absolute = self._absolute(name, globals, level) if level else name
        if absolute is not None:
            top = absolute.partition(".")[0]
            if top in self._names:
                return self._import_provided(absolute, top, wanted)
            if top in self._shared_tops:
                return self._import_shared(absolute, wanted)
            neighbour = self._neighbour(absolute)
            if neighbour is not None:
                return self._import_neighbour(absolute, neighbour, wanted)
            if absolute == "importlib" or (top == "importlib" and not wanted):
                importlib.import_module(absolute)
                return self._importlib
        return builtins.__import__(name, globals, locals, wanted, level)

    def _absolute(self, name: str, scope: Mapping[str, Any] | None, level: int) -> str | None:
        """The dotted name a relative import means, for a file under the guest's root."""
        file = Path(str((scope or {}).get("__file__", "")))
        if self.root not in file.parents:
            return None
        # A module's own package is its folder, and so is that of an `__init__.py`.
        parts = file.parent.relative_to(self.root).parts
        if level - 1 > len(parts):
            return None
        package = parts[: len(parts) - (level - 1)]
        return ".".join([*package, *([name] if name else [])]) or None

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
                if module_exists(f"{real}.{attribute}"):
                    importlib.import_module(f"{real}.{attribute}")
                else:
                    raise ImportError(f"the {self.dialect} dialect has no {attribute!r} in {name!r}", name=name)
        return module if wanted else importlib.import_module(self._names[top])

    def _import_shared(self, name: str, wanted: Sequence[str]) -> ModuleType:
        """A module of a package that is part ours, part the user's."""
        module = self._shared_module(name)
        for attribute in wanted:
            if attribute != "*" and not hasattr(module, attribute):
                try:
                    self._shared_module(f"{name}.{attribute}")
                except ModuleNotFoundError as error:
                    if error.name != f"{name}.{attribute}":
                        raise
                    what = f"neither the {self.dialect} dialect nor {self.root} has {attribute!r} in {name!r}"
                    raise ImportError(what, name=name) from None
        return module if wanted else self._shared_module(name.partition(".")[0])

    def _shared_module(self, name: str) -> ModuleType:
        """The module of one dotted name, made once and hung into its parent, which belongs to this guest alone."""
        if name in self._shared:
            return self._shared[name]
        outer, _, last = name.rpartition(".")
        parent = self._shared_module(outer) if outer else None
        module = self._make_shared(name)
        self._shared[name] = module
        if parent is not None:
            setattr(parent, last, module)
        return module

    def _make_shared(self, name: str) -> ModuleType:
        real = stands_for(name, self._names)
        file = self._neighbour(name)
        if real is not None and module_exists(real):
            module = importlib.import_module(real)
            own = module.names_for(self) if hasattr(module, "names_for") else {}
            return _Overlay(name, module, (lambda: self._execute(file)) if file else None, own)
        if file is not None:
            return self._execute(file, f"assay_guest_{self.dialect}_{_plain(name)}")
        is_parent = any(known.startswith(f"{name}.") for known in self._names)
        if is_parent or self.root.joinpath(*name.split(".")).is_dir():
            return ModuleType(name)
        what = f"neither the {self.dialect} dialect nor {self.root} has a module {name!r}"
        raise ModuleNotFoundError(what, name=name)

    def has_own(self, name: str) -> bool:
        """Whether the user has a file of their own under a dotted name that ours stands for."""
        return self._neighbour(name) is not None

    def own_module(self, name: str) -> ModuleType:
        """That file's module."""
        file = self._neighbour(name)
        if file is None:
            raise ModuleNotFoundError(f"{self.root} has no module {name!r}", name=name)
        return self._execute(file)

    def _neighbour(self, name: str) -> Path | None:
        """A file of the user's own, beside the guest, that a name stands for."""
        base = self.root.joinpath(*name.split("."))
        for file in (base.with_suffix(".py"), base / "__init__.py"):
            if file.is_file():
                return file
        return None

    def _import_neighbour(self, name: str, file: Path, wanted: Sequence[str]) -> ModuleType:
        parts = name.split(".")
        module = self._execute(file, f"assay_guest_{self.dialect}_{_plain(name)}")
        if file.name == "__init__.py":
            for attribute in wanted:
                child = self._neighbour(f"{name}.{attribute}")
                if child is not None and not hasattr(module, attribute):
                    setattr(module, attribute, self._execute(child))
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


class _Overlay(ModuleType):
    """A module of ours over the user's file of the same name, which is run when ours does not have what is asked."""

    def __init__(
        self,
        name: str,
        ours: ModuleType,
        theirs: Callable[[], ModuleType] | None,
        bound: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(name, ours.__doc__)
        public = {key: value for key, value in vars(ours).items() if not key.startswith("__")} | dict(bound or {})
        self.__dict__.update(public, _theirs=theirs)
        self.__dict__["__all__"] = [key for key in public if not key.startswith("_")]

    def __getattr__(self, attribute: str) -> Any:
        theirs = self.__dict__.get("_theirs")
        if theirs is None or attribute.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {attribute!r}")
        return getattr(theirs(), attribute)


def _plain(name: str) -> str:
    return name.replace(".", "_").replace("-", "_")


def run_code(code: Any, scope: dict[str, Any]) -> None:
    """Runs a user's own script as `__main__`: the command that names it is the consent."""
    module = ModuleType("__main__")
    module.__dict__.update(scope)
    before = sys.modules["__main__"]
    sys.modules["__main__"] = module
    try:
        exec(code, module.__dict__)  # noqa: S102 - the user's script, named on the command line
    finally:
        sys.modules["__main__"] = before
        scope.update(module.__dict__)

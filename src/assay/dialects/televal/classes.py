"""From the dotted class path of an entry to the class: ours, or the user's beside the registry.

A path can be checked without running anything of the user's, and is checked so for the whole tree before a run starts.
"""

import ast
import importlib
import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ...code.sources import parsed
from ...code.userfiles import describe_failure, failing_line
from ...core import AssayError, UsageError, nearest
from ...registry import check_options
from ..guest import Guest, module_exists, stands_for
from ..protocol import is_upstream
from .claims import NAMES
from .eras import SUPPLIED, era_of
from .secrets import expand
from .tree import Entry


class Classes:
    """The classes of one tree, imported when they are first needed."""

    def __init__(self, root: Path) -> None:
        self.guest = Guest("televal", NAMES, root)
        self.root = self.guest.root

    def find(self, entry: Entry) -> Any:
        """The class of an entry; a fault names the line of the YAML file and what is near."""
        module, _, attribute = entry.cls.rpartition(".")
        fault = self.fault(entry)
        if fault is not None:
            raise fault
        file = self._defining_file(entry.cls)
        try:
            if file is not None:
                name = (
                    attribute
                    if attribute in names_in(file)
                    else _only_class(file) or attribute
                )
                return getattr(self.guest.load(file), name)
            return getattr(self.guest.module(module), attribute)
        except AssayError:
            raise
        except Exception as error:
            user_file = self._user_file(module)
            line = failing_line(error, user_file) if user_file else ""
            where = f"{user_file}{line}" if user_file else entry.at("class")
            raise UsageError(
                f"{entry.cls}: {describe_failure(error)}", where=where
            ) from error

    def build(self, entry: Entry) -> Any:
        """The object an entry describes."""
        thing = self.find(entry)
        # A function of the user's own may make the thing; any other callable was never meant to be named here.
        if not inspect.isclass(thing) and (
            not callable(thing) or self.file_of(entry) is None
        ):
            raise UsageError(f"{entry.cls} is no class", where=entry.at("class"))
        self.check_args(entry, thing)
        try:
            return thing(**expand(entry.args))
        except AssayError:
            raise
        except Exception as error:
            what = f"{entry.kind} {entry.name!r} could not be built: {describe_failure(error)}"
            raise UsageError(what, where=entry.at("class")) from error

    def file_of(self, entry: Entry) -> Path | None:
        """The user's file an entry's class stands in; `None` for ours and for installed ones."""
        module = entry.cls.rpartition(".")[0]
        return self._defining_file(entry.cls) or self._user_file(module)

    @staticmethod
    def check_args(entry: Entry, thing: Any) -> None:
        """Raises for an argument that the class does not take, and for one it needs, at the line that is wrong."""
        if not inspect.isclass(thing):
            return
        try:
            parameters = inspect.signature(thing).parameters
        except (TypeError, ValueError):
            return
        takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        unknown = next(
            (name for name in entry.args if name not in parameters and not takes_any),
            "",
        )
        check_options(
            thing,
            entry.args,
            f"{entry.kind} {entry.name!r}",
            entry.at(unknown or "args"),
        )

    def fault(self, entry: Entry) -> UsageError | None:
        """What is wrong with the class path of an entry, found without running the user's code."""
        module, dot, attribute = entry.cls.rpartition(".")
        where = entry.at("class")
        if not dot:
            return UsageError(
                f"{entry.cls!r} is no dotted class path",
                where=where,
                fix="write class: src.module.Class",
            )
        if self._defining_file(entry.cls) is not None:
            return None
        ours, theirs = self._ours(module), self._user_file(module)
        if ours is None and theirs is None:
            if self._folder(module).is_dir():
                names: Iterable[str] = self._classes_below(module)
                return _lacking(entry.cls, module, attribute, names, where)
            if module_exists(module) and not module.startswith("src"):
                return None
            return _no_module(entry.cls, module, self._modules_near(module), where)
        if is_upstream("televal") and era_of(self.root) in SUPPLIED.get(entry.cls, ()):
            return _lacking(entry.cls, module, attribute, (), where)
        names_there = [
            *(vars(ours) if ours else ()),
            *(names_in(theirs) if theirs else ()),
        ]
        if attribute in names_there or "*" in names_there:
            return None
        return _lacking(
            entry.cls,
            module,
            attribute,
            [n for n in names_there if not n.startswith("_")],
            where,
        )

    def _ours(self, module: str) -> Any:
        real = stands_for(module, NAMES)
        return (
            importlib.import_module(real)
            if real is not None and module_exists(real)
            else None
        )

    def _user_file(self, module: str) -> Path | None:
        base = self._folder(module)
        return next(
            (f for f in (base.with_suffix(".py"), base / "__init__.py") if f.is_file()),
            None,
        )

    def _folder(self, module: str) -> Path:
        return self.root.joinpath(*module.split("."))

    def _defining_file(self, path: str) -> Path | None:
        """The file of a class that is named after its package alone, as the document does: `src.models.MyModel`.

        The package's own `__init__.py` comes first; then the module of that name; then the one module that defines it.
        """
        package, _, attribute = path.rpartition(".")
        folder = self._folder(package)
        if not folder.is_dir() or self._ours(package) is not None:
            return None
        package_file = folder / "__init__.py"
        if package_file.is_file() and attribute in names_in(package_file):
            return None
        module = folder / f"{attribute}.py"
        if module.is_file() and (attribute in names_in(module) or _only_class(module)):
            return module
        defining = [
            file
            for file in sorted(folder.glob("*.py"))
            if attribute in _classes_in(file)
        ]
        return defining[0] if len(defining) == 1 else None

    def _classes_below(self, module: str) -> list[str]:
        return [
            name
            for file in sorted(self._folder(module).glob("*.py"))
            for name in _classes_in(file)
        ]

    def _modules_near(self, module: str) -> list[str]:
        """Modules the user has, and those of ours."""
        source = self.root / "src"
        files = (
            [f.relative_to(self.root).with_suffix("") for f in source.rglob("*.py")]
            if source.is_dir()
            else []
        )
        return [*(".".join(p.parts).removesuffix(".__init__") for p in files), *NAMES]


def names_in(file: Path) -> frozenset[str]:
    """What a Python file defines or imports at its top, read without running it; `*` where that cannot be told."""
    names: set[str] = set()
    for node in _top(file):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {
                (alias.asname or alias.name).partition(".")[0] for alias in node.names
            }
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
        elif isinstance(node, (ast.If, ast.Try, ast.With, ast.For)):
            names.add("*")
    return frozenset(names)


def _classes_in(file: Path) -> list[str]:
    return [node.name for node in _top(file) if isinstance(node, ast.ClassDef)]


def _only_class(file: Path) -> str | None:
    classes = _classes_in(file)
    return classes[0] if len(classes) == 1 else None


def _top(file: Path) -> list[ast.stmt]:
    tree = parsed(file)
    return tree.body if tree else []


def _lacking(
    path: str, module: str, attribute: str, candidates: Iterable[str], where: str
) -> UsageError:
    names = sorted(set(candidates) - {"*"})
    close = nearest(attribute, names)
    listing = (
        f"{module} has {', '.join(names[:8])}" if names else f"{module} defines nothing"
    )
    fix = f"did you mean {close!r}? {listing}" if close else listing
    return UsageError(f"unknown class {path!r}", where=where, fix=fix)


def _no_module(
    path: str, module: str, modules: Iterable[str], where: str
) -> UsageError:
    close = nearest(module, modules)
    file = module.replace(".", "/") + ".py"
    fix = f"did you mean {close!r}?" if close else f"write {file} beside the registry"
    return UsageError(
        f"unknown class {path!r}: there is no module {module!r}", where=where, fix=fix
    )

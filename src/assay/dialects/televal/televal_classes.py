"""Find the class for the dotted path of an entry: a built-in class, or a user's class next to the registry.

Before a run starts, the paths of the whole tree are checked without running user code.
"""

import ast
import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ...code.sources import parsed
from ...code.userfiles import describe_failure, failing_line
from ...core import AssayError, UsageError, nearest
from ...core.errors import users_line
from ...registry import check_options
from ..guest import Guest, replacement, stands_for
from ..protocol import is_upstream
from ..source_names import module_exists
from .claims import NAMES
from .eras import SUPPLIED, era_of, supplied
from .televal_secrets import expand
from .tree import Entry


class Classes:
    """The classes of one tree, imported on first use."""

    def __init__(self, root: Path) -> None:
        self.guest = Guest("televal", NAMES, root)
        self.root = self.guest.root

    def find(self, entry: Entry) -> Any:
        """Return the class of an entry; an error names the line of the YAML file and similar names."""
        module, _, attribute = entry.cls.rpartition(".")
        fault = self.fault(entry)
        if fault is not None:
            raise fault
        file = self._defining_file(entry.cls)
        try:
            if file is not None:
                if attribute in names_in(file):
                    name = attribute
                else:
                    name = _only_class(file) or attribute
                return getattr(self.guest.load(file), name)
            return getattr(self.guest.module(module), attribute)
        except AssayError:
            raise
        except Exception as error:
            user_file = self._user_file(module)
            if user_file:
                line = failing_line(error, user_file)
            else:
                line = ""
            if user_file:
                where = f"{user_file}{line}"
            else:
                where = entry.at("class")
            raise UsageError(
                f"{entry.cls}: {describe_failure(error)}", where=where
            ) from error

    def build(self, entry: Entry) -> Any:
        """Build the object that an entry describes."""
        thing = self.find(entry)
        # A function of the user may build the object; no other callable is accepted.
        if not inspect.isclass(thing) and (
            not callable(thing) or self.file_of(entry) is None
        ):
            raise UsageError(f"{entry.cls} is not a class", where=entry.at("class"))
        self.check_args(entry, thing)
        try:
            with supplied(entry.cls):
                return thing(**expand(entry.args))
        except AssayError:
            raise
        except (Exception, SystemExit) as error:
            fault = describe_failure(error) + users_line(error)
            message = f"{entry.kind} {entry.name!r} could not be built: {fault}"
            raise UsageError(message, where=entry.at("class")) from error

    def file_of(self, entry: Entry) -> Path | None:
        """Return the user's file that defines an entry's class, or None for built-in and installed ones."""
        module = entry.cls.rpartition(".")[0]
        return self._defining_file(entry.cls) or self._user_file(module)

    @staticmethod
    def check_args(entry: Entry, thing: object) -> None:
        """Raise for an unknown or missing argument, with the line at fault."""
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
        """Return what is wrong with the class path of an entry, without running user code."""
        module, dot, attribute = entry.cls.rpartition(".")
        where = entry.at("class")
        if not dot:
            return UsageError(
                f"{entry.cls!r} is not a dotted class path",
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
            return UsageError(
                f"unknown class {entry.cls!r}: this revision of TELEVAL lacks it",
                where=where,
                fix="run without --upstream: assay has the class",
            )
        names_there = [
            *(vars(ours) if ours else ()),
            *(names_in(theirs) if theirs else ()),
        ]
        if attribute in names_there or "*" in names_there:
            return None
        if theirs is not None and parsed(theirs) is None:
            return _invalid(theirs)
        return _lacking(
            entry.cls,
            module,
            attribute,
            [n for n in names_there if not n.startswith("_")],
            where,
        )

    def _ours(self, module: str) -> Any:
        return replacement(stands_for(module, NAMES))

    def _user_file(self, module: str) -> Path | None:
        base = self._folder(module)
        return next(
            (f for f in (base.with_suffix(".py"), base / "__init__.py") if f.is_file()),
            None,
        )

    def _folder(self, module: str) -> Path:
        return self.root.joinpath(*module.split("."))

    def _defining_file(self, path: str) -> Path | None:
        """Return the file of a class that is named by its package only, as in TELEVAL's document: `src.models.MyModel`.

        The package's own `__init__.py` comes first, then the module of that name, then the only module that defines
        it.
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
        if len(defining) == 1:
            return defining[0]
        return None

    def _classes_below(self, module: str) -> list[str]:
        return [
            name
            for file in sorted(self._folder(module).glob("*.py"))
            for name in _classes_in(file)
        ]

    def _modules_near(self, module: str) -> list[str]:
        """Return the user's modules and the built-in ones."""
        source = self.root / "src"
        if source.is_dir():
            files = [
                f.relative_to(self.root).with_suffix("") for f in source.rglob("*.py")
            ]
        else:
            files = []
        return [*(".".join(p.parts).removesuffix(".__init__") for p in files), *NAMES]


def names_in(file: Path) -> frozenset[str]:
    """Return the names that a Python file defines or imports at its top level, without running it.

    Return `*` if they are unknown.
    """
    names: set[str] = set()
    for node in _top(file):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                bound_name = alias.asname or alias.name
                names.add(bound_name.partition(".")[0])
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            if isinstance(node, ast.Assign):
                targets = node.targets
            else:
                targets = [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    names.add(target.id)
        elif isinstance(node, (ast.If, ast.Try, ast.With, ast.For)):
            names.add("*")
    return frozenset(names)


def _classes_in(file: Path) -> list[str]:
    return [node.name for node in _top(file) if isinstance(node, ast.ClassDef)]


def _only_class(file: Path) -> str | None:
    classes = _classes_in(file)
    if len(classes) == 1:
        return classes[0]
    return None


def _top(file: Path) -> list[ast.stmt]:
    tree = parsed(file)
    return tree.body if tree else []


def _invalid(file: Path) -> UsageError:
    """Return the error of a file that is not valid Python, with its line."""
    try:
        ast.parse(file.read_bytes(), str(file))
    except (SyntaxError, ValueError) as error:
        line = failing_line(error, file)
        return UsageError(describe_failure(error), where=f"{file}{line}")
    return UsageError("cannot be read", where=str(file))


def _lacking(
    path: str,
    module: str,
    attribute: str,
    candidates: Iterable[str],
    where: str,
) -> UsageError:
    names = sorted(set(candidates) - {"*"})
    close = nearest(attribute, names)
    if names:
        listing = f"{module} has {', '.join(names[:8])}"
    else:
        listing = f"{module} has no class"
    if close:
        fix = f"did you mean {close!r}? {listing}"
    else:
        fix = listing
    return UsageError(
        f"unknown class {path!r}",
        where=where,
        fix=fix,
    )


def _no_module(
    path: str,
    module: str,
    modules: Iterable[str],
    where: str,
) -> UsageError:
    close = nearest(module, modules)
    file = module.replace(".", "/") + ".py"
    if close:
        fix = f"did you mean {close!r}?"
    else:
        fix = f"write {file} beside the registry"
    return UsageError(
        f"unknown class {path!r}: there is no module {module!r}",
        where=where,
        fix=fix,
    )

"""Find the class for the dotted path in an entry: a built-in class, or a user's class next to the registry.

Before a run starts, the paths of the whole tree are checked without running user code.
"""

import ast
import inspect
from collections.abc import Collection
from pathlib import Path
from types import ModuleType
from typing import Any

from ...code.sources import parsed
from ...code.userfiles import describe_failure, failing_line
from ...core import AssayError, UsageError, nearest
from ...core.errors import UnknownOption, users_line
from ...registry import check_options
from ..guest import Guest
from ..overlay import replacement, stands_for
from ..protocol import is_upstream
from ..source_names import module_exists, names_in
from .claims import NAMES
from .eras import LACKED_BY, era_of, supplied
from .televal_secrets import expand
from .tree import Entry


class Classes:
    """Finds the classes that a registry refers to, among the user's files, assay's own and installed packages."""

    def __init__(self, root: Path) -> None:
        self.guest = Guest("televal", NAMES, root)
        self.root = self.guest.root

    def find(self, entry: Entry) -> Any:
        """Return the class of an entry. If it is unknown, raise with the line of the YAML file and similar names."""
        module, _, attribute = entry.cls.rpartition(".")
        fault = self.fault(entry)
        if fault is not None:
            raise fault
        file = self._defining_file(entry.cls)
        try:
            if file is None:
                return getattr(self.guest.module(module), attribute)
            name = attribute
            if attribute not in top_names(file):
                name = _only_class(file) or attribute
            return getattr(self.guest.load(file), name)
        except AssayError:
            raise
        except Exception as error:
            where = entry.at("class")
            user_file = self._user_file(module)
            if user_file:
                where = f"{user_file}{failing_line(error, user_file)}"
            message = f"{entry.cls}: {describe_failure(error)}"
            raise UsageError(message, where=where) from error

    def build(self, entry: Entry) -> Any:
        """Build the object of a registry entry from its class and arguments."""
        thing = self.find(entry)
        # A function of the user may build the object; no other callable is accepted.
        is_users_function = callable(thing) and self.file_of(entry) is not None
        if not inspect.isclass(thing) and not is_users_function:
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
        """Return the user's file that defines an entry's class. None if the class is not in a file of the user."""
        module = entry.cls.rpartition(".")[0]
        return self._defining_file(entry.cls) or self._user_file(module)

    @staticmethod
    def check_args(
        entry: Entry,
        thing: object,
    ) -> None:
        """Raise for an unknown or missing argument, with the line at fault."""
        if not inspect.isclass(thing):
            return
        subject = f"{entry.kind} {entry.name!r}"
        try:
            check_options(thing, entry.args, subject, entry.at("args"))
        except UnknownOption as error:
            error.where = entry.at(error.option)
            raise
        except (TypeError, ValueError):
            return  # a class of a C extension, whose arguments are not known

    def fault(self, entry: Entry) -> UsageError | None:
        """Return an error if the class path of an entry is wrong, otherwise None. No user code is run."""
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
        ours, user_file = self._ours(module), self._user_file(module)
        if ours is None and user_file is None:
            folder = self._folder(module)
            if folder.is_dir():
                files = sorted(folder.glob("*.py"))
                names = {name for file in files for name in _classes_in(file)}
                return _unknown_class(entry, names)
            if module_exists(module) and not module.startswith("src"):
                return None
            return self._no_module(entry)
        if is_upstream("televal") and era_of(self.root) in LACKED_BY.get(entry.cls, ()):
            return UsageError(
                f"unknown class {entry.cls!r}: this revision of TELEVAL lacks it",
                where=where,
                fix="run without --upstream: assay has the class",
            )
        names = set(vars(ours)) if ours else set()
        if user_file is not None:
            names |= top_names(user_file)
        if attribute in names or "*" in names:
            return None
        if user_file is not None and parsed(user_file) is None:
            return _invalid(user_file)
        return _unknown_class(
            entry, {name for name in names if not name.startswith("_")}
        )

    def _ours(self, module: str) -> ModuleType | None:
        return replacement(stands_for(module, NAMES))

    def _user_file(self, module: str) -> Path | None:
        base = self._folder(module)
        files = (base.with_suffix(".py"), base / "__init__.py")
        return next(
            (file for file in files if file.is_file()),
            None,
        )

    def _folder(self, module: str) -> Path:
        return self.root.joinpath(*module.split("."))

    def _defining_file(self, path: str) -> Path | None:
        """Return the file of a class that is given by its package: `src.models.MyModel`, as in TELEVAL's document.

        The package's own `__init__.py` takes precedence. Otherwise the file is the
        module with the name of the class, or else the only module that defines the
        class.
        """
        package, _, attribute = path.rpartition(".")
        folder = self._folder(package)
        if not folder.is_dir() or self._ours(package) is not None:
            return None
        package_file = folder / "__init__.py"
        if package_file.is_file() and attribute in top_names(package_file):
            return None
        module = folder / f"{attribute}.py"
        if module.is_file() and (attribute in top_names(module) or _only_class(module)):
            return module
        files = sorted(folder.glob("*.py"))
        defining = [file for file in files if attribute in _classes_in(file)]
        return defining[0] if len(defining) == 1 else None

    def _no_module(self, entry: Entry) -> UsageError:
        """Build the error for a module that does not exist.

        It suggests a similar name, from the user's files or assay.
        """
        module = entry.cls.rpartition(".")[0]
        modules = list(NAMES)
        for file in (self.root / "src").rglob("*.py"):
            parts = file.relative_to(self.root).with_suffix("").parts
            modules.append(".".join(parts).removesuffix(".__init__"))
        close = nearest(module, modules)
        fix = f"did you mean {close!r}?"
        if not close:
            fix = f"write {module.replace('.', '/')}.py beside the registry"
        return UsageError(
            f"unknown class {entry.cls!r}: there is no module {module!r}",
            where=entry.at("class"),
            fix=fix,
        )


def top_names(file: Path) -> frozenset[str]:
    """Return the names that a Python file defines or imports, without running it.

    `*` is included if there may be others: after a star import or a loop.
    """
    names = names_in(file)
    imported = {here for node in names.imports for _, here in node.names}
    tree = parsed(file)
    if tree and any(isinstance(node, ast.For) for node in tree.body):
        imported.add("*")
    return names.defined | imported


def _classes_in(file: Path) -> list[str]:
    tree = parsed(file)
    nodes = tree.body if tree else ()
    return [node.name for node in nodes if isinstance(node, ast.ClassDef)]


def _only_class(file: Path) -> str | None:
    classes = _classes_in(file)
    return classes[0] if len(classes) == 1 else None


def _invalid(file: Path) -> UsageError:
    """Return the error of a file that is not valid Python, with its line."""
    try:
        ast.parse(file.read_bytes(), str(file))
    except (SyntaxError, ValueError) as error:
        line = failing_line(error, file)
        return UsageError(describe_failure(error), where=f"{file}{line}")
    return UsageError("cannot be read", where=str(file))


def _unknown_class(
    entry: Entry,
    candidates: Collection[str],
) -> UsageError:
    """Build the error for a class that its module does not define, with the module's classes and a similar name."""
    module, _, attribute = entry.cls.rpartition(".")
    names = sorted(candidates)
    listed = ", ".join(names[:8]) or "no class"
    fix = f"{module} has {listed}"
    close = nearest(attribute, names)
    if close:
        fix = f"did you mean {close!r}? {fix}"
    return UsageError(f"unknown class {entry.cls!r}", where=entry.at("class"), fix=fix)

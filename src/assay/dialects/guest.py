"""Load files written for another toolkit. Only these files can import the toolkit's modules.

Each such file, and each module it imports, gets builtins with an `__import__` that
resolves the toolkit's module names. In `sys.modules`, these modules have a prefix.

If assay has a replacement for a module, the replacement is imported. Otherwise the module
comes from the source tree around the file, from its folder, or from the installed package.
A user's module that merely has the same name as a module of assay is imported unchanged.
"""

import builtins
import hashlib
import importlib
import importlib.util
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from types import ModuleType

from ..code.data_files import watching
from ..code.sources import leave_inits_out
from ..code.userfiles import describe_failure, failing_place, loading_fix
from ..core import AssayError, UsageError, trust
from .outside import Outside, installed_mount
from .overlay import (
    STANDS_IN,
    Libraries,
    Overlay,
    replacement,
    stands_for,
    with_names,
)
from .placing import Mount, absolute_name, is_upstreams, mounts_of
from .scripts import run_code
from .shapes import Fields, Record
from .source_names import names_in, words_in

_forced: ContextVar[str | None] = ContextVar("forced", default=None)


@contextmanager
def forced(dialect: str | None) -> Iterator[None]:
    """Let the toolkit's modules hide the user's packages of the same names inside the block. `None` hides nothing."""
    token = _forced.set(dialect)
    try:
        yield
    finally:
        _forced.reset(token)


class Guest:
    """Loads the files in a user's folder that are written for a toolkit, and resolves their imports."""

    def __init__(
        self,
        dialect: str,
        names: Mapping[str, str],
        root: Path,
        *,
        force: bool = False,
        mounts: Sequence[Mount] = (),
    ) -> None:
        self.dialect = dialect
        self.root = root.resolve()
        self._mounts = [*mounts] or [Mount("", self.root)]
        force = force or _forced.get() == dialect
        users = {name for name in names if self._is_users(name, names)}
        if force:
            self._users, self._hidden = (set(), users)
        else:
            self._users, self._hidden = (users, set())
        """Names of the user's modules that are used instead of assay's. With `force`, assay's modules are used."""
        self._names = {
            name: real
            for name, real in names.items()
            if name.partition(".")[0] not in self._users and name not in self._users
        }
        """The toolkit's names, and the modules of assay that replace them."""
        self._tops = {name.partition(".")[0] for name in self._names}
        self._mounts += [
            mount
            for top in sorted(self._tops - users)
            if (mount := installed_mount(top)) is not None
        ]
        self._outside = Outside(self._tops)
        mounted = "\n".join(f"{mount.package} {mount.folder}" for mount in self._mounts)
        self.prefix = f"assay_guest_{_plain(dialect)}_{hashlib.sha256(mounted.encode()).hexdigest()[:8]}"
        """The prefix that the names of these modules have in `sys.modules`."""
        self._by_name: dict[str, ModuleType] = {}
        self._by_file: dict[Path, ModuleType] = {}
        self._is_served: dict[str, bool] = {}
        self._lock = threading.RLock()
        self._builtins = {**vars(builtins), "__import__": self._import}
        self._importlib = with_names(importlib, {"import_module": self.import_module})
        self._libraries = Libraries(dialect)

    @classmethod
    def of_file(
        cls,
        dialect: str,
        names: Mapping[str, str],
        file: Path,
        *,
        force: bool = False,
    ) -> "Guest":
        """Return the loader for a file, which searches imports in the toolkit's tree around the file.

        Outside of a tree, the file belongs to the package that its imports suggest.
        """
        mounts = mounts_of(file, names)
        folder = mounts[-1].folder
        tops = {name.partition(".")[0] for name in names}
        for top in tops:
            leave_inits_out(folder / top)
        return cls(
            dialect,
            names,
            folder,
            force=force,
            mounts=mounts,
        )

    def load(self, path: str | Path) -> ModuleType:
        """Run a file that is written for the toolkit, and return its module.

        By naming the file, the user agreed to run it.
        """
        file = Path(path).expanduser().resolve()
        if file not in self._by_file and not file.is_file():
            raise UsageError("no such file", where=str(path))
        try:
            return self._execute(file)
        except AssayError:
            raise
        except Exception as error:
            raise UsageError(
                describe_failure(error),
                where=failing_place(error, path, file),
                fix=loading_fix(error),
            ) from error

    def module(
        self,
        name: str,
        wanted: Sequence[str] = ("*",),
    ) -> ModuleType:
        """Return the module that an `import` statement in a toolkit's file gets for a dotted name.

        Raise `ImportError` as the statement would.
        """
        return self._import(name, fromlist=wanted)

    def provides(self, name: str) -> bool:
        """Return True for a dotted name of the toolkit, and for a library in which assay replaces some names."""
        return name.partition(".")[0] in self._tops or name in self._libraries

    def is_library(self, name: str) -> bool:
        """Return True for a library, such as `datasets`, in which assay replaces some functions.

        Only the toolkit's own files see the replacements.
        """
        return name in self._libraries

    def import_module(
        self,
        name: str,
        package: str | None = None,
    ) -> ModuleType:
        """Import a module by a name computed at run time, as `importlib.import_module` does in a toolkit's file."""
        if name.startswith("."):
            dots = len(name) - len(name.lstrip("."))
            outer = self._bare(package or "")
            if outer:
                full_name = absolute_name(outer, name.lstrip("."), dots)
            else:
                full_name = None
            if full_name is None:
                return importlib.import_module(name, package)
            name = full_name
        name = self._bare(name)
        if self._serves(name):
            return self._import(name, fromlist=("*",))
        return importlib.import_module(name, package)

    def run_script(self, path: str | Path) -> Record:
        """Run a script as `__main__` with the toolkit's names importable, and return the names that it defined."""
        file = Path(path).expanduser().resolve()
        code = compile(file.read_bytes(), str(file), "exec")
        scope: Record = {
            "__name__": "__main__",
            "__file__": str(file),
            "__builtins__": self._builtins,
        }
        run_code(code, scope)
        return scope

    def _execute(
        self,
        file: Path,
        name: str | None = None,
    ) -> ModuleType:
        """Run a file once, under the module name derived from its location. Exceptions are not caught."""
        trust.check(file)
        with self._lock:
            if file in self._by_file:
                return self._by_file[file]
            full_name = f"{self.prefix}.{name or self._name_of(file)}"
            if file.name == "__init__.py":
                is_package = [str(file.parent)]
            else:
                is_package = None
            spec = importlib.util.spec_from_file_location(
                full_name,
                file,
                submodule_search_locations=is_package,
            )
            if spec is None or spec.loader is None:
                raise UsageError("not a Python file", where=str(file))
            module = importlib.util.module_from_spec(spec)
            module.__dict__["__builtins__"] = self._builtins
            self._by_file[file] = module
            # Pickles, dataclasses and `inspect` look up modules and their parents by name.
            sys.modules.setdefault(self.prefix, ModuleType(self.prefix))
            sys.modules[full_name] = module
            try:
                with trust.running(), watching():
                    spec.loader.exec_module(module)
            except BaseException:
                del self._by_file[file]
                sys.modules.pop(full_name, None)
                raise
            return module

    def _name_of(self, file: Path) -> str:
        """Return the module name of a file: its dotted path in the toolkit's tree; outside of it, a unique name."""
        dotted_name = next(
            (name for mount in self._mounts if (name := mount.name_of(file))), None
        )
        if dotted_name is not None:
            return dotted_name.replace("-", "_")
        digest = hashlib.sha256(str(file).encode()).hexdigest()[:8]
        # The last part is the name of the file or its folder, because toolkits use it as a registry key.
        return f"outside_{digest}.{_plain(file.parent.name if file.name == '__init__.py' else file.stem)}"

    def _is_users(
        self,
        name: str,
        names: Mapping[str, str],
    ) -> bool:
        """Return True if a top-level name is a user's module that is unrelated to assay's module of the same name."""
        if "." in name:
            return False
        own_file = next(
            (file for mount in self._mounts if (file := mount.file_of(name))), None
        )
        if own_file is None:
            installed = installed_mount(name)
            if installed is not None:
                own_file = installed.file_of(name)
            else:
                own_file = None
        return own_file is not None and not is_upstreams(own_file, name, names)

    def _import(
        self,
        name: str,
        globals: Fields | None = None,
        locals: Fields | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """Import a module for an import statement in a toolkit's file. Takes the parameters of `__import__`."""
        names = fromlist or ()
        absolute = self._absolute(name, globals, level)
        if absolute is None:
            return builtins.__import__(name, globals, locals, names, level)
        if self._serves(absolute):
            return self._import_served(absolute, names, globals)
        if absolute == "importlib" or (absolute.startswith("importlib.") and not names):
            importlib.import_module(absolute)
            return self._importlib
        if absolute in self._libraries:
            return self._libraries.of(absolute)
        try:
            return builtins.__import__(absolute, globals, locals, names, 0)
        except ModuleNotFoundError as error:
            if not self._outside.recorded_after_failure(absolute, error):
                raise
            self._is_served.clear()
        return self._import_served(absolute, names, globals)

    def _absolute(
        self,
        name: str,
        scope: Fields | None,
        level: int,
    ) -> str | None:
        """Return the dotted name of an import; `None` for a relative import from outside the toolkit's modules."""
        if not level:
            return self._bare(name)
        package = str((scope or {}).get("__package__") or "")
        inner = self._bare(package)
        if inner != package:
            return absolute_name(inner, name, level)
        return None

    def _bare(self, name: str) -> str:
        """Remove the prefix that a module's dotted name has in `sys.modules`."""
        return name.removeprefix(f"{self.prefix}.")

    def _serves(self, name: str) -> bool:
        """Return True if this loader imports the module of a dotted name; Python imports all others.

        The name may belong to the toolkit, to a file in the same folder, or to a module that imports the toolkit.
        """
        is_served = self._is_served.get(name)
        if is_served is None:
            top = name.partition(".")[0]
            is_beside = (
                top not in sys.stdlib_module_names
                and (self._file_of(top) or self._folder_of(top)) is not None
            )
            is_served = top in self._tops or is_beside or self._outside.is_guest(name)
            self._is_served[name] = is_served
        return is_served

    def _import_served(
        self,
        name: str,
        wanted: Sequence[str],
        scope: Fields | None,
    ) -> ModuleType:
        try:
            module = self._module(name)
        except _Unknown as error:
            raise self._missing(
                f"module {error.name!r}",
                error.name or name,
                scope,
            ) from None
        if "*" in wanted and isinstance(module, Overlay):
            module.__dict__["__all__"] = [
                *module.own_names(),
                *self._starred(name, module, scope),
            ]
        for attribute in wanted:
            if attribute == "*" or hasattr(module, attribute):
                continue
            try:
                setattr(module, attribute, self._module(f"{name}.{attribute}"))
            except _Unknown:
                fault = self._missing(f"{attribute!r} in {name!r}", name, scope)
                raise ImportError(str(fault), name=name) from None
        if wanted:
            return module
        return self._module(name.partition(".")[0])

    def _missing(
        self,
        what: str,
        name: str,
        scope: Fields | None,
    ) -> ModuleNotFoundError:
        """Build the error for a missing module or name. It names the importing file and the searched folders."""
        top = name.partition(".")[0]
        folders = []
        for m in self._mounts:
            folders.append(
                m.folder if m.package and m.package != top else m.folder / top
            )
        places = list(
            dict.fromkeys(str(folder) for folder in folders if folder.exists())
        )
        if places:
            rest = f"neither has {' nor '.join(places)}"
        else:
            rest = f"no {top!r} is installed or near the file"
        asker = (scope or {}).get("__file__")
        if asker:
            who = f" (imported by {Path(str(asker)).name})"
        else:
            who = ""
        if top in self._users:
            return ModuleNotFoundError(
                f"{' nor '.join(places)} is yours and has no {what}{who}", name=name
            )
        return ModuleNotFoundError(
            f"the {self.dialect} dialect has no {what}, and {rest}{who}", name=name
        )

    def _module(self, name: str) -> ModuleType:
        """Return the module for a dotted name. It is built once, and set as an attribute of its parent."""
        if name in self._by_name:
            return self._by_name[name]
        with self._lock:
            outer, _, last = name.rpartition(".")
            if outer:
                parent = self._module(outer)
            else:
                parent = None
            module = self._by_name.get(name) or self._make(name)
            self._by_name[name] = module
            if isinstance(parent, Overlay) or (
                parent is not None and parent.__name__.startswith(self.prefix)
            ):
                setattr(parent, last, module)
            return module

    def _make(self, name: str) -> ModuleType:
        ours = replacement(stands_for(name, self._names), self)
        file = self._file_of(name)
        is_parent = any(other.startswith(f"{name}.") for other in self._names)
        is_alone = not is_parent and not self._has_something_below(name)
        if ours is not None and file is None and is_alone:
            return ours
        # A package of the tree is not run just as a parent: its names are found in its modules.
        is_package_of_tree = (
            file is not None
            and file.name == "__init__.py"
            and name.partition(".")[0] in self._tops
        )
        is_theirs = ours is None or getattr(ours, STANDS_IN, False)
        if file is not None and is_theirs and not is_package_of_tree:
            return self._execute(file, name)
        if (
            ours is None
            and file is None
            and not is_parent
            and self._folder_of(name) is None
        ):
            raise _Unknown(name)
        return Overlay(name, ours, partial(self._find_theirs, name, file))

    def _has_something_below(self, name: str) -> bool:
        inside = any(
            mount.package == name or mount.package.startswith(f"{name}.")
            for mount in self._mounts
        )
        return inside or self._folder_of(name) is not None

    def has_own(self, name: str) -> bool:
        """Return True if the user's folder or a checkout has a file for a dotted name that assay replaces."""
        return self._file_of(name) is not None

    def own_module(self, name: str) -> ModuleType:
        """Return the module for a dotted name from the user's folder or from a checkout."""
        file = self._file_of(name)
        if file is None:
            raise ModuleNotFoundError(f"{self.root} has no module {name!r}", name=name)
        return self._execute(file, name)

    def _file_of(self, name: str) -> Path | None:
        """Return the file that defines a module, or `None` if assay replaces the module.

        The file is in the user's folder or in the toolkit's tree. A file elsewhere is
        returned only if it imports the toolkit.
        """
        if name.partition(".")[0] in self._hidden:
            return None
        own_file = next(
            (file for mount in self._mounts if (file := mount.file_of(name))), None
        )
        return own_file or self._outside.file_of(name)

    def _folder_of(self, name: str) -> Path | None:
        if name.partition(".")[0] in self._hidden:
            return None
        folders = [mount.place_of(name) for mount in self._mounts]
        return next(
            (folder for folder in folders if folder is not None and folder.is_dir()),
            None,
        )

    def _find_theirs(
        self,
        name: str,
        file: Path | None,
        attribute: str,
    ) -> object:
        """Return the attribute that the user's or the toolkit's own file defines, not assay's replacement.

        A package's `__init__.py` is not run for attributes imported from other modules.
        """
        if file is not None:
            names = names_in(file)
            if file.name == "__init__.py":
                origin = names.origin(attribute)
            else:
                origin = None
            if origin is not None and origin[0].level:
                return self._taken_from(
                    name,
                    origin[0].module,
                    origin[0].level,
                    origin[1],
                )
            if file.name == "__init__.py" and attribute not in names.defined:
                for node in names.imports:
                    if node.is_star and node.level:
                        target = absolute_name(name, node.module, node.level)
                    else:
                        target = None
                    if target is not None and self._offers(target, attribute):
                        return getattr(self._module(target), attribute)
            elif (
                attribute in names.defined
                or names.origin(attribute)
                or any(node.is_star for node in names.imports)
            ):
                return getattr(self._execute(file, name), attribute)
        try:
            return self._module(f"{name}.{attribute}")
        except _Unknown:
            raise AttributeError(
                f"module {name!r} has no attribute {attribute!r}"
            ) from None

    def _taken_from(
        self,
        package: str,
        module: str,
        level: int,
        there: str,
    ) -> object:
        target = absolute_name(package, module, level)
        if (
            target == package
        ):  # `from . import part` means a module of the package itself.
            return self._module(f"{package}.{there}")
        source = self._module(target or package)
        if hasattr(source, there):
            return getattr(source, there)
        return self._module(f"{target}.{there}")

    def _offers(
        self,
        name: str,
        attribute: str,
        depth: int = 0,
    ) -> bool:
        """Return True if a module's source defines or imports an attribute.

        The module is not run. Star imports are followed.
        """
        file = self._file_of(name)
        if file is None or depth > 3:
            return False
        names = names_in(file)
        if attribute in names.exported or names.origin(attribute) is not None:
            return True
        if file.name == "__init__.py":
            package = name
        else:
            package = name.rpartition(".")[0]
        stars = []
        for node in names.imports:
            if node.is_star:
                stars.append(absolute_name(package, node.module, node.level))
        return any(
            self._offers(star, attribute, depth + 1)
            for star in stars
            if star is not None
        )

    def _starred(
        self,
        name: str,
        module: Overlay,
        scope: Fields | None,
    ) -> list[str]:
        """Return the names that `from module import *` adds, limited to those that occur in the importing file.

        The limit avoids running more of the toolkit's files than necessary.
        """
        asker = (scope or {}).get("__file__")
        if asker:
            used = words_in(Path(str(asker)))
        else:
            used = frozenset()
        names = set(module.own_names())
        return sorted(
            word
            for word in used - names
            if not word.startswith("_") and self._offers(name, word)
        )


class _Unknown(ImportError):
    """Raised if no file defines a module. The caller replaces it with a more detailed error."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no module {name!r}", name=name)


def _plain(name: str) -> str:
    return name.replace(".", "_").replace("-", "_").replace("+", "_")

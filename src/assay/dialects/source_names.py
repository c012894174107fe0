"""The names that a Python file defines and imports, read from its source. Nothing is run."""

import ast
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ..code.sources import names_imported, parsed


@dataclass(frozen=True, slots=True)
class ImportFrom:
    """One statement `from MODULE import NAMES`."""

    level: int
    """Number of leading dots."""
    module: str
    names: tuple[tuple[str, str], ...]
    """Pairs of an imported name and the name it gets in this file (`import a as b`); `*` for all of them."""

    @property
    def is_star(self) -> bool:
        """True if the statement imports all names of the module."""
        return self.names == (("*", "*"),)


@dataclass(frozen=True, slots=True)
class SourceNames:
    """The names that a Python file defines, imports and exports, found without running it."""

    defined: frozenset[str]
    """Functions, classes and variables that the file defines, and modules it imports by `import x`."""
    imports: tuple[ImportFrom, ...]
    declared: frozenset[str] | None
    """The names in the file's `__all__`. `None` if the file has no `__all__`, or computes it."""

    @property
    def exported(self) -> frozenset[str]:
        """The names in the file's `__all__`. Without one, all its public names except those from star imports."""
        if self.declared is not None:
            return self.declared
        imported = set()
        for node in self.imports:
            if not node.is_star:
                for _, here in node.names:
                    imported.add(here)
        return frozenset(
            name for name in self.defined | imported if not name.startswith("_")
        )

    def origin(self, name: str) -> tuple[ImportFrom, str] | None:
        """Return the import statement that provides `name`, and the original name before `as`. None if none does."""
        for node in reversed(self.imports):
            for there, here in node.names:
                if here == name and there != "*":
                    return node, there
        return None


NOTHING = SourceNames(frozenset(), (), None)


def names_in(file: Path) -> SourceNames:
    """Return the names that a file defines, imports and exports; empty if it cannot be read or is not Python."""
    try:
        state = file.stat()
    except OSError:
        return NOTHING
    return _names_in(file, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=2048)
def _names_in(
    file: Path,
    changed: int,
    size: int,
) -> SourceNames:
    tree = parsed(file)
    if tree is None:
        return NOTHING
    defined: set[str] = set()
    imports: list[ImportFrom] = []
    declared: frozenset[str] | None = None
    for node in _statements(tree.body):
        if isinstance(node, ast.ImportFrom):
            names = tuple(
                (alias.name, alias.asname or alias.name) for alias in node.names
            )
            imports.append(ImportFrom(node.level, node.module or "", names))
        elif isinstance(node, ast.Import):
            defined |= {
                alias.asname or alias.name.partition(".")[0] for alias in node.names
            }
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            defined.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            assigned = _assigned_names(node)
            defined |= assigned
            if "__all__" in assigned and isinstance(node.value, (ast.List, ast.Tuple)):
                declared = _texts(node.value.elts)
    return SourceNames(frozenset(defined), tuple(imports), declared)


def _assigned_names(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> set[str]:
    """Return the names to which a statement assigns a value."""
    if isinstance(node, ast.Assign):
        targets = node.targets
    else:
        targets = [node.target]
    names = set()
    for target in targets:
        for name in ast.walk(target):
            if isinstance(name, ast.Name):
                names.add(name.id)
    return names


def _texts(elements: Sequence[ast.expr]) -> frozenset[str] | None:
    """Return the strings in a list literal such as `__all__`; None if an element is not a string literal."""
    texts = []
    for element in elements:
        if not isinstance(element, ast.Constant) or not isinstance(element.value, str):
            return None
        texts.append(element.value)
    return frozenset(texts)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module, also those under `if`, `try` and `with`, in order."""
    for node in body:
        yield node
        if isinstance(node, (ast.If, ast.Try, ast.With)):
            for inner in (
                node.body,
                getattr(node, "orelse", []),
                getattr(node, "finalbody", []),
            ):
                yield from _statements(inner)
            for handler in getattr(node, "handlers", []):
                yield from _statements(handler.body)


def words_in(file: Path) -> frozenset[str]:
    """Return every identifier that occurs in a file's code."""
    tree = parsed(file)
    if tree:
        return frozenset(
            node.id for node in ast.walk(tree) if isinstance(node, ast.Name)
        )
    return frozenset()


def missing_packages(
    file: Path,
    is_local: Callable[[str], bool],
) -> list[str]:
    """Return the packages that a file imports at its top level, excluding local and installed ones."""
    missing: dict[str, None] = {}
    tree = parsed(file)
    for node in tree.body if tree is not None else ():
        for name in names_imported(node):
            top = name.partition(".")[0]
            if top and not is_local(top) and not module_exists(top):
                missing[top] = None
    return list(missing)


def module_exists(name: str) -> bool:
    """Return True if a module can be imported. Its parent packages are run, but not the module."""
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False

"""Names in a Python file, read off its text: what it defines, what it imports and from where. Nothing is run."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ..code.sources import parsed


@dataclass(frozen=True, slots=True)
class ImportFrom:
    """One `from MODULE import NAMES`."""

    level: int
    """Leading dots."""
    module: str
    names: tuple[tuple[str, str], ...]
    """Each name in its module, and what it is called here; `*` for all of them."""

    @property
    def is_star(self) -> bool:
        """Whether it takes all names of the module."""
        return self.names == (("*", "*"),)


@dataclass(frozen=True, slots=True)
class SourceNames:
    """What can be said of a file's names without running it."""

    defined: frozenset[str]
    """Functions, classes and variables that the file makes itself, and modules it imports by `import x`."""
    imports: tuple[ImportFrom, ...]
    declared: frozenset[str] | None
    """The names of a literal `__all__`; `None` without one."""

    @property
    def exported(self) -> frozenset[str]:
        """What the file offers to others: its `__all__`, else every public name but those of star imports."""
        if self.declared is not None:
            return self.declared
        imported = {
            here for node in self.imports if not node.is_star for _, here in node.names
        }
        return frozenset(
            name for name in self.defined | imported if not name.startswith("_")
        )

    def origin(self, name: str) -> tuple[ImportFrom, str] | None:
        """The import that brings a name in, and what the name is called there."""
        for node in reversed(self.imports):
            for there, here in node.names:
                if here == name and there != "*":
                    return node, there
        return None


NOTHING = SourceNames(frozenset(), (), None)


def names_in(file: Path) -> SourceNames:
    """The names of a file; of one that cannot be read or is not Python, none."""
    try:
        state = file.stat()
    except OSError:
        return NOTHING
    return _names_in(file, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=2048)
def _names_in(file: Path, changed: int, size: int) -> SourceNames:
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
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found = {
                name.id
                for target in targets
                for name in ast.walk(target)
                if isinstance(name, ast.Name)
            }
            defined |= found
            if "__all__" in found and isinstance(node.value, (ast.List, ast.Tuple)):
                texts = [
                    e.value
                    for e in node.value.elts
                    if isinstance(e, ast.Constant) and isinstance(e.value, str)
                ]
                declared = (
                    frozenset(texts) if len(texts) == len(node.value.elts) else None
                )
    return SourceNames(frozenset(defined), tuple(imports), declared)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, also those under `if`, `try` and `with`, in the order in which they stand."""
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
    """The names that a file uses anywhere."""
    tree = parsed(file)
    return (
        frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
        if tree
        else frozenset()
    )

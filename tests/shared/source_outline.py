"""The outline of a source file: its imports, classes and functions. Each file is parsed once in a process.

Tests that walk the whole source carry `xdist_group("sources")`, so that one worker parses it for all of them.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import assay

SOURCE = Path(assay.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
INNER = ("body", "orelse", "finalbody", "handlers", "cases")
"""The fields of a statement that hold further statements."""


@dataclass(frozen=True)
class Outline:
    """What tests ask of a file; no bodies, so that a thousand files fit into memory."""

    lines: tuple[str, ...]
    docstring: str
    top_names: frozenset[str]
    """The names the file defines itself, at its top."""
    imports: tuple[ast.Import | ast.ImportFrom, ...]
    """At the top or inside functions."""
    classes: tuple[ast.ClassDef, ...]
    functions: tuple[ast.FunctionDef | ast.AsyncFunctionDef, ...]


@cache
def outline(path: Path) -> Outline:
    """The outline of one file."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    imports, classes, functions = [], [], []
    for node in statements(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            imports.append(node)
        elif isinstance(node, ast.ClassDef):
            classes.append(node)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            functions.append(node)
    docstring, names = ast.get_docstring(tree) or "", _top_names(tree)
    for node in (*classes, *functions):
        node.body = []
    return Outline(
        tuple(text.splitlines()),
        docstring,
        names,
        tuple(imports),
        tuple(classes),
        tuple(functions),
    )


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """All statements, however deep; expressions, nine tenths of a tree, are left out."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        for field in INNER:
            inner = getattr(node, field, None)
            if isinstance(inner, list):
                waiting += inner
                yield from inner


def imported_names(path: Path) -> set[str]:
    """The dotted names a file of assay imports: modules, and what it takes from them."""
    package = ("assay", *path.relative_to(SOURCE).parent.parts)
    found: set[str] = set()
    for node in outline(path).imports:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
            module = module_of(node, package)
            found |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return found


def module_of(node: ast.ImportFrom, package: tuple[str, ...]) -> str:
    """The module that `from … import` names, its dots resolved."""
    base = package[: len(package) - node.level + 1] if node.level else ()
    return ".".join([*base, *(node.module or "").split(".")]).strip(".")


def _top_names(tree: ast.Module) -> frozenset[str]:
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return frozenset(names)

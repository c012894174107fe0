"""Measure how readable the source is, and fail when a figure is worse than the limit in pyproject.toml.

    python tools/readability.py             # all figures beside their limits; exit 1 if one is exceeded
    python tools/readability.py --top 10    # also the densest functions and the docstrings to rewrite
    python tools/readability.py src/assay/scorers --top 10

Density is the number of AST nodes per line of code. inspect_ai has a median of 4.7, httpx 5.4.
"""

import argparse
import ast
import re
import statistics
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeGuard

ROOT = Path(__file__).resolve().parent.parent
DENSE_FUNCTION = 12
"""Nodes per line above which a function counts as dense."""
SHORT_FUNCTION = 8
"""Functions with fewer lines have no meaningful density."""
SHORT_MODULE = 40
"""Modules with fewer lines of code have no meaningful density."""
TINY_MODULE = 30

VAGUE_NAMES = {
    "found",
    "place",
    "at",
    "one",
    "what",
    "wanted",
    "made",
    "given",
    "kept",
    "told",
    "held",
    "said",
    "own",
    "known",
    "shown",
    "meant",
    "asked",
    "taken",
}
"""Variable names that do not say what the value is."""

UNUSUAL_WORDS = re.compile(
    r"""\b(
      whoever | nobody | somebody | whom | thereof | whatever\ it
    | lies | lie\ beside | stands?(?!\ for\b)
    | is\ said | are\ said | is\ told | is\ asked\ for | told\ apart | speaks?\ of
    | as\ .{1,30}\ has\ it | of\ ours | for\ want\ of | hand-over
    | else\ it | is\ no\ [a-z]+ | in\ its\ place | beside\ it
    | of\ those\ that | that\ which | so\ many | by\ however | here\ alone
    | begins?\ with\ what
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Wording that makes readers stop; STYLE in CONTRIBUTING.md has the usual terms."""


@dataclass
class Figures:
    """What was counted in a tree."""

    modules: int = 0
    ast_nodes: int = 0
    docstrings: int = 0
    tiny_modules: int = 0
    module_densities: list[float] = field(default_factory=list)
    dense_functions: list[tuple[float, str]] = field(default_factory=list)
    unusual_docstrings: list[str] = field(default_factory=list)
    vague_names: list[str] = field(default_factory=list)
    any_annotations: list[str] = field(default_factory=list)
    file_names: Counter[str] = field(default_factory=Counter)

    def summary(self) -> dict[str, float]:
        """Return the figures that have limits, by the names used in pyproject.toml."""
        repeated = [name for name, count in self.file_names.items() if count > 1]
        median = statistics.median(self.module_densities or [0.0])
        return {
            "nodes_per_line": round(median, 2),
            "dense_functions": len(self.dense_functions),
            "unusual_docstrings": len(self.unusual_docstrings),
            "vague_names": len(self.vague_names),
            "any_in_signatures": len(self.any_annotations),
            "modules": self.modules,
            "tiny_modules": self.tiny_modules,
            "repeated_file_names": len(repeated),
            "ast_nodes": self.ast_nodes,
        }


def docstrings_of(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and text of every docstring, including those below attributes."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        for statement in body:
            if not isinstance(statement, ast.Expr):
                continue
            value = statement.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield statement.lineno, value.value


def count_nodes(tree: ast.AST) -> int:
    """Return the number of AST nodes below and including `tree`."""
    return sum(1 for _ in ast.walk(tree))


def is_vague(node: ast.AST) -> TypeGuard[ast.Name]:
    """Return True if the node assigns to a name that says nothing."""
    is_assigned = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    return is_assigned and node.id in VAGUE_NAMES


def is_any(annotation: ast.expr | None) -> bool:
    """Return True for the annotation `Any`, quoted or not."""
    if isinstance(annotation, ast.Constant):
        return annotation.value == "Any"
    return isinstance(annotation, ast.Name) and annotation.id == "Any"


def any_annotations_of(
    function: ast.FunctionDef | ast.AsyncFunctionDef,
) -> Iterator[str]:
    """Yield the parameters of a function that are annotated with `Any`, and `return` if its result is."""
    arguments = function.args
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    for parameter in (*parameters, arguments.vararg, arguments.kwarg):
        if parameter is not None and is_any(parameter.annotation):
            yield parameter.arg
    if is_any(function.returns):
        yield "return"


def measure_module(path: Path, figures: Figures) -> None:
    """Add the figures of one file."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    nodes = count_nodes(tree)
    lines = [line.strip() for line in source.splitlines()]
    code_lines = [line for line in lines if line and not line.startswith("#")]

    figures.modules += 1
    figures.ast_nodes += nodes
    if path.name != "__init__.py":
        figures.file_names[path.name] += 1
        figures.tiny_modules += len(lines) <= TINY_MODULE
    if len(code_lines) >= SHORT_MODULE:
        figures.module_densities.append(nodes / len(code_lines))

    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            measure_function(path, node, figures)
        elif is_vague(node):
            figures.vague_names.append(f"{path}:{node.lineno} {node.id}")
    for line, text in docstrings_of(tree):
        figures.docstrings += 1
        if UNUSUAL_WORDS.search(text):
            first_line = text.strip().splitlines()[0]
            figures.unusual_docstrings.append(f"{path}:{line} {first_line}")


def measure_function(
    path: Path, node: ast.FunctionDef | ast.AsyncFunctionDef, figures: Figures
) -> None:
    """Record the parameters of a function that may be anything, and the function if it is too dense."""
    for name in any_annotations_of(node):
        figures.any_annotations.append(f"{path}:{node.lineno} {node.name}({name})")
    length = (node.end_lineno or node.lineno) - node.lineno + 1
    if length < SHORT_FUNCTION:
        return
    density = count_nodes(node) / length
    if density > DENSE_FUNCTION:
        figures.dense_functions.append((density, f"{path}:{node.lineno} {node.name}"))


def measure(folder: Path) -> Figures:
    """Return the figures of all Python files below `folder`."""
    figures = Figures()
    for path in sorted(folder.rglob("*.py")):
        measure_module(path, figures)
    figures.dense_functions.sort(reverse=True)
    return figures


def limits() -> dict[str, float]:
    """Return the largest value allowed for each figure of the whole source tree."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    settings: dict[str, float] = tomllib.loads(text)["tool"]["readability"]
    return settings


def print_examples(figures: Figures, count: int) -> None:
    """Print the worst functions, docstrings and names."""
    print("\ndensest functions (nodes per line)")
    for density, where in figures.dense_functions[:count]:
        print(f"  {density:5.1f}  {where}")
    print("\ndocstrings to rewrite")
    for text in figures.unusual_docstrings[:count]:
        print(f"  {text}")
    print("\nvague names")
    for text in figures.vague_names[:count]:
        print(f"  {text}")
    print("\nparameters and results that may be anything")
    for text in figures.any_annotations[:count]:
        print(f"  {text}")


def main() -> int:
    """Print the figures and return 1 if one exceeds its limit."""
    parser = argparse.ArgumentParser(description="Measure how readable the source is.")
    parser.add_argument("folder", nargs="?", type=Path, help="default: src/assay")
    parser.add_argument("--top", type=int, default=0, help="examples to list")
    options = parser.parse_args()
    figures = measure(options.folder or ROOT / "src" / "assay")
    allowed = {} if options.folder else limits()

    exceeded = False
    for name, value in figures.summary().items():
        limit = allowed.get(name)
        line = f"{value:>10}  {name}"
        if limit is not None and value > limit:
            line += f"  exceeds its limit of {limit} in pyproject.toml"
            exceeded = True
        print(line)
    if options.top:
        print_examples(figures, options.top)
    return int(exceeded)


if __name__ == "__main__":
    sys.exit(main())

"""Hints in a dataset's source: which values its code compares a column with, and the keys of its tables."""

import ast
import re
from collections import defaultdict
from pathlib import Path

LONGEST = 60
_ROWS = (
    "line",
    "row",
    "item",
    "sample",
    "data_item",
    "record",
    "d",
    "x",
    "ex",
    "example",
)
_KEY = re.compile(r'"(\w{2,40})"\s*:')
_IN_CODE = re.compile(r"""\[['"]([\w -]+)['"]\]|\.get\(['"]([\w -]+)['"]""")


def values_of_columns(files: list[Path]) -> dict[str, list[str]]:
    """By column: texts that the code compares it with, as in `line["type"] == "open"`."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for node in _nodes(files):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        names = [name for side in sides if (name := _column(side))]
        texts = [text for side in sides for text in _texts(side)]
        for name in names:
            found[name].update(
                dict.fromkeys(
                    text for text in texts if text != name and len(text) < LONGEST
                )
            )
    return {name: list(texts) for name, texts in found.items() if texts}


def tables(files: list[Path]) -> list[list[str]]:
    """Return the keys of each dictionary of texts in the code, and the entries of each list, the longest first."""
    found: list[list[str]] = []
    for node in _nodes(files):
        if isinstance(node, ast.Dict):
            found.append(
                [
                    k.value
                    for k in node.keys
                    if isinstance(k, ast.Constant) and isinstance(k.value, str)
                ]
            )
        elif isinstance(node, (ast.List, ast.Tuple)):
            found.append(_texts(node))
    return sorted((keys for keys in found if len(keys) > 1), key=len, reverse=True)


def _nodes(files: list[Path]) -> list[ast.AST]:
    nodes: list[ast.AST] = []
    for file in files:
        try:
            nodes += ast.walk(ast.parse(file.read_bytes()))
        except (SyntaxError, ValueError, OSError):
            continue
    return nodes


def _column(node: ast.AST) -> str | None:
    """`line["type"]`, `line.get("type")` and the same in lower case or stripped."""
    while (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and not node.args
    ):
        node = node.func.value
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "get"
        and node.args
    ):
        first = node.args[0]
        return (
            first.value
            if isinstance(first, ast.Constant) and isinstance(first.value, str)
            else None
        )
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    ):
        return node.slice.value
    return None


def _texts(node: ast.AST) -> list[str]:
    entries = node.elts if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else [node]
    return [
        entry.value
        for entry in entries
        if isinstance(entry, ast.Constant) and isinstance(entry.value, str)
    ]


def asked_columns(files: list[Path]) -> list[str]:
    """Columns that the code reads with `line.get(…)`, which is silent where they are missing."""
    found: dict[str, None] = {}
    for node in _nodes(files):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "get"
        ):
            owner = node.func.value
            if (
                isinstance(owner, ast.Name)
                and owner.id in _ROWS
                and (name := _column(node))
            ):
                found[name] = None
    return list(found)


def reply_keys(files: list[Path]) -> list[str]:
    """Return the keys of JSON answers that prompts in the code describe."""
    texts = [
        n.value
        for n in _nodes(files)
        if isinstance(n, ast.Constant) and isinstance(n.value, str)
    ]
    return list(
        dict.fromkeys(
            key for text in texts if len(text) > LONGEST for key in _KEY.findall(text)
        )
    )


def columns_in(text: str) -> list[str]:
    """Return the columns that a line of code speaks of."""
    return [first or second for first, second in _IN_CODE.findall(text)]

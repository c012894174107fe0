"""Types of the columns of a text table: whole numbers, numbers or truth values.

Classes written for other toolkits expect the types a data frame would give them. A column is typed if all inspected
cells agree; a later cell that does not fit stays text. `NA` and `None` are texts: only an empty cell is missing.
"""

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .files import open_file

ROWS_LOOKED_AT = 2000
BYTES_LOOKED_AT = 16 * 1024 * 1024
LONGEST_NUMBER = 32
_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"-?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)([eE][-+]?[0-9]+)?")
_TRUTH = {"True": True, "False": False}
_WORDS: frozenset[type] = frozenset()
_ANY: frozenset[type] = frozenset({int, float, bool})
_INTEGERS, _NUMBERS, _TRUTHS = (
    frozenset({int, float}),
    frozenset({float}),
    frozenset({bool}),
)
ALWAYS_TEXT = frozenset(
    {
        *"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "question",
        "hint",
        "image",
        "image_path",
        "prediction",
    }
)
"""Columns that stay text even if every cell looks like a number: an option `1.50` must not become 1.5."""

Types = Mapping[str, type]


def column_types(rows: Iterable[Mapping[str, Any]]) -> dict[str, type]:
    """Return `int`, `float` or `bool` for each column whose cells all have that type. Other columns are left out."""
    possible: dict[str, frozenset[type]] = {}
    for row in rows:
        for name, cell in row.items():
            if name not in ALWAYS_TEXT and cell != "" and cell is not None:
                types = possible.get(name, _ANY)
                possible[name] = types and types & _types_of(cell)
    return {
        name: kind
        for name, types in possible.items()
        if (kind := _narrowest(types)) is not None
    }


def column_type(cells: Iterable[Any]) -> type | None:
    """Return `int`, `float` or `bool` if every filled cell has that type; `None` for text or if no cell is filled."""
    left: frozenset[type] | None = None
    for cell in cells:
        if cell == "" or cell is None:
            continue
        left = (_ANY if left is None else left) & _types_of(cell)
        if not left:
            return None
    return _narrowest(left or _WORDS)


def _narrowest(types: frozenset[type]) -> type | None:
    return next((kind for kind in (int, float, bool) if kind in types), None)


def types_of_file(path: Path) -> dict[str, type]:
    """Return the types of a file's columns, judging by its first rows."""

    def first_rows() -> Iterable[Mapping[str, Any]]:
        for count, (_, offset, row) in enumerate(open_file(path).rows(), 1):
            if isinstance(row, Mapping):
                yield row
            if count >= ROWS_LOOKED_AT or offset > BYTES_LOOKED_AT:
                return

    return column_types(first_rows())


def typed(
    cell: object,
    kind: type | None,
) -> object:
    """Return a cell converted to the type of its column: NaN for an empty cell, and the
    text itself if it does not fit.
    """
    if cell == "" or cell is None:
        return math.nan
    if kind is None or not isinstance(cell, str) or kind not in _types_of(cell):
        return cell
    if kind is bool:
        return _TRUTH[cell]
    return kind(cell)


def _types_of(cell: object) -> frozenset[type]:
    if not isinstance(cell, str):
        if type(cell) in (int, float, bool):
            return frozenset({type(cell)})
        return _WORDS
    if len(cell) > LONGEST_NUMBER:
        return _WORDS
    if _WHOLE.fullmatch(cell):
        return _INTEGERS
    if _NUMBER.fullmatch(cell):
        return _NUMBERS
    return _TRUTHS if cell in _TRUTH else _WORDS

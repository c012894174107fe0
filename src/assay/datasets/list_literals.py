"""List literals: cells such as `['a.png', 'b.png']`, parsed as literals without running code.

Some benchmarks write several images or answers of one row as a Python list. Only flat lists of texts and numbers are
accepted; anything else in brackets is a fault of its row.
"""

import ast
from typing import Any

from ..core import shorten
from .faults import RowFault


def looks_like_list(cell: object) -> bool:
    """Return True if a cell is written in square brackets, ignoring white space around them."""
    return (
        isinstance(cell, str)
        and cell[:1] in "[ \t\n"
        and cell.strip()[:1] == "["
        and cell.strip()[-1:] == "]"
    )


def parse_list(cell: str, column: str | None = None) -> list[str]:
    """Return the entries of a list literal as texts. Raise `RowFault` for anything else in brackets."""
    try:
        value = ast.literal_eval(cell.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise _not_a_list(cell, column) from error
    if not isinstance(value, list):
        raise _not_a_list(cell, column)
    for entry in value:
        if not isinstance(entry, (str, int, float)):
            raise _not_a_list(cell, column)
    return [str(entry) for entry in value]


def as_text_list(cell: Any, column: str | None = None) -> list[str]:
    """Return a cell as a list of texts: the entries of a list or list literal, or the one text it is."""
    if isinstance(cell, (list, tuple)):
        return [str(entry) for entry in cell]
    if looks_like_list(cell):
        return parse_list(cell, column)
    return [str(cell)]


def _not_a_list(cell: str, column: str | None) -> RowFault:
    """Return the fault of a cell that is not a list of texts, such as `[1, 2` or `{'a': 1}`."""
    return RowFault(
        f"not a list of texts: {shorten(cell)}",
        column=column,
        fix="write ['first', 'second'], each entry in quotes",
    )

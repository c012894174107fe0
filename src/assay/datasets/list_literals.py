"""List literals: cells such as `['a.png', 'b.png']`, read by a literal parser that runs nothing.

Some benchmarks write several images or answers of one row as a Python list. Only flat lists of texts and numbers are
understood; whatever else stands between brackets is the fault of its row.
"""

import ast
from typing import Any

from ..core import shorten
from .faults import RowFault


def looks_like_list(cell: Any) -> bool:
    """Whether a cell is written as a list: in square brackets, blanks aside."""
    return (
        isinstance(cell, str)
        and cell[:1] in "[ \t\n"
        and cell.strip()[:1] == "["
        and cell.strip()[-1:] == "]"
    )


def parse_list(cell: str, column: str | None = None) -> list[str]:
    """The entries of a list literal, numbers as they are printed; raises `RowFault` for anything else in brackets."""
    try:
        value = ast.literal_eval(cell.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise _not_a_list(cell, column) from error
    if not isinstance(value, list) or not all(_is_plain(entry) for entry in value):
        raise _not_a_list(cell, column)
    return [entry if isinstance(entry, str) else str(entry) for entry in value]


def as_text_list(cell: Any, column: str | None = None) -> list[str]:
    """A cell as texts: the entries of a list or of a list literal; of anything else the one text it is."""
    if isinstance(cell, (list, tuple)):
        return [str(entry) for entry in cell]
    if looks_like_list(cell):
        return parse_list(cell, column)
    return [str(cell)]


def _is_plain(entry: Any) -> bool:
    return isinstance(entry, (str, int, float))


def _not_a_list(cell: str, column: str | None) -> RowFault:
    return RowFault(
        f"not a list of texts: {shorten(cell)}",
        column=column,
        fix="write ['first', 'second'], each entry in quotes",
    )

"""Excel tables that preserve every text: a second sheet has the cells that Excel cannot represent exactly.

Excel cuts texts at 32,767 characters and reads a text that starts with `=` as a
formula. It cannot represent empty texts, control characters or carriage returns. Other
programs read the first sheet; this module reads both.
"""

import json
import re
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..core import MissingExtra

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet


LONGEST_CELL = 32_767
EXACT_SHEET = "assay_exact"
_NOT_IN_XML = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")


def write_excel(
    path: Path,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
) -> None:
    """Write a workbook with one table, row by row."""
    book = _library("openpyxl").Workbook(write_only=True)
    make_cell = _library("openpyxl.cell").WriteOnlyCell
    sheet = book.create_sheet("Sheet1")
    exact: list[tuple[int, int, str]] = []

    def cell(
        value: object,
        row: int,
        column: int,
    ) -> object:
        if value is None or isinstance(value, (int, float, bool)):
            return value
        if not isinstance(value, str):
            return str(value)
        text = _representable(value)
        if text != value or value == "":
            exact.append((row, column, json.dumps(value)))
        entry = make_cell(sheet, value=text)
        entry.data_type = "s"
        return entry

    sheet.append([cell(name, 0, index) for index, name in enumerate(columns)])
    for number, row in enumerate(rows, 1):
        sheet.append([cell(value, number, index) for index, value in enumerate(row)])
    if exact:
        _write_exact(book.create_sheet(EXACT_SHEET), exact)
    book.save(path)


def read_excel(path: Path) -> tuple[list[str], list[list[Any]]]:
    """Return the header and the rows of a workbook's first sheet, with `None` for empty cells."""
    book = _library("openpyxl").load_workbook(
        path,
        read_only=True,
        data_only=True,
    )
    try:
        table = [list(row) for row in book.worksheets[0].iter_rows(values_only=True)]
        if EXACT_SHEET in book.sheetnames:
            _restore(table, _read_exact(book[EXACT_SHEET]))
    finally:
        book.close()
    if not table:
        return [], []
    header = [str(name) for name in table[0]]
    rows = table[1:]
    for cells in rows:
        _pad(cells, len(header))
    return header, rows


def _restore(
    table: list[list[Any]],
    exact: dict[tuple[int, int], str],
) -> None:
    """Put the exact texts back into the table. Cells that a user has moved or edited are not changed."""
    for (row, column), text in exact.items():
        if row >= len(table):
            continue
        cells = table[row]
        _pad(cells, column + 1)
        as_stored = _comparable(_representable(text))
        is_unchanged = _comparable(cells[column]) == as_stored
        if is_unchanged:
            cells[column] = text


def _representable(text: str) -> str:
    """Return the part of a text that an Excel cell can hold."""
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)[:LONGEST_CELL]


def _comparable(cell: object) -> str:
    """Return a cell as text, without the escape sequences that readers of Excel files remove, for comparison."""
    if cell is None:
        return ""
    return str(cell).replace("x005F_", "")


def _pad(
    cells: list[Any],
    width: int,
) -> None:
    """Append empty cells until the row has `width` cells."""
    missing = width - len(cells)
    cells.extend([None] * missing)


def _write_exact(
    sheet: "Worksheet",
    cells: Sequence[tuple[int, int, str]],
) -> None:
    """Write each text as ASCII JSON, cut into pieces that fit a cell."""
    # The bar before each piece protects spaces at its ends and a leading `=`.
    bar = "|"
    size = LONGEST_CELL - len(bar)
    for row, column, text in cells:
        for start in range(0, len(text), size):
            piece = text[start : start + size]
            sheet.append([row, column, bar + piece])


def _read_exact(sheet: "Worksheet") -> dict[tuple[int, int], str]:
    """Return the texts of the second sheet, by row and column in the first sheet."""
    encoded: dict[tuple[int, int], str] = {}
    for row, column, piece in sheet.iter_rows(values_only=True):
        position = (int(row), int(column))
        without_bar = str(piece)[1:]
        before = encoded.get(position, "")
        encoded[position] = before + without_bar

    texts = {}
    for position, text in encoded.items():
        texts[position] = str(json.loads(text))
    return texts


def need_excel() -> None:
    """Raise `MissingExtra` if the library for Excel files is missing.

    It is called before a run, so that no results are lost.
    """
    _library("openpyxl")


def _library(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtra(
            "openpyxl, which writes Excel files,", "assay[guests]"
        ) from error

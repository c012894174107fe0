"""CSV and TSV: text cells under a header, read line by line, without guessing types.

Quotes follow RFC 4180, also in TSV files, as pandas writes them. A quote matters only at the start of a cell. A row
with too many or too few cells is a fault of that row only; its neighbours are not affected.
"""

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..core import DataError
from . import faults
from .faults import RowFault, too_long
from .lines import Line, Witness, read_lines
from .shards import FileShard, Row, RowData

LONG_LINE_BYTES = 16 * 1024


@dataclass(slots=True)
class Table(FileShard):
    """A CSV or TSV file, compressed or not."""

    path: Path
    separator: str
    known_length: None = None
    zeros: bool = False
    """True if cells may contain NUL characters, as outputs of models do."""
    _header: tuple[str, ...] = field(
        default=(),
        init=False,
        repr=False,
    )
    _seen: tuple[str, tuple[int, int]] | None = field(
        default=None,
        init=False,
        repr=False,
    )
    """After a complete read: the sha256 of the file, and its size and time at that moment."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names in the header."""
        if not self._header:
            next(self.rows(), None)
        return self._header

    def rows(self) -> Iterator[Row]:
        """Yield the rows under the header."""
        is_first_pass = self.seekable and self._seen is None
        if is_first_pass:
            witness = Witness(self.path)
        else:
            witness = None
        signs = self._signs()
        lines = _Lines(read_lines(self.path, witness=witness))
        self._header = self._read_header(lines)
        yield from self._body(lines)
        if witness is None:
            return
        digest = witness.digest()
        if digest is not None:
            self._seen = digest, signs

    def known_digest(self) -> str | None:
        """Return the sha256 of the file. Return None if it was not read to its end or has changed since."""
        if self._seen is not None and self._seen[1] == self._signs():
            return self._seen[0]
        return None

    def _signs(self) -> tuple[int, int]:
        state = self.path.stat()
        return state.st_size, state.st_mtime_ns

    def row_at(self, number: int, offset: int) -> RowData:
        """Return the row that starts at a byte offset."""
        if not self._header:
            next(self.rows(), None)
        return next(self._body(_Lines(read_lines(self.path, number, offset))))[2]

    def _read_header(self, lines: "_Lines") -> tuple[str, ...]:
        for number, _, line in lines:
            if line is None or not line.strip():
                continue
            before, end, _ = line.rstrip(b"\r\n").partition(b"\r")
            if end and before.count(b'"') % 2 == 0:
                raise DataError(
                    "the lines end in CR alone",
                    file=self.name,
                    row=number,
                    column=1,
                    fix="save with LF line ends",
                )
            if _is_json(line):
                reason = "this is one JSON object a line, not a table"
                fix = "name the file .jsonl"
                raise DataError(
                    reason,
                    file=self.name,
                    row=number,
                    column=1,
                    fix=fix,
                )
            try:
                cells = self._cells(line, lines, number, None)
            except RowFault as fault:
                raise fault.at(self.name, number) from None
            self._check_header(cells, number)
            return tuple(cells)
        raise DataError(
            "the file is empty",
            file=self.name,
            fix="the first line must name the columns",
        )

    def _check_header(
        self,
        cells: list[str],
        number: int,
    ) -> None:
        duplicate = next((name for name in cells if cells.count(name) > 1), None)
        if duplicate is not None:
            raise DataError(
                f"the header names the column {duplicate!r} twice",
                file=self.name,
                row=number,
                column=duplicate,
                fix="rename one of them",
            )
        if len(cells) == 1:
            self._check_separator(cells[0], number)

    def _check_separator(self, header: str, number: int) -> None:
        """Raise if a header consists of one cell that contains another separator."""
        words = {"\t": "tabs", ",": "commas", ";": "semicolons"}
        fixes = {
            "\t": "name the file .tsv",
            ",": "name the file .csv",
            ";": "replace ; by , or by tabs",
        }
        for mark in ("\t", ",", ";"):
            if mark != self.separator and mark in header:
                raise DataError(
                    f"the columns are separated by {words[mark]}, expected {words[self.separator]}",
                    file=self.name,
                    row=number,
                    column=1,
                    got=header,
                    fix=fixes[mark],
                )

    def _body(self, lines: "_Lines") -> Iterator[Row]:
        header = self._header
        name = self.name
        width = len(header)
        for number, offset, line in lines:
            try:
                if line is None:
                    raise too_long(faults.ROW_LIMIT, faults.ROW_LIMIT, "row")
                if line in (b"\n", b"\r\n"):
                    continue
                cells = self._cells(line, lines, number, header)
                if len(cells) != width:
                    raise _wrong_width(cells, header)
                if len(line) > faults.CELL_LIMIT:
                    _check_cell_sizes(cells, header)
            except RowFault as fault:
                yield number, offset, fault.at(name, number)
            else:
                yield number, offset, dict(zip(header, cells, strict=True))

    def _cells(
        self,
        line: bytes,
        lines: "_Lines",
        number: int,
        header: tuple[str, ...] | None,
    ) -> list[str]:
        if len(line) > LONG_LINE_BYTES and b'"' not in line and b"\0" not in line:
            cells = _long_cells(line, self.separator.encode())
            if cells is not None:
                return cells
        text = _decode(line, self.separator, header, self.zeros)
        # Searching for one character is much faster than for two, and most rows have no quote.
        if '"' not in text or not (
            text.startswith('"') or self.separator + '"' in text
        ):
            return _without_end(text).split(self.separator)
        return self._quoted_cells(text, lines, header)

    def _quoted_cells(
        self,
        text: str,
        lines: "_Lines",
        header: tuple[str, ...] | None,
    ) -> list[str]:
        """Return the cells of a row with quotes, reading more lines while a quote is
        open.

        A quote that is never closed would swallow the rows after it. So if the final
        number of cells does not match the header, the extra lines are put back, and
        only the row with the open quote is faulty.
        """
        more_lines: list[Line] = []
        size = len(text)
        try:
            cells, open_at = split_quoted(text, self.separator)
        except RowFault as fault:
            if isinstance(fault.column, int):
                fault.column = _column_of(fault.column - 1, header)
            else:
                fault.column = fault.column
            raise
        opened = open_at or 0
        quotes = text.count('"')
        while open_at is not None:
            following = next(lines, None)
            size += len(following[2] or b"") if following else 0
            if following is None or following[2] is None or size > faults.CELL_LIMIT:
                lines.give_back(
                    more_lines if following is None else [*more_lines, following]
                )
                raise _unclosed(opened, header, text)
            more_lines.append(following)
            try:
                more = _decode(following[2], self.separator, header, self.zeros)
                quotes += more.count('"')
                if (
                    '"' in more and quotes % 2 == 0
                ):  # While a quote is open the count is odd, so there is nothing to split yet.
                    pieces = "".join(
                        _decode(line or b"", self.separator, header, self.zeros)
                        for _, _, line in more_lines
                    )
                    cells, open_at = split_quoted(text + pieces, self.separator)
            except RowFault:
                lines.give_back(more_lines)
                raise _unclosed(opened, header, text) from None
        if more_lines and header is not None and len(cells) != len(header):
            lines.give_back(more_lines)
            raise _unclosed(opened, header, text)
        return cells


class _Lines:
    """An iterator over lines. Lines that were read can be put back, and are then returned again."""

    def __init__(self, lines: Iterator[Line]) -> None:
        self._lines = lines
        self._pending: deque[Line] = deque()

    def __iter__(self) -> Iterator[Line]:
        return self

    def __next__(self) -> Line:
        if self._pending:
            return self._pending.popleft()
        return next(self._lines)

    def give_back(self, lines: list[Line]) -> None:
        self._pending.extendleft(reversed(lines))


def _is_json(line: bytes) -> bool:
    if not line.lstrip().startswith(b"{"):
        return False
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def split_quoted(text: str, separator: str) -> tuple[list[str], int | None]:
    """Split a row into cells. If a quote is still open at the end, also return the
    index of its cell, otherwise None.
    """
    cells: list[str] = []
    start = 0
    end = len(_without_end(text))
    while True:
        if start < end and text[start] == '"':
            cell, after = _quoted_cell(text, start)
            if after is None:
                return cells, len(cells)
            if after < end and text[after] != separator:
                raise RowFault(
                    "text after the closing quote of a cell",
                    column=len(cells) + 1,
                    got=text[start : after + 20],
                    fix='double the quotes inside a quoted cell: "say ""hi"""',
                )
            cells.append(cell)
        else:
            after = text.find(separator, start, end)
            after = end if after < 0 else after
            cells.append(text[start:after])
        if after >= end:
            return cells, None
        start = after + 1


def _quoted_cell(text: str, start: int) -> tuple[str, int | None]:
    position = text.find('"', start + 1)
    while position >= 0 and text.startswith('"', position + 1):
        position = text.find('"', position + 2)
    if position < 0:
        return "", None
    return text[start + 1 : position].replace('""', '"'), position + 1


def _without_end(text: str) -> str:
    if text.endswith("\n"):
        if text.endswith("\r\n"):
            return text[:-2]
        return text[:-1]
    return text


def _long_cells(line: bytes, separator: bytes) -> list[str] | None:
    """Return the cells of a long line without quotes. Each is decoded separately, so that a large image is copied once.

    Return None if a cell is not UTF-8; the general function then finds out which.
    """
    end = len(line)
    if line.endswith(b"\r\n"):
        end -= 2
    elif line.endswith(b"\n"):
        end -= 1
    view = memoryview(line)
    cells: list[str] = []
    start = 0
    try:
        while (after := line.find(separator, start, end)) >= 0:
            cells.append(str(view[start:after], "utf-8"))
            start = after + 1
        cells.append(str(view[start:end], "utf-8"))
    except UnicodeDecodeError:
        return None
    return cells


def _decode(
    line: bytes,
    separator: str,
    header: tuple[str, ...] | None,
    zeros: bool = False,
) -> str:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as broken:
        cell = line.count(separator.encode(), 0, broken.start)
        raise RowFault(
            f"byte 0x{line[broken.start]:02x} is not UTF-8",
            column=_column_of(cell, header),
            got=line[max(broken.start - 20, 0) : broken.start + 20],
            fix="save the file as UTF-8",
        ) from None
    if "\0" in text and not zeros:
        cell = text.count(separator, 0, text.index("\0"))
        raise RowFault(
            "the cell holds a zero byte",
            column=_column_of(cell, header),
            fix="remove it",
        )
    return text


def _column_of(
    cell: int,
    header: tuple[str, ...] | None,
) -> str | int:
    if header and cell < len(header):
        return header[cell]
    return cell + 1


def _wrong_width(
    cells: list[str],
    header: tuple[str, ...],
) -> RowFault:
    if len(cells) > len(header):
        column: str | int = len(header) + 1
        return RowFault(
            f"{len(cells)} cells under {len(header)} columns",
            column=column,
            got=cells[len(header)],
            fix="put quotes around a cell that holds the separator",
        )
    return RowFault(
        f"{len(cells)} cells under {len(header)} columns",
        column=header[len(cells)],
        got=cells[-1],
        fix=f"add the missing cell{'s' if len(header) - len(cells) > 1 else ''}, empty if need be",
    )


def _unclosed(
    cell: int,
    header: tuple[str, ...] | None,
    text: str,
) -> RowFault:
    return RowFault(
        "a quote is opened and never closed",
        column=_column_of(cell, header),
        got=_without_end(text),
        fix='close it, or double it and quote the cell: "5"" disk"',
    )


def _check_cell_sizes(
    cells: list[str],
    header: tuple[str, ...],
) -> None:
    for name, cell in zip(header, cells, strict=True):
        if len(cell) > faults.CELL_LIMIT:
            raise too_long(len(cell), faults.CELL_LIMIT, "cell", name)

"""JSON files as shards: one object per line, or one array of objects.

The array may be the whole file or a member of an object. It is read one element at a
time: the scanner only finds where elements begin and end, and `decode_row` parses them.
So a file may be larger than memory, and a broken element with balanced brackets does
not affect the others.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ..core import DataError
from . import faults
from .faults import RowFault, too_long
from .json_row import decode_row
from .lines import UTF8_BOM, check_text, open_bytes, read_lines
from .shards import FileShard, Row, RowData


@dataclass(frozen=True, slots=True)
class JsonLines(FileShard):
    """A JSONL file, compressed or not."""

    path: Path
    columns: None = None
    known_length: None = None
    zeros: bool = False
    """True if texts may contain NUL characters, as outputs of models do."""

    def rows(
        self,
        number: int = 1,
        offset: int = 0,
    ) -> Iterator[Row]:
        """Yield the rows, beginning with line `number` at byte `offset`."""
        for row_number, start, line in read_lines(self.path, number, offset):
            if line is None:
                yield (
                    row_number,
                    start,
                    too_long(faults.ROW_LIMIT, faults.ROW_LIMIT, "row").at(
                        self.name, row_number
                    ),
                )
                continue
            try:
                yield row_number, start, decode_row(line, zeros=self.zeros)
            except RowFault as fault:
                if not line.isspace():
                    yield row_number, start, fault.at(self.name, row_number)

    def row_at(self, number: int, offset: int) -> RowData:
        """Return the row on the line that starts at `offset`."""
        rows = self.rows(number, offset)
        return next(rows)[2]


CHUNK_BYTES = 256 * 1024
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],]|"', re.DOTALL)
_VISIBLE = re.compile(rb"[^ \t\r\n]")
_SPACE = b" \t\r\n"


@dataclass(frozen=True, slots=True)
class JsonArray(FileShard):
    """A JSON file with an array of rows; rows are counted from 1."""

    path: Path
    member: str | None = None
    """The name of the array to read if an object has several, as in `{"train": […], "test": […]}`.

    By default the first.
    """
    columns: None = None
    known_length: None = None
    zeros: bool = False
    """True if texts may contain NUL characters, as outputs of models do."""

    def rows(self) -> Iterator[Row]:
        """Yield the elements of the array."""
        with open_bytes(self.path) as stream:
            scanner = _Scanner(stream)
            self._enter(scanner)
            yield from self._elements(scanner, 1)

    def holds(self, member: str) -> bool:
        """Return True if the file is an object with an array of rows under this name."""
        with open_bytes(self.path) as stream:
            scanner = _Scanner(stream)
            return scanner.next_byte() == b"{" and JsonArray(
                self.path, member
            )._enter_member(scanner)

    def row_at(self, number: int, offset: int) -> RowData:
        """Return the array element that starts at byte `offset`."""
        with open_bytes(self.path, offset) as stream:
            return next(self._elements(_Scanner(stream, offset), number))[2]

    def _enter(self, scanner: "_Scanner") -> None:
        """Move the scanner to the first element of the array. Raise `DataError` if the file has no array of rows."""
        scanner.fill()
        check_text(bytes(scanner.buffer[:64]), self.path)
        opening = bytes(scanner.buffer[:60]).decode("utf-8", "replace")
        if scanner.buffer.startswith(UTF8_BOM):
            scanner.place = len(UTF8_BOM)
        first = scanner.next_byte()
        if first == b"":
            raise DataError(
                "the file is empty",
                file=self.name,
                fix="write a JSON array of objects",
            )
        if first == b"[":
            scanner.place += 1
            return
        if first == b"{" and self._enter_member(scanner):
            return
        raise DataError(
            "no array of rows in this file",
            file=self.name,
            row=1,
            column=1,
            got=opening,
            fix='write [{…}, {…}] or {"rows": [{…}, {…}]}; one object a line is called .jsonl',
        )

    def _enter_member(self, scanner: "_Scanner") -> bool:
        """Move the scanner into the array of rows inside the outer object. Return False
        if the object has no such array.
        """
        scanner.place += 1
        while scanner.next_byte() == b'"':
            name = scanner.value()
            if name is None or scanner.next_byte() != b":":
                return False
            scanner.place += 1
            is_rows = scanner.next_byte() == b"[" and scanner.byte_after() == b"{"
            key = name.strip(b'"').decode("utf-8", "replace")
            if is_rows and self.member in (None, key):
                scanner.place += 1
                return True
            if scanner.value() is None:
                return False
            scanner.next_byte()
            scanner.place += 1
        return False

    def _elements(self, scanner: "_Scanner", number: int) -> Iterator[Row]:
        while True:
            first = scanner.next_byte()
            if first == b",":
                scanner.place += 1
                continue
            if first in (b"]", b""):
                if not first:
                    reason = "the array is not closed: the file was cut"
                    yield (
                        number,
                        0,
                        RowFault(reason, fix="fetch the file again").at(
                            self.name, number
                        ),
                    )
                return
            start = scanner.offset + scanner.place
            try:
                element = scanner.value()
                if element is None:
                    raise RowFault(
                        "this element is never closed, nothing after it can be read",
                        got=bytes(scanner.buffer[scanner.place : scanner.place + 60]),
                        fix="the file was cut, or a bracket or quote is missing",
                    )
                yield number, start, decode_row(element, zeros=self.zeros)
            except RowFault as fault:
                yield number, start, fault.at(self.name, number)
                if scanner.ended:
                    return
            number += 1


class _Scanner:
    """Finds the ends of JSON values without parsing them. Keeps only the current value in memory."""

    def __init__(
        self,
        stream: IO[bytes],
        offset: int = 0,
    ) -> None:
        self._stream = stream
        self.buffer = bytearray()
        self.offset = offset
        """Position in the file at which the buffer begins."""
        self.place = 0
        self.ended = False
        self._chunk = CHUNK_BYTES

    def fill(self) -> bool:
        """Read more bytes, and drop those before the current position. Return False at the end of the file."""
        if self.place:
            del self.buffer[: self.place]
            self.offset += self.place
            self.place = 0
        if len(self.buffer) > faults.ROW_LIMIT:
            self.ended = True
            raise too_long(len(self.buffer), faults.ROW_LIMIT, "row")
        # Doubling the buffer each time keeps the number of passes over a long value small.
        chunk = self._stream.read(max(self._chunk, len(self.buffer)))
        self.buffer += chunk
        return bool(chunk)

    def next_byte(self) -> bytes:
        """Return the next byte that is not white space, without moving past it; empty at the end of the file."""
        while True:
            while self.place < len(self.buffer):
                if self.buffer[self.place] not in _SPACE:
                    return bytes(self.buffer[self.place : self.place + 1])
                self.place += 1
            if not self.fill():
                return b""

    def byte_after(self) -> bytes:
        """Return the first byte after the current one that is not white space; empty at the end of the file."""
        while True:
            match = _VISIBLE.search(self.buffer, self.place + 1)
            if match is not None:
                return match.group()
            if not self.fill():
                return b""

    def value(self) -> bytes | None:
        """Return the bytes of the value at the current position, and move past it.

        Return `None` if the file ends first.
        """
        depth = 0
        position = self.place
        while True:
            token = _TOKEN.search(self.buffer, position)
            mark = token.group() if token else b'"'
            if token is None or mark == b'"':
                scanned = (token.start() if token else len(self.buffer)) - self.place
                if not self.fill():
                    self.ended = True
                    return None
                position = self.place + scanned
                continue
            position = token.end()
            if mark in b"{[":
                depth += 1
            elif mark in b"}]":
                depth -= 1
                if depth <= 0:
                    return self._take(position if depth == 0 else token.start())
            elif depth == 0:
                return self._take(token.start() if mark == b"," else position)

    def _take(self, end: int) -> bytes:
        value = bytes(self.buffer[self.place : end])
        self.place = end
        return value

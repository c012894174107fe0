"""JSON arrays: a file that is one array of objects, or an object that holds one, read one element at a time.

The scanner only finds where elements begin and end; `decode_row` reads them. So a file larger than memory can be read,
and a broken element whose brackets match is the fault of that element alone.
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
from .lines import UTF8_BOM, check_text, open_bytes
from .shards import FileShard, Row, RowData

CHUNK_BYTES = 256 * 1024
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],]|"', re.DOTALL)
_VISIBLE = re.compile(rb"[^ \t\r\n]")
_SPACE = b" \t\r\n"


@dataclass(frozen=True, slots=True)
class JsonArray(FileShard):
    """A JSON file with an array of rows; rows are counted from 1."""

    path: Path
    member: str | None = None
    """Which array to take where an object holds several: `{"train": […], "test": […]}`; else the first."""
    columns: None = None
    known_length: None = None

    def rows(self) -> Iterator[Row]:
        """The elements of the array."""
        with open_bytes(self.path) as stream:
            scanner = _Scanner(stream)
            self._enter(scanner)
            yield from self._elements(scanner, 1)

    def holds(self, member: str) -> bool:
        """Whether the file is an object with an array of rows under this name."""
        with open_bytes(self.path) as stream:
            scanner = _Scanner(stream)
            return scanner.next_byte() == b"{" and JsonArray(
                self.path, member
            )._enter_member(scanner)

    def row_at(self, number: int, offset: int) -> RowData:
        """The element that starts at a byte offset."""
        with open_bytes(self.path, offset) as stream:
            return next(self._elements(_Scanner(stream, offset), number))[2]

    def _enter(self, scanner: "_Scanner") -> None:
        """Moves to the first element; a fault here is the file's."""
        scanner.fill()
        check_text(bytes(scanner.buffer[:64]), self.path)
        opening = bytes(scanner.buffer[:60]).decode("utf-8", "replace")
        if scanner.buffer.startswith(UTF8_BOM):
            scanner.place = len(UTF8_BOM)
        first = scanner.next_byte()
        if first == b"":
            raise DataError(
                "the file is empty", file=self.name, fix="write a JSON array of objects"
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
        """Moves into the array that a member of the top object holds; false if there is none."""
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
                    what = "the array is not closed: the file was cut"
                    yield (
                        number,
                        0,
                        RowFault(what, fix="fetch the file again").at(
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
                yield number, start, decode_row(element)
            except RowFault as fault:
                yield number, start, fault.at(self.name, number)
                if scanner.ended:
                    return
            number += 1


class _Scanner:
    """Walks over JSON text without reading it into objects; keeps only the value it stands at."""

    def __init__(self, stream: IO[bytes], offset: int = 0) -> None:
        self._stream = stream
        self.buffer = bytearray()
        self.offset = offset
        """Of the buffer's first byte, in the file."""
        self.place = 0
        self.ended = False
        self._chunk = CHUNK_BYTES

    def fill(self) -> bool:
        """Reads on, forgetting what lies before `place`; false at the end of the file."""
        if self.place:
            del self.buffer[: self.place]
            self.offset += self.place
            self.place = 0
        if len(self.buffer) > faults.ROW_LIMIT:
            self.ended = True
            raise too_long(len(self.buffer), faults.ROW_LIMIT, "row")
        # Growing with the value keeps the number of passes over a long one small.
        chunk = self._stream.read(max(self._chunk, len(self.buffer)))
        self.buffer += chunk
        return bool(chunk)

    def next_byte(self) -> bytes:
        """The next byte that is not white space, without passing it; empty at the end."""
        while True:
            while self.place < len(self.buffer):
                if self.buffer[self.place] not in _SPACE:
                    return bytes(self.buffer[self.place : self.place + 1])
                self.place += 1
            if not self.fill():
                return b""

    def byte_after(self) -> bytes:
        """The byte after the one `place` stands at, white space aside."""
        while True:
            found = _VISIBLE.search(self.buffer, self.place + 1)
            if found is not None:
                return found.group()
            if not self.fill():
                return b""

    def value(self) -> bytes | None:
        """The bytes of the value that starts at `place`, which moves behind it; `None` if the file ends first."""
        depth, at = 0, self.place
        while True:
            token = _TOKEN.search(self.buffer, at)
            mark = token.group() if token else b'"'
            if token is None or mark == b'"':
                waiting = (token.start() if token else len(self.buffer)) - self.place
                if not self.fill():
                    self.ended = True
                    return None
                at = self.place + waiting
                continue
            at = token.end()
            if mark in b"{[":
                depth += 1
            elif mark in b"}]":
                depth -= 1
                if depth <= 0:
                    return self._take(at if depth == 0 else token.start())
            elif depth == 0:
                return self._take(token.start() if mark == b"," else at)

    def _take(self, end: int) -> bytes:
        value = bytes(self.buffer[self.place : end])
        self.place = end
        return value

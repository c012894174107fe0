"""JSONL: one JSON object a line; blank lines are skipped and counted."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from . import faults
from .faults import RowFault, too_long
from .json_row import decode_row
from .lines import read_lines
from .shards import FileShard, Row, RowData


@dataclass(frozen=True, slots=True)
class JsonLines(FileShard):
    """A JSONL file, plain or packed."""

    path: Path
    columns: None = None
    known_length: None = None

    def rows(self, number: int = 1, offset: int = 0) -> Iterator[Row]:
        """The rows from a line on."""
        for at, start, line in read_lines(self.path, number, offset):
            if line is None:
                yield (
                    at,
                    start,
                    too_long(faults.ROW_LIMIT, faults.ROW_LIMIT, "row").at(
                        self.name, at
                    ),
                )
                continue
            try:
                yield at, start, decode_row(line)
            except RowFault as fault:
                if not line.isspace():
                    yield at, start, fault.at(self.name, at)

    def row_at(self, number: int, offset: int) -> RowData:
        """The row on the line that starts at `offset`."""
        rows = self.rows(number, offset)
        return next(rows)[2]

"""JSONL: one JSON object per line. Blank lines are skipped but counted."""

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
    """A JSONL file, plain or compressed."""

    path: Path
    columns: None = None
    known_length: None = None
    zeros: bool = False
    """True if texts may hold zero characters, as the outputs of models do."""

    def rows(self, number: int = 1, offset: int = 0) -> Iterator[Row]:
        """Yield the rows from a line on."""
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

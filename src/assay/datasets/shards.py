"""Shards: a shard is one file, list or function that yields numbered rows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ..core import DataError, Sample
from .lines import is_compressed

RowData = Mapping[str, Any] | Sample | DataError
Row = tuple[int, int, RowData]
"""A row with its number and byte offset. For a faulty row, the error replaces the row.

In a text file, the row number is the line number. In other files, rows are counted from
1. The offset is 0 if it is unknown.
"""


class Shard(Protocol):
    """A part of a dataset whose rows can be read in order, repeatedly."""

    @property
    def name(self) -> str:
        """The name used in errors."""
        ...

    @property
    def path(self) -> Path | None: ...

    @property
    def columns(self) -> tuple[str, ...] | None:
        """All columns, if a header or a schema lists them; None if each row has its own columns."""
        ...

    @property
    def known_length(self) -> int | None: ...

    @property
    def seekable(self) -> bool:
        """True if `row_at` does not read the rows before."""
        ...

    def rows(self) -> Iterator[Row]: ...

    def row_at(self, number: int, offset: int) -> RowData:
        """Return the row that `rows` yielded with this number and offset."""
        ...


def folder_of(shard: Shard) -> Path | None:
    """Return the folder against which relative paths in the rows of a shard are resolved."""
    if shard.path is not None:
        return shard.path.parent
    return getattr(shard, "folder", None)


def row_by_counting(shard: Shard, number: int) -> RowData:
    """Return the row with this number by reading all rows up to it."""
    return next(row for row_number, _, row in shard.rows() if row_number == number)


class FileShard:
    """Base of file shards. Their name is the path, and only uncompressed files can be read from the middle."""

    path: Path

    @property
    def name(self) -> str:
        """The file name used in errors."""
        return str(self.path)

    @property
    def seekable(self) -> bool:
        """False for a compressed file, which can be read only from its start."""
        return not is_compressed(self.path)


@dataclass(frozen=True)
class ShardOver:
    """A shard that wraps another one and changes its rows. Errors name the original file."""

    shard: Shard

    @property
    def name(self) -> str:
        """The name used in errors."""
        return self.shard.name

    @property
    def path(self) -> Path | None:
        """The file of the wrapped shard."""
        return self.shard.path

"""Shards: one file, list or function that gives numbered rows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ..core import DataError, Sample
from .lines import is_compressed

RowData = Mapping[str, Any] | Sample | DataError
Row = tuple[int, int, RowData]
"""The number a person would look for (a line of a text file, else counted from 1), the byte offset where the row
starts (0 where there is none), and the row itself, or why it cannot be used."""


class Shard(Protocol):
    """A part of a dataset whose rows are read in order, more than once if need be."""

    @property
    def name(self) -> str:
        """How faults name it."""
        ...

    @property
    def path(self) -> Path | None: ...

    @property
    def columns(self) -> tuple[str, ...] | None:
        """All columns, where a header or a schema says; `None` where each row has its own."""
        ...

    @property
    def known_length(self) -> int | None: ...

    @property
    def seekable(self) -> bool:
        """Whether `row_at` is cheap."""
        ...

    def rows(self) -> Iterator[Row]: ...

    def row_at(self, number: int, offset: int) -> RowData:
        """The row that `rows` gave with this number and offset."""
        ...


def folder_of(shard: Shard) -> Path | None:
    """What relative paths in the rows of a shard are relative to."""
    return (
        shard.path.parent if shard.path is not None else getattr(shard, "folder", None)
    )


def row_by_counting(shard: Shard, number: int) -> RowData:
    """The row with this number, found by reading up to it."""
    return next(row for at, _, row in shard.rows() if at == number)


class FileShard:
    """What the shards of files share: their name is the path, and only plain files are read from the middle."""

    path: Path

    @property
    def name(self) -> str:
        """The file as faults name it."""
        return str(self.path)

    @property
    def seekable(self) -> bool:
        """Whether the file is not packed: a packed one can only be read from its start."""
        return not is_compressed(self.path)


@dataclass(frozen=True)
class ShardOver:
    """A shard that reads another one and changes its rows; faults name the file they come from."""

    shard: Shard

    @property
    def name(self) -> str:
        """How faults name it."""
        return self.shard.name

    @property
    def path(self) -> Path | None:
        """The file behind it."""
        return self.shard.path

"""Converted rows: a benchmark's own function from a row to a `Sample`, in place of the columns' conventions."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..core import DataError, Sample, shorten
from .shards import Row, RowData, Shard


@dataclass(frozen=True)
class Converted:
    """A shard whose rows become samples by a function; a row it cannot convert is a fault of that row alone."""

    shard: Shard
    to_sample: Callable[[Mapping[str, Any]], Sample]

    @property
    def name(self) -> str:
        """How faults name it."""
        return self.shard.name

    @property
    def path(self) -> Path | None:
        """The file behind it."""
        return self.shard.path

    @property
    def columns(self) -> tuple[str, ...] | None:
        """All columns, where the file says."""
        return self.shard.columns

    @property
    def known_length(self) -> int | None:
        """How many rows there are, where that is known."""
        return self.shard.known_length

    @property
    def seekable(self) -> bool:
        """Whether `row_at` is cheap."""
        return self.shard.seekable

    def rows(self) -> Iterator[Row]:
        """The rows as samples; one without an id of its own is known by its place."""
        for place, (number, offset, row) in enumerate(self.shard.rows()):
            yield number, offset, self._convert(row, number, place)

    def row_at(self, number: int, offset: int) -> RowData:
        """One row again."""
        return self._convert(self.shard.row_at(number, offset), number, None)

    def _convert(self, row: RowData, number: int, place: int | None) -> RowData:
        if not isinstance(row, Mapping):
            return row
        try:
            sample = self.to_sample(row)
        except Exception as error:  # noqa: BLE001 - the boundary to a benchmark's own code: a fault of this row
            what = f"missing column {error}" if isinstance(error, KeyError) else f"{type(error).__name__}: {error}"
            return DataError(what, file=self.shard.name, row=number, got=row)
        if not isinstance(sample, Sample):
            return DataError(f"to_sample returned {shorten(sample)}, not a Sample", file=self.shard.name, row=number)
        if not sample.id and place is not None:
            sample = replace(sample, id=str(place))
        return sample if sample.fields else replace(sample, fields=row)

"""Tables that a user's class streams: the rows of a TSV that have an image, as `skip_noimg=True` wishes."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from ...datasets.files import open_file
from ...datasets.samples import SPLIT_COLUMN
from ...datasets.shards import Row, RowData, Shard
from ...datasets.tsv_images import is_blank
from .places import SNAPSHOT
from .rows import lender


class RowsWithImages:
    """The rows of a table without those that have neither an image of their own, nor a lent one, nor a path to one."""

    known_length: int | None = None

    def __init__(self, path: Path, dataset: str, split: str | None = None) -> None:
        self.path: Path | None = path
        self._path = path
        self._dataset = dataset
        self._split = split

    def reading_from(self, data: str | None) -> Any:
        """The rows of another file; the snapshot of a run holds those that were asked, without their images."""
        if data is None:
            return self
        path = Path(data).expanduser()
        return path if path.name == SNAPSHOT else RowsWithImages(path, self._dataset)

    def of_split(self, split: str | None) -> "RowsWithImages":
        """The rows of one split; all without a name."""
        return (
            self if split is None else RowsWithImages(self._path, self._dataset, split)
        )

    @cached_property
    def _table(self) -> Shard:
        return open_file(self._path)

    @property
    def name(self) -> str:
        """How faults name it."""
        return self._table.name

    @property
    def columns(self) -> tuple[str, ...] | None:
        """All columns, where a header says them."""
        return self._table.columns

    @property
    def seekable(self) -> bool:
        """Whether single rows can be read without those before them."""
        return self._table.seekable

    def rows(self) -> Iterator[Row]:
        """The rows with an image, under the numbers they have in the file."""
        all_splits = self._split is None
        for entry in self._table.rows():
            row = entry[2]
            # Most rows hold their image: those are let through without a closer look.
            holds_one = type(row) is dict and all_splits and row.get("image")
            if holds_one or not isinstance(row, Mapping):
                yield entry
                continue
            is_chosen = all_splits or str(row.get(SPLIT_COLUMN, "")) == self._split
            if is_chosen and (
                "image" not in row
                or not is_blank(row["image"])
                or shows_images(row, self._dataset)
            ):
                yield entry

    def row_at(self, number: int, offset: int) -> RowData:
        """One row again."""
        return self._table.row_at(number, offset)


def shows_images(row: Mapping[str, Any], dataset: str) -> bool:
    """Whether a row with an empty `image` has an image all the same: one that is lent to it, or a file's name."""
    return not is_blank(row.get("image_path")) or lender(dataset, row) is not None

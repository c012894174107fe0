"""Rows that are already in Python: a list, a function that returns or yields rows, any iterable."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..code.sources import digest_behind
from ..core import DataError, Sample, UsageError, canonical, digest_of, shorten
from .faults import RowFault
from .shards import Row, RowData, row_by_counting
from .undecoded import without_decoding


@dataclass(slots=True)
class Rows:
    """A list of rows, counted from 1."""

    items: Sequence[Any]
    name: str = "rows"
    path: Path | None = None
    columns: None = None
    seekable: bool = True
    folder: Path | None = None
    """The folder of the file that the rows stand in; `None` for rows of the user's own code."""

    @property
    def known_length(self) -> int:
        """How many there are."""
        return len(self.items)

    def rows(self) -> Iterator[Row]:
        """The rows in order."""
        for number, item in enumerate(self.items, 1):
            yield number, 0, as_row(item, self.name, number)

    def row_at(self, number: int, offset: int) -> RowData:
        """The row with this number."""
        return as_row(self.items[number - 1], self.name, number)


@dataclass(slots=True)
class Called:
    """A function of rows; called again for each reading, unless it returned a list, which is kept."""

    function: Callable[[], Any]
    path: Path | None = None
    columns: None = None
    known_length: int | None = None
    seekable: bool = False
    _kept: Sequence[Any] | None = field(default=None, init=False, repr=False)

    @property
    def name(self) -> str:
        """As faults name it: what an object calls itself, else the function's name."""
        name = (
            None
            if hasattr(self.function, "__qualname__")
            else getattr(self.function, "name", None)
        )
        if isinstance(name, str):
            return name
        return (
            f"{getattr(self.function, '__qualname__', type(self.function).__name__)}()"
        )

    @property
    def listed(self) -> Sequence[Any] | None:
        """The rows, where the function was called and gave all of them at once."""
        return self._kept

    def rows(self) -> Iterator[Row]:
        """The rows the function gives."""
        items = self._items()
        for number, item in enumerate(items, 1):
            yield number, 0, as_row(item, self.name, number)

    def row_at(self, number: int, offset: int) -> RowData:
        """The row with this number."""
        return row_by_counting(self, number)

    def _items(self) -> Iterable[Any]:
        if self._kept is not None:
            return self._kept
        items = without_decoding(self.function())
        if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Iterable):
            raise UsageError(
                f"the dataset function returned {shorten(items)}",
                where=self.name,
                fix="return or yield rows (dictionaries)",
            )
        if isinstance(items, Sequence):
            self._kept = items
        return items


def as_row(item: Any, name: str, number: int) -> RowData:
    """A row or a sample as it is; anything else is that row's fault."""
    if isinstance(item, (Sample, Mapping)):
        return item
    if isinstance(item, DataError):
        return item
    return RowFault(
        f"expected a dictionary or a Sample, found a {type(item).__name__}", got=item
    ).at(name, number)


def source_digest(function: Callable[..., Any]) -> str:
    """sha256 of a function's source text and of the files behind it, or of its name where there is none."""
    try:
        file = inspect.getsourcefile(function)
        files = digest_behind(file) if file is not None and Path(file).is_file() else ""
        return digest_of([inspect.getsource(function), files])
    except (TypeError, OSError):
        return digest_of(
            f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', repr(function))}"
        )


def plain_row(row: RowData) -> bytes:
    """A row as canonical JSON, for digests; a medium by its own digest."""
    if isinstance(row, Sample):
        media = [medium.digest for medium in row.media]
        joined = [row.group, row.cluster, row.turns]
        return canonical(
            [
                row.id,
                row.input,
                row.target,
                row.choices,
                dict(row.fields),
                media,
                dict(row.tags),
                joined,
            ]
        )
    return canonical(str(row) if isinstance(row, DataError) else dict(row))

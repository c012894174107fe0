"""Rows that are already in Python: a list, a function that returns or yields rows, or any iterable."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..code.sources import digest_behind
from ..core import DataError, Sample, UsageError, canonical, digest_of, shorten
from .faults import RowFault
from .row_media import with_made_media
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
    """The folder of the file that the rows come from; None for rows built by the user's own code."""

    @property
    def known_length(self) -> int:
        """The number of rows."""
        return len(self.items)

    def rows(self) -> Iterator[Row]:
        """Yield the rows in order."""
        for number, item in enumerate(self.items, 1):
            yield number, 0, as_row(item, self.name, number)

    def row_at(self, number: int, offset: int) -> RowData:
        """Return the row with this number."""
        return as_row(self.items[number - 1], self.name, number)


@dataclass(slots=True)
class Called:
    """A shard for a function that returns rows.

    The function is called for each pass over the rows, unless it returned a list, which
    is reused.
    """

    function: Callable[[], Any]
    path: Path | None = None
    columns: None = None
    known_length: int | None = None
    seekable: bool = False
    _kept: Sequence[Any] | None = field(
        default=None,
        init=False,
        repr=False,
    )

    @property
    def name(self) -> str:
        """The name of the source in error messages.

        It is the attribute `name` of a callable object, or the name of the function.
        """
        if hasattr(self.function, "__qualname__"):
            name = None
        else:
            name = getattr(self.function, "name", None)
        if isinstance(name, str):
            return name
        return (
            f"{getattr(self.function, '__qualname__', type(self.function).__name__)}()"
        )

    @property
    def listed(self) -> Sequence[Any] | None:
        """The rows, if the function was called and returned a list."""
        return self._kept

    def rows(self) -> Iterator[Row]:
        """Yield the rows the function returns."""
        items = self._items()
        for number, item in enumerate(items, 1):
            yield number, 0, as_row(item, self.name, number)

    def row_at(self, number: int, offset: int) -> RowData:
        """Return the row with this number."""
        return row_by_counting(self, number)

    def _items(self) -> Iterable[Any]:
        """Call the function and return its rows.

        A list is reused at the next reading. An iterator is not, because it can be read
        only once.
        """
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


def as_row(
    item: object,
    name: str,
    number: int,
) -> RowData:
    """Return a row unchanged. For a sample, check its media first. For anything else, return a `DataError`."""
    if isinstance(item, Mapping):
        return item
    if isinstance(item, Sample):
        try:
            return with_made_media(item)
        except RowFault as fault:
            return fault.at(name, number)
    if isinstance(item, DataError):
        return item
    return RowFault(
        f"expected a dictionary or a Sample, found a {type(item).__name__}", got=item
    ).at(name, number)


def source_digest(function: Callable[..., Any]) -> str:
    """Return the sha256 of a function's source and of the files it uses; of its name if it has no source."""
    try:
        file = inspect.getsourcefile(function)
        if file is not None and Path(file).is_file():
            files = digest_behind(file)
        else:
            files = ""
        return digest_of([inspect.getsource(function), files])
    except (TypeError, OSError):
        return digest_of(
            f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', repr(function))}"
        )


def plain_row(row: RowData) -> bytes:
    """Return a row as canonical JSON for digests, with media replaced by their digests."""
    if isinstance(row, Sample):
        media = [medium.digest for medium in row.media]
        joined: list[Any] = [row.group, row.cluster, row.turns]
        if row.weight is not None:
            joined.append(row.weight)
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

"""The table of predictions: one file, read once, its rows by sample id.

Any format that data may have is read. The rows of one id stay in the order of the file: they are its repeats (epochs).
A column `round`, where there is one, counts the rounds of a dialogue from 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core import DataError, Media, Sample, UsageError, digest_of, nearest
from ..datasets.cells import as_id, is_missing
from ..datasets.faults import RowFault
from ..datasets.files import open_file, why_no_data
from ..datasets.media import media_columns

ROUND = "round"


@dataclass(frozen=True, slots=True)
class Named:
    """The columns as the user names them."""

    id: str
    prediction: str
    media: Mapping[str, str]
    """By kind: the column that holds media of that kind."""


@dataclass(frozen=True, slots=True)
class Row:
    """One prediction."""

    number: int
    """Its line or row in the file."""
    prediction: Any
    media: Mapping[str, Any]
    """By column, the cells that hold or name media."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was predicted: null, which is not the same as an empty answer."""
        return not self.candidates and all(
            is_missing(cell) or cell == "" for cell in self.media.values()
        )

    @property
    def candidates(self) -> list[Any]:
        """The answers: the elements of a list, else the cell alone; without those that are null."""
        cells = (
            self.prediction
            if isinstance(self.prediction, (list, tuple))
            else (self.prediction,)
        )
        return [cell for cell in cells if not is_missing(cell)]

    @property
    def digest(self) -> str:
        """Of what the file says; the bytes of files that it names are not read."""
        return digest_of([self.prediction, dict(self.media)])[:16]


@dataclass(frozen=True, slots=True)
class Table:
    """All predictions of a file."""

    rows: Mapping[tuple[str, int], Sequence[Row]]
    """By sample id and round of the dialogue, the repeats in the order of the file."""
    media: tuple[tuple[str, type[Media]], ...]
    """The columns that hold media, and of which kind."""

    @property
    def ids(self) -> dict[str, int]:
        """How many repeats each sample has, in the order of the file."""
        counts: dict[str, int] = {}
        for (id, _), rows in self.rows.items():
            counts[id] = max(counts.get(id, 0), len(rows))
        return counts


def read_table(path: Path, named: Named) -> Table:
    """The predictions of a file; raises for a file that is missing, empty or unreadable, and for wrong columns."""
    if not path.is_file():
        what, fix = (
            ("a folder, not a file", "name one file")
            if path.is_dir()
            else why_no_data(path)
        )
        raise UsageError(f"no predictions: {what}", where=str(path), fix=fix)
    shard = open_file(path)
    rows: dict[tuple[str, int], list[Row]] = {}
    checked: tuple[str, ...] | None = None
    media: dict[str, type[Media]] = {}
    for number, _, row in shard.rows():
        if isinstance(row, DataError):
            raise row
        assert not isinstance(
            row, Sample
        )  # only code gives samples, and this is a file
        names = tuple(row)
        if names != checked:
            media.update(_media_of(names, named, f"{path}:{number}"))
            checked = names
        try:
            place = as_id(row[named.id], named.id), _round_of(row)
        except RowFault as fault:
            raise fault.at(str(path), number) from fault
        cells = {column: row.get(column) for column in media}
        rows.setdefault(place, []).append(Row(number, row.get(named.prediction), cells))
    if not rows:
        raise DataError(
            "the file holds no rows", file=str(path), fix="write at least one row"
        )
    return Table(rows, tuple(media.items()))


def _media_of(
    names: tuple[str, ...], named: Named, where: str
) -> dict[str, type[Media]]:
    """The columns of media among these; raises where the columns that are needed are not there."""
    if named.id not in names:
        raise _no_column(named.id, "id", names, where)
    free = [name for name in names if name not in (named.id, named.prediction)]
    found, absent = media_columns(names, named.media, free)
    if absent:
        kind = next(kind for kind, column in named.media.items() if absent[0] in column)
        raise _no_column(absent[0], kind, names, where)
    if named.prediction not in names and not found:
        raise _no_column(named.prediction, "prediction", names, where)
    return dict(found)


def _no_column(wanted: str, part: str, names: Sequence[str], where: str) -> UsageError:
    close = nearest(wanted, names, 0.5)
    name = close or "COLUMN"
    listed = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    hint = f"did you mean {close!r}? " if close else ""
    return UsageError(
        f"no column {wanted!r}",
        where=where,
        fix=f"{hint}-a {part}={name} names it; columns: {listed}",
    )


def _round_of(row: Mapping[str, Any]) -> int:
    value: Any = row.get(ROUND)
    if is_missing(value) or value == "":
        return 0
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = -1
    if number < 0:
        raise RowFault(
            "the round is not a whole number from 0",
            column=ROUND,
            got=value,
            fix="count rounds from 0",
        )
    return number

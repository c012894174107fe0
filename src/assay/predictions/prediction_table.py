"""The table of predictions: one file, read once, with rows by sample id.

Any data format is supported. Several rows with one id are its repeats (epochs), in the
order of the file. An optional column `round` has the round of a dialogue, counted from
0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core import DataError, Media, Sample, UsageError, digest_of, nearest
from ..datasets.cells import as_id, is_missing
from ..datasets.faults import RowFault
from ..datasets.files import open_file, why_no_data
from ..datasets.row_media import media_columns
from ..imports import format_of, is_format

ROUND = "round"


@dataclass(frozen=True, slots=True)
class Named:
    """The columns and the task that the user named for a file of predictions."""

    id: str
    prediction: str
    media: Mapping[str, str]
    """The column of each kind of media."""
    task: str | None = None
    """The task whose answers are used, if the file is the results of another tool with several tasks."""
    are_usual: bool = False
    """True if all columns have their default names. Only then is the file checked for being another tool's results."""


@dataclass(frozen=True, slots=True)
class Row:
    """One prediction: a row of the file."""

    number: int
    """The line or row number in the file."""
    prediction: Any
    media: Mapping[str, Any]
    """The cells that contain or name media, by column."""

    @property
    def is_empty(self) -> bool:
        """True if the row has neither a prediction nor media. It is then treated as missing, unlike an empty answer."""
        return not self.candidates and all(
            is_missing(cell) or cell == "" for cell in self.media.values()
        )

    @property
    def candidates(self) -> list[Any]:
        """Return the answers: the elements of a list, or a list with the single cell. Nulls are left out.

        The answer of a conversation is its last message.
        """
        if is_conversation(self.prediction):
            cells = self.prediction[-1:]
        elif isinstance(self.prediction, (list, tuple)):
            cells = self.prediction
        else:
            cells = (self.prediction,)
        return [cell for cell in cells if not is_missing(cell)]

    @property
    def digest(self) -> str:
        """Digest of the row's prediction and media cells.

        It does not cover the contents of files that are named in the row.
        """
        return digest_of([self.prediction, dict(self.media)])[:16]


@dataclass(frozen=True, slots=True)
class Table:
    """All predictions of a file."""

    rows: Mapping[tuple[str, int], Sequence[Row]]
    """The rows by sample id and dialogue round. Each entry has the repeats in the order of the file."""
    media: tuple[tuple[str, type[Media]], ...]
    """The kind of media in each media column."""

    @property
    def ids(self) -> dict[str, int]:
        """The number of repeats of each sample id, in the order of the file."""
        counts: dict[str, int] = {}
        for (id, _), rows in self.rows.items():
            counts[id] = max(counts.get(id, 0), len(rows))
        return counts


def is_message(cell: object) -> bool:
    """Return True for a chat message of the model, `{"role": "assistant", "content": …}`."""
    return (
        isinstance(cell, Mapping)
        and cell.get("role") == "assistant"
        and "content" in cell
    )


def is_conversation(cell: object) -> bool:
    """Return True for a list of chat messages that ends with one of the model."""
    if not isinstance(cell, (list, tuple)) or not cell or not is_message(cell[-1]):
        return False
    roles = [turn.get("role") for turn in cell if isinstance(turn, Mapping)]
    return len(roles) == len(cell) and roles != ["assistant"] * len(cell)


def read_table(path: Path, named: Named) -> Table:
    """Read the predictions of a file. Raise if it is missing, empty or unreadable, or if columns are wrong."""
    if not path.is_file():
        if path.is_dir():
            reason = "a folder, not a file"
            fix = "name one file"
        else:
            reason, fix = why_no_data(path)
        raise UsageError(
            f"no predictions: {reason}",
            where=str(path),
            fix=fix,
        )
    if named.are_usual and is_format(path):
        return _foreign_table(path, named.task)
    shard = open_file(path, zeros=True)
    rows: dict[tuple[str, int], list[Row]] = {}
    checked: tuple[str, ...] | None = None
    media: dict[str, type[Media]] = {}
    for number, _, row in shard.rows():
        if isinstance(row, DataError):
            raise row
        assert not isinstance(
            row, Sample
        )  # Only code yields samples, and this is a file.
        names = tuple(row)
        if names != checked:
            media.update(_media_of(names, named, f"{path}:{number}"))
            checked = names
        try:
            key = as_id(row[named.id], named.id), _round_of(row)
        except RowFault as fault:
            raise fault.at(str(path), number) from fault
        cells = {column: row.get(column) for column in media}
        rows.setdefault(key, []).append(Row(number, row.get(named.prediction), cells))
    if not rows:
        raise DataError(
            "the file has no rows",
            file=str(path),
            fix="write at least one row",
        )
    return Table(rows, tuple(media.items()))


def _foreign_table(
    path: Path,
    task_name: str | None,
) -> Table:
    """Return the answers from the results of another tool, by sample id. Failed samples are left out."""
    run = format_of(path).read(path)
    tasks = [task for task in run.tasks if task_name in (None, task.task)]
    if len(tasks) != 1:
        names = ", ".join(dict.fromkeys(task.task for task in run.tasks))
        contents = "several tasks" if tasks else f"no task {task_name!r}"
        raise UsageError(
            f"these results hold {contents}",
            where=str(path),
            fix=f"-a task=NAME names one of {names}",
        )
    rows: dict[tuple[str, int], list[Row]] = {}
    for number, sample in enumerate(tasks[0].samples(), 1):
        if sample.output is None or sample.output.error is not None:
            continue
        texts = [candidate.text for candidate in sample.output.candidates]
        rows.setdefault((sample.id, 0), []).append(Row(number, texts, {}))
    if not rows:
        raise DataError(
            f"the results of {run.tool} hold no answers",
            file=str(path),
            fix="name the file with the samples",
        )
    return Table(rows, ())


def _media_of(
    names: tuple[str, ...],
    named: Named,
    where: str,
) -> dict[str, type[Media]]:
    """Return the media columns among `names`. Raise if a column that the user named is missing."""
    if named.id not in names:
        raise _no_column(named.id, "id", names, where)
    free = [name for name in names if name not in (named.id, named.prediction)]
    media, absent = media_columns(names, named.media, free)
    if absent:
        missing = absent[0]
        for kind, column in named.media.items():
            if missing in column:
                raise _no_column(missing, kind, names, where)
    if named.prediction not in names and not media:
        raise _no_column(named.prediction, "prediction", names, where)
    return dict(media)


def _no_column(
    wanted: str,
    part: str,
    names: Sequence[str],
    where: str,
) -> UsageError:
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

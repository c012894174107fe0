"""One pass over the rows of a dataset, from numbered rows to samples with their location."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ..core import BadSample, DataError, Sample
from .cells import as_id, as_name, as_weight
from .choice_order import with_shuffled_choices
from .choices import TwoReadings, Way, check_made_options
from .columns import ANYWHERE, Columns, Kind, tags_of
from .faults import NamedFault, RowFault
from .reach import Reach
from .row_media import set_place, with_made_media
from .shards import RowData, Shard, folder_of

ToSample = Callable[[Mapping[str, Any]], Sample]


def convert_row(
    to_sample: ToSample,
    row: Mapping[str, Any],
    mapping: Columns,
) -> Sample:
    """Return the sample that a task's own function builds from a row.

    If the function did not set the row, tags, cluster or weight, they are filled in.
    The caller fills in an empty id from the row's number. An error in the function is
    reported as a fault of that row.
    """
    try:
        sample = to_sample(row)
    except (RowFault, DataError) as fault:
        raise RowFault(
            fault.what,
            column=fault.column,
            fix=fault.fix,
        ) from fault
    except KeyError as error:
        raise RowFault(
            f"missing column {error}",
            column=str(error.args[0]),
            got=sorted(row),
        ) from error
    except (Exception, SystemExit) as error:
        raise RowFault(
            f"to_sample failed: {type(error).__name__}: {error}", got=dict(row)
        ) from error
    if not isinstance(sample, Sample):
        raise RowFault(
            f"to_sample returned a {type(sample).__name__}, not a Sample", got=sample
        )
    sample = with_made_media(sample)
    needed = (*mapping.tags, mapping.cluster, mapping.weight)
    if sample.fields and not any(needed):
        return sample
    missing = [name for name in needed if name is not None and name not in row]
    if missing:
        raise RowFault(f"column {missing[0]!r} is missing", column=missing[0])
    return replace(
        sample,
        fields=sample.fields or row,
        tags=sample.tags or tags_of(row, mapping.tags),
        cluster=as_name(row[mapping.cluster])
        if sample.cluster is None and mapping.cluster
        else sample.cluster,
        weight=as_weight(row[mapping.weight], mapping.weight)
        if sample.weight is None and mapping.weight
        else sample.weight,
    )


ROW_BITS = 40
OnDuplicate = Literal["error", "first", "suffix"]
Find = Callable[[tuple[str, ...], Columns | None], Columns]
"""A function that finds the column mapping for rows with these columns.

Its second argument is the mapping of the first rows.
"""
Decide = Callable[[Sequence[Way]], Way | None]
"""A function that chooses between several ways to read right answers, after reading all
rows.

It returns None if the rows do not decide.
"""


@dataclass(frozen=True, slots=True)
class Head:
    """Properties of a dataset that are determined from its first rows."""

    columns: Columns | None
    """The column mapping of the first rows. None if the source yields `Sample` objects."""
    has_ids: bool
    kind: Kind


@dataclass(frozen=True, slots=True)
class RowRules:
    """The rules for converting rows to samples, other than the column mapping."""

    on_duplicate: OnDuplicate
    strict: bool
    """Whether a row is refused if it has columns that the first rows lack."""
    to_sample: ToSample | None
    shuffle_choices: int | None
    """The seed for the order of the options; `None` keeps the order of the data."""


class Reading:
    """One pass over the rows, with the ids and the column mappings found so far."""

    def __init__(
        self,
        shards: Sequence[Shard],
        head: Head,
        find: Find,
        rules: RowRules,
        reach: Reach = ANYWHERE,
        decide: Decide = lambda ways: None,
    ) -> None:
        self._shards = shards
        self._head = head
        self._has_ids = head.has_ids
        self._find = find
        self._on_duplicate = rules.on_duplicate
        self._strict = rules.strict
        self._to_sample = rules.to_sample
        self._decide = decide
        self._mappings: dict[tuple[str, ...], Columns] = {}
        self._seen: dict[str, int] = {}
        """Shard and row number by id, packed into one integer because a tuple per row would cost too much memory."""
        self._reaches = [reach.beside(folder_of(shard)) for shard in shards]
        self._names = [shard.name for shard in shards]
        self._seed = rules.shuffle_choices
        self.take = self._take if rules.shuffle_choices is None else self._take_shuffled
        """Function that converts a row to a sample. It returns `None` for a repeated id that must be left out."""

    def _take_shuffled(
        self,
        at: int,
        position: int,
        number: int,
        row: RowData,
    ) -> Sample | BadSample | None:
        sample = self._take(at, position, number, row)
        if not isinstance(sample, Sample):
            return sample
        mapping = self._mappings.get(tuple(sample.fields))
        if mapping is None:
            columns = None
        else:
            columns = mapping.for_row(sample.fields)
        return with_shuffled_choices(sample, self._seed or 0, columns)

    def _take(
        self,
        at: int,
        position: int,
        number: int,
        row: RowData,
    ) -> Sample | BadSample | None:
        row_id: str | None = None
        try:
            if type(row) is not dict:
                if isinstance(row, DataError):
                    named = row.sample_id if isinstance(row, NamedFault) else None
                    return self._bad(at, number, named, row)
                if isinstance(row, Sample):
                    row_id = as_id(row.id, "id")
                    check_made_options(row.choices)
                    set_place(row, self._names[at], number)
                    return self._unique(at, number, row_id, row)
            names = tuple(row)
            mapping = self._mappings.get(names) or self._map(names)
            sample = None
            if self._to_sample is not None:
                sample = convert_row(self._to_sample, row, mapping)
                check_made_options(sample.choices)
                row_id = as_id(sample.id, "id") if sample.id else None
            if row_id is None and mapping.id is not None and self._has_ids:
                row_id = as_id(row[mapping.id], mapping.id)
            if row_id is not None:
                sample_id = row_id
            else:
                sample_id = self._number(mapping, position)
            if sample is None:
                sample = sample_of(
                    mapping,
                    row,
                    sample_id,
                    self._reaches[at],
                    self._decide,
                )
            elif sample.id != sample_id:
                sample = sample.named(sample_id)
            if sample.media or type(sample.input) is not str:
                set_place(sample, self._names[at], number)
            if sample_id not in self._seen:
                self._seen[sample_id] = at << ROW_BITS | number
                return sample
            return self._unique(at, number, sample_id, sample)
        except RowFault as fault:
            error = fault.at(self._shards[at].name, number)
            return self._bad(
                at,
                number,
                self._own_id(row) if row_id is None else row_id,
                error,
            )

    def forget(self) -> None:
        """Forget all ids seen so far."""
        self._seen.clear()

    def _map(self, names: tuple[str, ...]) -> Columns:
        first = self._head.columns
        mapping = self._find(names, first)
        extra = [
            name for name in names if first is not None and name not in first.names
        ]
        if self._strict and extra and first is not None:
            raise RowFault(
                f"unknown column {extra[0]!r}",
                column=extra[0],
                fix=f"columns: {', '.join(first.names)}",
            )
        self._mappings[names] = mapping
        return mapping

    def _own_id(self, row: RowData) -> str | None:
        """Return the id of a faulty row, or `None` if the row has no usable id."""
        if not isinstance(row, Mapping):
            return None
        column: str | None = getattr(self._to_sample, "id_column", None)
        if column is None and self._has_ids:
            column = (self._mappings.get(tuple(row)) or self._find(tuple(row), None)).id
        try:
            if column is not None and column in row:
                return as_id(row[column], column)
            return None
        except RowFault:
            return None

    def _number(self, mapping: Columns, position: int) -> str:
        if self._has_ids:
            column = (self._head.columns.id if self._head.columns else None) or "id"
            raise RowFault(
                "the id is missing",
                column=column,
                fix="give every row an id, or leave ids out of all rows",
            )
        if mapping.id is not None:
            raise RowFault(
                "this row has an id and those before it have none",
                column=mapping.id,
                fix="give all an id",
            )
        return str(position)

    def _unique(
        self,
        at: int,
        number: int,
        sample_id: str,
        sample: Sample,
    ) -> Sample | BadSample | None:
        first = self._seen.get(sample_id)
        if first is None:
            self._seen[sample_id] = at << ROW_BITS | number
            return sample
        policy = self._on_duplicate
        if policy == "first":
            return None
        if policy == "suffix":
            return sample.named(self._free(sample_id, 2, at << ROW_BITS | number))
        shard, row = divmod(first, 1 << ROW_BITS)
        if shard == at:
            there = f"row {row}"
        else:
            there = f"{self._shards[shard].name}:{row}"
        head = self._head.columns
        raise RowFault(
            f"the id is already that of {there}",
            column=(head.id if head else None) or "id",
            got=sample_id,
            fix="make ids unique, or choose on_duplicate: first or suffix",
        )

    def _bad(
        self,
        at: int,
        number: int,
        row_id: str | None,
        error: DataError,
    ) -> BadSample:
        """Return a `BadSample` with a unique id.

        It is the row's own id, or contains the row number if that id is missing or
        already used.
        """
        if row_id is not None and row_id not in self._seen:
            self._seen[row_id] = at << ROW_BITS | number
            return BadSample(row_id, error)
        if len(self._shards) == 1:
            row = f"row-{number}"
        else:
            row = f"row-{Path(self._shards[at].name).name}-{number}"
        bad_id = row if row_id is None else f"{row_id}#{row}"
        if bad_id in self._seen:
            bad_id = self._free(bad_id, 2, at << ROW_BITS | number)
        self._seen[bad_id] = at << ROW_BITS | number
        return BadSample(bad_id, error)

    def _free(
        self,
        sample_id: str,
        start: int,
        place: int,
    ) -> str:
        number = start
        while f"{sample_id}#{number}" in self._seen:
            number += 1
        free_id = f"{sample_id}#{number}"
        self._seen[free_id] = place
        return free_id


def sample_of(
    mapping: Columns,
    row: Mapping[str, Any],
    sample_id: str,
    reach: Reach,
    decide: Decide,
) -> Sample:
    """Convert a row to a sample. If its right answer is ambiguous, read it in the way that other rows require."""
    try:
        return mapping.sample(row, sample_id, reach)
    except TwoReadings as fault:
        way = decide(fault.ways)
        if way is None:
            raise
        return replace(mapping, answer=way).sample(row, sample_id, reach)

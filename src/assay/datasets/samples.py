"""Samples: a dataset for the runner, which can be read repeatedly, one row at a time.

A row that cannot be used becomes a `BadSample`, and the following rows are still read.
A file that cannot be used raises an error.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..code.userfiles import file_digest
from ..core import CHOICE_ORDER, BadSample, DataError, Sample
from .cells import Source
from .choice_order import with_shuffled_choices
from .choices import Way
from .columns import ANYWHERE, Columns, Kind, check_given, find_columns
from .faults import RowFault
from .json_shards import JsonArray, JsonLines
from .memory import Called, Rows, plain_row, source_digest
from .reach import Reach
from .reading import (
    Head,
    OnDuplicate,
    Reading,
    RowRules,
    ToSample,
    convert_row,
    sample_of,
)
from .shards import RowData, Shard, folder_of
from .tables import Table

HEAD_ROWS = 32
HEAD_BYTES = 1024 * 1024
SPLIT_COLUMN = "split"
SMALL_FILE_BYTES = 64 * 1024 * 1024
SIGN_BYTES = 1024 * 1024

Located = tuple[int, int, int, int, Sample | BadSample]
"""A sample with its location: shard index, index among all rows from 0, row number, and
byte offset.

The sample is the last element.
"""


@dataclass
class Samples:
    """The samples and bad samples of a dataset in the order of its rows. They can be iterated repeatedly."""

    shards: Sequence[Shard]
    columns: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    cluster: str | None = None
    split: str | None = None
    """The value of the `split` column of rows to read; None reads all."""
    on_duplicate: OnDuplicate = "error"
    strict: bool = False
    """If True, a row with a column that the first rows do not have is an error."""
    to_sample: ToSample | None = None
    """A task's own function from a row to a sample, used instead of the column mapping."""
    where: str = ""
    reach: Reach = ANYWHERE
    """The files and URLs that rows may use. Relative names are resolved against the folder of each shard."""
    subset: str = ""
    """Read only samples with this tag, written in lower case with `_` between words. Empty reads all samples."""
    shuffle_choices: int | None = None
    """Seed for shuffling the options of each sample. None keeps the order of the data."""
    shuffles_each_epoch: bool = False
    """True to shuffle the options differently in each epoch."""
    _head: Head | None = field(
        default=None,
        init=False,
        repr=False,
        compare=False,
    )
    _was_read: bool = field(
        default=False,
        init=False,
        repr=False,
        compare=False,
    )
    """True if the rows were read to the end at least once."""
    _ways: set[Way] | None = field(
        default=None,
        init=False,
        repr=False,
        compare=False,
    )

    @property
    def own_reach(self) -> Reach:
        """The files that functions of the task may open. They are the same that rows may use."""
        return self.reach.beside(folder_of(self.shards[0]))

    def __iter__(self) -> Iterator[Sample | BadSample]:
        take = self._reading().take
        position = -1
        split = self.split
        subset = self.subset
        for shard_index, shard in enumerate(self.shards):
            for number, _, row in shard.rows():
                position += 1
                if split is None or _in_split(row, split):
                    sample = take(shard_index, position, number, row)
                    if sample is not None and (
                        not subset or _in_subset(sample, subset)
                    ):
                        yield sample
        self._was_read = True

    def located(self) -> Iterator[Located]:
        """Yield every sample with its location."""
        reading = self._reading()
        for shard_index, position, number, offset, row in self._rows():
            sample = reading.take(shard_index, position, number, row)
            if sample is not None and (
                not self.subset or _in_subset(sample, self.subset)
            ):
                yield shard_index, position, number, offset, sample

    def picker(self) -> Callable[[int, int, int, int, str], Sample]:
        """Return a function that reads a valid sample again, given its location and id."""
        reading = self._reading()

        def pick(
            shard: int,
            position: int,
            number: int,
            offset: int,
            sample_id: str,
        ) -> Sample:
            reading.forget()
            sample = reading.take(
                shard,
                position,
                number,
                self.shards[shard].row_at(number, offset),
            )
            if not isinstance(sample, Sample):
                raise DataError(
                    "the row changed while it was read",
                    file=self.shards[shard].name,
                    row=number,
                )
            if sample.id == sample_id:
                return sample
            return replace(sample, id=sample_id)

        return pick

    def with_shuffled_choices(
        self,
        seed: int | None,
        *,
        each_epoch: bool = False,
    ) -> "Samples":
        """Return the same samples with options in an order drawn from the seed; None keeps the order of the rows."""
        if (self.shuffle_choices, self.shuffles_each_epoch) == (seed, each_epoch):
            return self
        other = copy(self)
        other.shuffle_choices = seed
        other.shuffles_each_epoch = each_epoch
        return other

    def in_epoch(self, sample: Sample, epoch: int) -> Sample:
        """Return the sample for an epoch, with the options in the order of that epoch."""
        if not self.shuffles_each_epoch or not epoch or self.shuffle_choices is None:
            return sample
        names = tuple(name for name in sample.fields if name != CHOICE_ORDER)
        columns = self._columns_for(names, None).for_row(sample.fields)
        return with_shuffled_choices(sample, self.shuffle_choices, columns, epoch)

    @property
    def head(self) -> Head:
        """The properties of the dataset that are determined from its first rows, which are read on first use."""
        if self._head is None:
            self._head = self._look()
        return self._head

    @property
    def kind(self) -> Kind:
        """The kind of task for which the columns are suited: `choice`, `qa`, `completion`, `dialogue` or `unknown`."""
        return self.head.kind

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of the rows; empty for rows in memory."""
        return tuple(shard.path for shard in self.shards if shard.path is not None)

    @property
    def known_length(self) -> int | None:
        """The number of rows, if it is known without reading them."""
        if self.split is not None or self.subset or self.on_duplicate == "first":
            return None
        lengths = [shard.known_length for shard in self.shards]
        if None in lengths:
            return None
        return sum(length for length in lengths if length is not None)

    @property
    def seekable(self) -> bool:
        """True if a row can be read without reading those before it."""
        return all(shard.seekable for shard in self.shards)

    def fingerprint(self) -> dict[str, Any]:
        """Return values that show quickly whether the data changed.

        For a file these are its size, time and digest (of a large file, only a digest
        of its first bytes). For data in memory it is the digest of the content or of
        the function's source.
        """
        if self.files:
            return {"files": [_signs(path) for path in self.files]}
        first = self.shards[0]
        if isinstance(first, Called):
            return {
                "function": first.name,
                "source_sha256": source_digest(first.function),
            }
        if not isinstance(first, Rows):
            return {"source": first.name}
        return {"rows": self.known_length, "sha256": self.digest()}

    def digest(self) -> str:
        """Return the sha256 of the data.

        One file is hashed by its bytes, several files by their names and digests, and
        rows as canonical JSON.

        If only the first rows of a large file were read, return a digest of its size
        and its first bytes, marked as partial, so that a run on a few rows does not have
        to read the whole file.
        """
        in_files = [
            (shard, shard.path) for shard in self.shards if shard.path is not None
        ]
        if len(in_files) == 1:
            return self._digest_of(*in_files[0])
        whole = hashlib.sha256()
        for shard, path in in_files:
            whole.update(f"{self._digest_of(shard, path)}  {path.name}\n".encode())
        for shard in self.shards:
            if shard.path is None:
                for _, _, row in shard.rows():
                    whole.update(plain_row(row) + b"\n")
        return whole.hexdigest()

    def _digest_of(self, shard: Shard, path: Path) -> str:
        if isinstance(shard, Table):
            digest = shard.known_digest()
        else:
            digest = None
        return digest or (file_digest(path) if self._was_read else _file_sign(path))

    def _rows(self) -> Iterator[tuple[int, int, int, int, RowData]]:
        position = 0
        split = self.split
        for shard_index, shard in enumerate(self.shards):
            for number, offset, row in shard.rows():
                is_included = split is None or _in_split(row, split)
                if is_included:
                    yield shard_index, position, number, offset, row
                position += 1
        self._was_read = True

    def _look(self) -> Head:
        """Return the `Head` of the dataset, from its first rows.

        If none of them is valid, read further until one is.
        """
        usable: list[Mapping[str, Any]] = []
        names: dict[str, None] = {}
        fault: DataError | None = None
        kinds: dict[Kind, None] = {}
        count = size = 0
        for shard_index, _, number, offset, row in self._rows():
            count += 1
            shard = self.shards[shard_index]
            if isinstance(row, Sample):
                return Head(None, True, _kind_of(row))
            if isinstance(row, DataError):
                fault = fault or row
                continue
            names.update(dict.fromkeys(shard.columns or row))
            try:
                mapping = self._columns_for(tuple(row), None)
                if self.to_sample is None:
                    sample = sample_of(
                        mapping,
                        row,
                        "",
                        self.reach.beside(folder_of(shard)),
                        self._decide,
                    )
                    is_open = mapping.kind == "choice" and not sample.choices
                    kinds["qa" if is_open else mapping.kind] = None
                else:
                    kinds[_kind_of(convert_row(self.to_sample, row, mapping))] = None
            except RowFault as error:
                fault = fault or error.at(shard.name, number)
            else:
                usable.append(row)
                size = offset
            if usable and (count >= self._enough(shard) or size > HEAD_BYTES):
                break
        if names:
            required = [*self.tags, *([self.cluster] if self.cluster else [])]
            check_given(
                self.columns,
                required,
                list(names),
                self.where or self.shards[0].name,
            )
        if not usable:
            raise self._nothing(count, fault)
        first = self._columns_for(tuple(usable[0]), None)
        has_ids = any(
            self._columns_for(tuple(row), None).id is not None for row in usable
        )
        if self.to_sample is not None:
            # The task reads its own columns, so none of the usual ones is required.
            first = replace(first, input=None, target=None)
        is_mixed = self.to_sample is None and "choice" in kinds and len(kinds) > 1
        return Head(
            first,
            has_ids,
            "mixed" if is_mixed else next(iter(kinds), first.kind),
        )

    def _enough(self, shard: Shard) -> int:
        """Return how many rows to inspect: 32, or 1 if a function generates them one by one."""
        if isinstance(shard, Rows) or shard.path is not None:
            return HEAD_ROWS
        return 1

    def _reading(self) -> Reading:
        rules = RowRules(
            self.on_duplicate,
            self.strict,
            self.to_sample,
            self.shuffle_choices,
        )
        return Reading(
            self.shards,
            self.head,
            self._columns_for,
            rules,
            self.reach,
            self._decide,
        )

    def _decide(self, possible: Sequence[Way]) -> Way | None:
        """Choose between several ways to read right answers, by the rows in which only
        one way is possible.

        If these rows disagree, return None. If there are none and the option columns
        are numbered, numbers count from 1. Reads all rows, once.
        """
        if self._ways is None:
            self._ways = self._all_ways()
        ways = self._ways.intersection(possible)
        if len(ways) == 1:
            return ways.pop()
        if ways or "text" in possible or "number" not in possible:
            return None
        return "number"

    def _all_ways(self) -> set[Way]:
        """Return the ways to read right answers that are the only possible way in at
        least one row.

        All rows are read.
        """
        mappings: dict[tuple[str, ...], Columns] = {}
        ways: set[Way] = set()
        for *_, row in self._rows():
            if not isinstance(row, Mapping):
                continue
            names = tuple(row)
            if names not in mappings:
                mappings[names] = self._columns_for(names, None)
            way = mappings[names].way_of(row)
            if way is not None:
                ways.add(way)
        return ways

    def _columns_for(
        self,
        names: tuple[str, ...],
        needed: Columns | None,
    ) -> Columns:
        return find_columns(
            names,
            self.columns,
            self.tags,
            self.cluster,
            needed,
            self._source,
        )

    @property
    def _source(self) -> Source:
        if all(isinstance(shard, Table) for shard in self.shards):
            return "table"
        if isinstance(self.shards[0], (JsonLines, JsonArray)):
            return "json"
        if isinstance(self.shards[0], (Rows, Called)):
            return "python"
        return "file"

    def _nothing(
        self,
        count: int,
        fault: DataError | None,
    ) -> DataError:
        first = self.shards[0]
        if len(self.shards) == 1:
            name = first.name
        else:
            name = f"{first.name} and {len(self.shards) - 1} more"
        if self.where and isinstance(first, (Rows, Called)):
            name += f" of {self.where}"  # Rows in memory have no path that would identify them.
        if fault is not None:
            return DataError(
                f"none of the {count} rows can be used; the first: {fault}", file=name
            )
        if self.split is not None:
            return DataError(
                f"no row has {SPLIT_COLUMN} {self.split!r}",
                file=name,
                fix="check the split's name",
            )
        return DataError("there are no rows", file=name, fix="write at least one row")


def _in_split(row: RowData, split: str) -> bool:
    """Return True if a row is in a split. The split of a faulty row is unknown, so it is counted in every split."""
    if isinstance(row, DataError):
        return True
    if isinstance(row, Sample):
        fields = row.fields
    else:
        fields = row
    return str(fields.get(SPLIT_COLUMN)) == split


def _in_subset(
    sample: Sample | BadSample,
    subset: str,
) -> bool:
    """Return True if a sample is in a subset.

    The tags of a faulty row are unknown, so it is counted in every subset.
    """
    if isinstance(sample, BadSample):
        return True
    return any(folded_value(str(value)) == subset for value in sample.tags.values())


def folded_value(text: str) -> str:
    """Return a tag's value as written in the name of a subset: lower case, `_` between words."""
    return re.sub(r"\W+", "_", text.lower()).strip("_")


def _kind_of(sample: Sample) -> Kind:
    if sample.choices:
        return "choice"
    if sample.turns or not isinstance(sample.input, str):
        return "dialogue"
    if not sample.input:
        return "qa" if sample.media else "unknown"
    return "qa"


def _signs(path: Path) -> dict[str, Any]:
    """Return properties that show whether a file was replaced: its size, time and digest.

    The modification time alone is not enough, because archive tools and `cp -p` set it.
    """
    state = path.stat()
    # Absolute, because the same file may be named from different folders.
    signs = {
        "path": str(path.resolve()),
        "size": state.st_size,
        "mtime_ns": state.st_mtime_ns,
    }
    return {**signs, "sha256": _file_sign(path)}


def _file_sign(path: Path) -> str:
    """Return the digest of a file. For a large file, only its size and first bytes are hashed."""
    size = path.stat().st_size
    if size <= SMALL_FILE_BYTES:
        return file_digest(path)
    with path.open("rb") as stream:
        return f"beginning:{hashlib.sha256(str(size).encode() + stream.read(SIGN_BYTES)).hexdigest()}"

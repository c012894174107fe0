"""Samples: a dataset as the runner sees it, read as often as need be, one row at a time.

A row that cannot be used comes as a `BadSample` and the stream goes on; a file that cannot be used raises.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..core import BadSample, DataError, Sample
from .cells import Source
from .choices import Way
from .columns import ANYWHERE, Columns, Kind, check_given, find_columns
from .converted import ToSample, converted
from .faults import RowFault
from .json_arrays import JsonArray
from .json_lines import JsonLines
from .lines import file_digest
from .memory import Called, Rows, plain_row, source_digest
from .reach import Reach
from .reading import Head, OnDuplicate, Reading, RowRules, sample_of
from .shards import RowData, Shard, folder_of
from .tables import Table

HEAD_ROWS = 32
HEAD_BYTES = 1024 * 1024
SPLIT_COLUMN = "split"
SMALL_FILE_BYTES = 64 * 1024 * 1024
SIGN_BYTES = 1024 * 1024

Located = tuple[int, int, int, int, Sample | BadSample]
"""Shard, position among all rows from 0, row number, byte offset, and what the row became."""


@dataclass
class Samples:
    """A re-iterable of `Sample | BadSample`, in the order of the rows."""

    shards: Sequence[Shard]
    columns: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    cluster: str | None = None
    split: str | None = None
    """Keep only rows whose `split` column says so; `None` keeps all."""
    on_duplicate: OnDuplicate = "error"
    strict: bool = False
    """A column that the first rows do not have is a fault."""
    to_sample: ToSample | None = None
    """A task's own way from a row to a sample, instead of the columns."""
    where: str = ""
    reach: Reach = ANYWHERE
    """Which files and URLs the rows may name; relative names start beside each shard."""
    subset: str = ""
    """Keep only samples one of whose tags has this value, small letters, `_` between words; empty keeps all."""
    shuffle_choices: int | None = None
    """The seed of another order of each sample's options; `None` keeps that of the rows."""
    _head: Head | None = field(default=None, init=False, repr=False, compare=False)
    _was_read: bool = field(default=False, init=False, repr=False, compare=False)
    """Whether some pass came to the end."""
    _ways: set[Way] | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def own_reach(self) -> Reach:
        """Which files a function of the task may name: those its rows may."""
        return self.reach.beside(folder_of(self.shards[0]))

    def __iter__(self) -> Iterator[Sample | BadSample]:
        take = self._reading().take
        position, split, subset = -1, self.split, self.subset
        for at, shard in enumerate(self.shards):
            for number, _, row in shard.rows():
                position += 1
                if split is None or _in_split(row, split):
                    sample = take(at, position, number, row)
                    if sample is not None and (
                        not subset or _in_subset(sample, subset)
                    ):
                        yield sample
        self._was_read = True

    def located(self) -> Iterator[Located]:
        """Every sample with the place it came from."""
        reading = self._reading()
        for at, position, number, offset, row in self._rows():
            sample = reading.take(at, position, number, row)
            if sample is not None and (
                not self.subset or _in_subset(sample, self.subset)
            ):
                yield at, position, number, offset, sample

    def picker(self) -> Callable[[int, int, int, int, str], Sample]:
        """A function that reads one good sample again by its place and its id."""
        reading = self._reading()

        def pick(
            shard: int, position: int, number: int, offset: int, sample_id: str
        ) -> Sample:
            reading.forget()
            sample = reading.take(
                shard, position, number, self.shards[shard].row_at(number, offset)
            )
            if not isinstance(sample, Sample):
                raise DataError(
                    "the row changed while it was read",
                    file=self.shards[shard].name,
                    row=number,
                )
            return sample if sample.id == sample_id else replace(sample, id=sample_id)

        return pick

    def with_shuffled_choices(self, seed: int | None) -> "Samples":
        """The same samples with the options of each in an order drawn from the seed; `None`: as the rows have them."""
        if self.shuffle_choices == seed:
            return self
        other = copy(self)
        other.shuffle_choices = seed
        return other

    @property
    def head(self) -> Head:
        """What the first rows tell; reads them when first asked."""
        if self._head is None:
            self._head = self._look()
        return self._head

    @property
    def kind(self) -> Kind:
        """What the columns look like: `choice`, `qa`, `completion`, `dialogue` or `unknown`."""
        return self.head.kind

    @property
    def files(self) -> tuple[Path, ...]:
        """The files the rows come from; none for rows in memory."""
        return tuple(shard.path for shard in self.shards if shard.path is not None)

    @property
    def known_length(self) -> int | None:
        """How many rows there are, where that is known without reading them."""
        if self.split is not None or self.subset or self.on_duplicate == "first":
            return None
        lengths = [shard.known_length for shard in self.shards]
        return (
            None
            if None in lengths
            else sum(length for length in lengths if length is not None)
        )

    @property
    def seekable(self) -> bool:
        """Whether single rows can be read without those before them."""
        return all(shard.seekable for shard in self.shards)

    def fingerprint(self) -> dict[str, Any]:
        """Cheap signs that the data changed: size, time and bytes of each file, of a large one its first bytes;
        content or source of what is in memory."""
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
        """sha256 of the data: of the file's bytes, of the files' digests by name, or of the rows as canonical JSON.

        Of a large file of which only the first rows were read, it is that of its size and its beginning, and says so:
        a few rows must not cost as much as all.
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
        digest = shard.known_digest() if isinstance(shard, Table) else None
        return digest or (file_digest(path) if self._was_read else _file_sign(path))

    def _rows(self) -> Iterator[tuple[int, int, int, int, RowData]]:
        position, split = 0, self.split
        for at, shard in enumerate(self.shards):
            for number, offset, row in shard.rows():
                if split is None or _in_split(row, split):
                    yield at, position, number, offset, row
                position += 1
        self._was_read = True

    def _look(self) -> Head:
        """Reads the first rows: enough for one good one, and for ids that only later rows have."""
        usable: list[Mapping[str, Any]] = []
        names: dict[str, None] = {}
        fault: DataError | None = None
        kinds: dict[Kind, None] = {}
        count = size = 0
        for at, _, number, offset, row in self._rows():
            count += 1
            shard = self.shards[at]
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
                    kinds[_kind_of(converted(self.to_sample, row, mapping))] = None
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
                self.columns, required, list(names), self.where or self.shards[0].name
            )
        if not usable:
            raise self._nothing(count, fault)
        first = self._columns_for(tuple(usable[0]), None)
        has_ids = any(
            self._columns_for(tuple(row), None).id is not None for row in usable
        )
        if self.to_sample is not None:
            # The task reads its own columns: none of the conventional ones is required.
            first = replace(first, input=None, target=None)
        is_mixed = self.to_sample is None and "choice" in kinds and len(kinds) > 1
        return Head(
            first, has_ids, "mixed" if is_mixed else next(iter(kinds), first.kind)
        )

    def _enough(self, shard: Shard) -> int:
        """How many rows to look at: of rows that a function yields one; later ones may have ids or options."""
        return HEAD_ROWS if isinstance(shard, Rows) or shard.path is not None else 1

    def _reading(self) -> Reading:
        rules = RowRules(
            self.on_duplicate, self.strict, self.to_sample, self.shuffle_choices
        )
        return Reading(
            self.shards, self.head, self._columns_for, rules, self.reach, self._decide
        )

    def _decide(self) -> Way | None:
        """How the rows read numbers among the right answers, where all that tell agree; reads them all, once."""
        if self._ways is None:
            mappings: dict[tuple[str, ...], Columns] = {}
            ways: set[Way | None] = set()
            for _, _, _, _, row in self._rows():
                if isinstance(row, Mapping):
                    names = tuple(row)
                    mapping = mappings.get(names) or mappings.setdefault(
                        names, self._columns_for(names, None)
                    )
                    ways.add(mapping.way_of(row))
            self._ways = {way for way in ways if way is not None}
        return next(iter(self._ways)) if len(self._ways) == 1 else None

    def _columns_for(self, names: tuple[str, ...], needed: Columns | None) -> Columns:
        return find_columns(
            names, self.columns, self.tags, self.cluster, needed, self._source
        )

    @property
    def _source(self) -> Source:
        if all(isinstance(shard, Table) for shard in self.shards):
            return "table"
        if isinstance(self.shards[0], (JsonLines, JsonArray)):
            return "json"
        return "python" if isinstance(self.shards[0], (Rows, Called)) else "file"

    def _nothing(self, count: int, fault: DataError | None) -> DataError:
        first = self.shards[0]
        name = (
            first.name
            if len(self.shards) == 1
            else f"{first.name} and {len(self.shards) - 1} more"
        )
        if self.where and isinstance(first, (Rows, Called)):
            name += f" of {self.where}"  # rows in memory have no path by which they could be told apart
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
    """Faulty rows belong to every split: nobody can tell which one they were in."""
    if isinstance(row, DataError):
        return True
    fields = row.fields if isinstance(row, Sample) else row
    return str(fields.get(SPLIT_COLUMN)) == split


def _in_subset(sample: Sample | BadSample, subset: str) -> bool:
    """Faulty rows belong to every subset, as to every split."""
    if isinstance(sample, BadSample):
        return True
    return any(folded_value(str(value)) == subset for value in sample.tags.values())


def folded_value(text: str) -> str:
    """A tag's value as it is written in the name of a subset: small letters, `_` between words."""
    return re.sub(r"\W+", "_", text.lower()).strip("_")


def _kind_of(sample: Sample) -> Kind:
    if sample.choices:
        return "choice"
    if sample.turns or not isinstance(sample.input, str):
        return "dialogue"
    if not sample.input:
        return "qa" if sample.media else "unknown"
    return "completion" if sample.target is None else "qa"


def _signs(path: Path) -> dict[str, Any]:
    """What tells a file from an earlier one of its name; the time alone does not: unpackers and `cp -p` set it."""
    state = path.stat()
    # Absolute: the same file is named from one folder today and from another tomorrow.
    place = {
        "path": str(path.resolve()),
        "size": state.st_size,
        "mtime_ns": state.st_mtime_ns,
    }
    return {**place, "sha256": _file_sign(path)}


def _file_sign(path: Path) -> str:
    """The digest of a small file; of a large one, that of its size and first bytes."""
    size = path.stat().st_size
    if size <= SMALL_FILE_BYTES:
        return file_digest(path)
    with path.open("rb") as stream:
        return f"beginning:{hashlib.sha256(str(size).encode() + stream.read(SIGN_BYTES)).hexdigest()}"

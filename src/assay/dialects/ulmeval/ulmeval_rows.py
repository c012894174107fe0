"""Samples from the rows of a user's dataset object, and the copy of its table in a run folder.

Each sample stores its row number in the user's data frame. The dataset object is built
when its rows are first read. Its digest is computed from the frame, so that it reflects
a changed table no matter how `load_data` reads it. With the copy of the table, the run
can be evaluated from its folder alone.
"""

import hashlib
import shutil
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core import AssayError, ComponentError, DataError, Sample, UsageError, blamed
from ...datasets import Samples
from ...datasets.reading import Head
from ...datasets.shards import Row, RowData
from ...store.file_ledger import FileLedger
from ..file_names import file_name
from ..kits.state import Surroundings, around
from ..kits.suffix_files import import_pandas, objects
from ..shapes import Fields, Record
from .ulmeval_tables import FAULTS, TABLE

if TYPE_CHECKING:
    from pandas import DataFrame, Series

DIGEST_ROWS = 256
"""Number of rows that are serialized at once for a digest.

It is small, because a cell may contain an image of several megabytes.
"""


class GuestData:
    """One dataset of a user's class, with the user's object and its data frame."""

    def __init__(
        self,
        cls: type,
        name: str,
        settings: Fields,
        surroundings: Surroundings,
    ) -> None:
        self.cls = cls
        self.name = name
        self.settings = dict(settings)
        self.surroundings = surroundings
        self.ids: list[str] = []
        self.faults: list[DataError] = []

    @property
    def frame(self) -> "DataFrame":
        """The user's data frame, with `index` as text, as in a run of ULMEvalKit."""
        return self.dataset.data

    def line(self, sample: Sample) -> "Series":
        """Return the row of a sample as the Series that `build_prompt` expects."""
        return self.frame.iloc[self.row_number(sample)]

    def row_number(self, sample: Sample) -> int:
        """Return the number of a sample's row in the data frame."""
        fields = sample.fields
        if not isinstance(fields, Line):
            raise UsageError(f"sample {sample.id!r} is not a row of {self.name!r}")
        return fields.row_number

    @cached_property
    def digest(self) -> str:
        """A digest of the data frame's columns and cells."""
        return _frame_digest(self.frame)

    @cached_property
    def row_digests(self) -> list[str]:
        """A digest for each row. They are computed together, which is about a hundred times as fast as row by row."""
        try:
            return [
                str(number)
                for number in import_pandas().util.hash_pandas_object(
                    self.frame, index=False
                )
            ]
        except TypeError:  # cells that cannot be hashed, such as lists
            return [
                repr(cells) for cells in self.frame.itertuples(index=False, name=None)
            ]

    @cached_property
    def dataset(self) -> Any:
        """The user's dataset object, built on first use."""
        where = f"dataset class {self.cls.__name__}({self.name!r})"
        import_pandas()
        try:
            with around(self.surroundings):
                dataset = self.cls(
                    dataset=self.name,
                    **self.settings,
                )
            data = getattr(dataset, "data", None)
            if data is None or "index" not in getattr(data, "columns", ()):
                raise UsageError(
                    "has no data frame `data` with a column `index`", where=where
                )
            if self.surroundings.data is not None and TABLE not in vars(dataset):
                raise UsageError(
                    "reads its data in its own way: --data cannot replace them",
                    where=where,
                )
            texts = objects([str(value) for value in data["index"]], data)
            dataset.data = data.assign(
                index=texts
            ).copy()  # a contiguous copy: rows are read faster
        except AssayError:
            raise
        except Exception as error:
            described = blamed(ComponentError, error, where)
            raise UsageError(described.what, where=where) from error
        self.ids = list(dataset.data["index"])
        self.faults = list(vars(dataset).get(FAULTS, ()))
        return dataset


class Line(Mapping[str, Any]):
    """The cells of one row by column name, looked up in the data frame on access."""

    __slots__ = ("data", "row_number")

    def __init__(self, data: GuestData, row_number: int) -> None:
        self.data = data
        self.row_number = row_number

    def __getitem__(self, column: str) -> object:
        return self.data.frame[column].iat[self.row_number]

    @property
    def row_digest(self) -> str:
        """Return a digest of the row's cells."""
        return self.data.row_digests[self.row_number]

    def __iter__(self) -> Iterator[str]:
        return iter(self.data.frame.columns)

    def __len__(self) -> int:
        return len(self.data.frame.columns)


class FrameRows:
    """The rows of a user's data frame, counted from 1, followed by the unusable rows of its table."""

    path: Path | None = None
    columns: tuple[str, ...] | None = None
    seekable = True

    def __init__(self, data: GuestData) -> None:
        self._data = data

    @property
    def name(self) -> str:
        """The name of the dataset in error messages."""
        return f"{self._data.cls.__name__}({self._data.name!r})"

    @property
    def known_length(self) -> int:
        """Number of all rows, including bad ones."""
        _ = self._data.dataset
        return len(self._data.ids) + len(self._data.faults)

    def rows(self) -> Iterator[Row]:
        """Yield the samples in the order of the frame."""
        data = self._data
        _ = data.dataset
        for row_number, index in enumerate(data.ids):
            yield row_number + 1, 0, Sample(index, fields=Line(data, row_number))
        for number, fault in enumerate(data.faults, len(data.ids) + 1):
            yield number, 0, fault

    def row_at(self, number: int, offset: int) -> RowData:
        """Return the row with this number."""
        data = self._data
        if number <= len(data.ids):
            return Sample(data.ids[number - 1], fields=Line(data, number - 1))
        return data.faults[number - 1 - len(data.ids)]


class GuestSamples(Samples):
    """The samples of a user's dataset, identified by the digest of its data frame.

    A table given by `--data` is read by the user's class.
    """

    def __init__(self, data: GuestData) -> None:
        super().__init__([FrameRows(data)])
        self.data = data

    def reading_from(self, data: str | None) -> "GuestSamples":
        """Return new samples of the same dataset. `data` is ignored, because the user's class has already read it."""
        return GuestSamples(self.data)

    @property
    def head(self) -> Head:
        """Return what is known about the samples without reading them. Columns are unknown."""
        return Head(None, True, "unknown")

    def fingerprint(self) -> Record:
        """Return the dataset's name and the digest of its frame."""
        return {"dataset": self.data.name, "frame_sha256": self.data.digest}

    def digest(self) -> str:
        """Return the digest of the frame."""
        return self.data.digest


def _frame_digest(frame: "DataFrame") -> str:
    digest = hashlib.sha256(
        repr(list(frame.columns)).encode("utf-8", "backslashreplace")
    )
    for name in frame.columns:
        column = frame[name]
        for start in range(0, len(column), DIGEST_ROWS):
            cells = column.iloc[start : start + DIGEST_ROWS].tolist()
            digest.update(repr(cells).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


TABLES = "tables"


def keep_table(data: GuestData, folder: Path) -> None:
    """Copy the table of a dataset into a run folder, unless a copy exists. Rows created by user code have no table."""
    table: Path | None = vars(data.dataset).get(TABLE)
    if table is None or not table.is_file():
        return
    suffix = "".join(table.suffixes)
    copy = folder / TABLES / f"{file_name(data.name)}{suffix}"
    if copy.exists():
        is_same = copy.samefile(table) or _size_and_time(copy) == _size_and_time(table)
        if is_same:
            return
    shutil.copy2(table, FileLedger(folder).claim(copy))


def kept_table(
    folder: str | None,
    name: str,
) -> Path | None:
    """Return the path of the copy of a dataset's table in a run folder; None if there is none."""
    if folder:
        home = Path(folder).expanduser() / TABLES
    else:
        home = None
    if home is None or not home.is_dir():
        return None
    stem = file_name(name)
    return next(
        (file for file in sorted(home.iterdir()) if file.name.startswith(f"{stem}.")),
        None,
    )


def _size_and_time(file: Path) -> tuple[int, int]:
    status = file.stat()
    return status.st_size, status.st_mtime_ns

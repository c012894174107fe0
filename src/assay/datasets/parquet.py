"""Parquet and Arrow files, read in small batches of rows.

Types come from the schema; nothing is guessed. Bytes that look like a pickle are
refused, never opened.

Arrow files are written by `save_to_disk` of Hugging Face's `datasets`. They are read
without that library and its decoders. `state.json` in such a folder lists the files
with rows, because the library also stores other files there. A dataset with several
splits (`dataset_dict.json`) has one such folder for each split.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING, Any, ClassVar

from ..core import DataError, MissingExtra, library
from .faults import RowFault
from .shards import Row, RowData, row_by_counting
from .undecoded import schema_rates, with_rates

if TYPE_CHECKING:
    from pyarrow import DataType
    from pyarrow.parquet import ParquetFile

BATCH_ROWS = 256
WIDE_BATCH_ROWS = 8


@dataclass(slots=True)
class Parquet:
    """Reads one Parquet file. Rows are counted from 1."""

    label: ClassVar[str] = "Parquet"
    path: Path
    seekable: bool = False
    _schema: Any = field(
        default=None,
        init=False,
        repr=False,
    )
    _length: int = field(
        default=0,
        init=False,
        repr=False,
    )

    @property
    def name(self) -> str:
        """The file name used in errors."""
        return str(self.path)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the schema."""
        self._load()
        return tuple(self._schema.names)

    @property
    def known_length(self) -> int:
        """The number of rows, from the footer of the file."""
        self._load()
        return self._length

    def kinds(self) -> dict[str, str]:
        """Return the type of each column, such as "integer". Similar types such as int32 and int64 are one type."""
        self._load()
        return {column.name: _kind(column.type) for column in self._schema}

    def rows(self) -> Iterator[Row]:
        """Yield the rows, read batch by batch."""
        number = 1
        with self._open() as file:
            kinds = {column.name: _kind(column.type) for column in file.schema_arrow}
            binary = [name for name, kind in kinds.items() if kind == "bytes"]
            rates = schema_rates(file.schema_arrow.metadata)
            is_wide = any(kind in ("bytes", "struct") for kind in kinds.values())
            try:
                for batch in file.iter_batches(
                    batch_size=WIDE_BATCH_ROWS if is_wide else BATCH_ROWS
                ):
                    for row in batch.to_pylist():
                        row = with_rates(row, rates)
                        yield number, 0, self._checked(row, binary, number)
                        number += 1
            except (OSError, ValueError) as error:
                raise DataError(
                    f"the {self.label} data is damaged: {first_line(error)}",
                    file=self.name,
                    row=number,
                ) from error

    def row_at(self, number: int, offset: int) -> RowData:
        """Return the row with this number."""
        return row_by_counting(self, number)

    def _checked(
        self,
        row: dict[str, Any],
        binary: Sequence[str],
        number: int,
    ) -> RowData:
        for name in binary:
            value = row[name]
            if (
                value
                and value[0] == 0x80
                and 2 <= value[1] <= 5
                and value.endswith(b".")
            ):
                fix = "store text, numbers, lists or image bytes; assay never opens pickles"
                return RowFault(
                    "the cell is a pickle, which is refused",
                    column=name,
                    got=value,
                    fix=fix,
                ).at(self.name, number)
        return row

    def _load(self) -> None:
        if self._schema is None:
            with self._open() as file:
                self._schema = file.schema_arrow
                self._length = file.metadata.num_rows

    def _open(self) -> "ParquetFile":
        try:
            import pyarrow.parquet
        except ImportError as error:
            raise MissingExtra("pyarrow, which reads Parquet,", "pyarrow") from error
        try:
            return pyarrow.parquet.ParquetFile(self.path)
        except (OSError, ValueError) as error:
            raise DataError(
                f"not a whole Parquet file: {first_line(error)}",
                file=self.name,
                fix="the file was cut: fetch it again",
            ) from error


def check_schemas(shards: Sequence[Parquet]) -> None:
    """Raise if a shard's columns differ from those of the first one."""
    first = shards[0].kinds()
    for shard in shards[1:]:
        kinds = shard.kinds()
        for name in dict.fromkeys([*first, *kinds]):
            if first.get(name) != kinds.get(name):
                has = kinds.get(name, "no such column")
                wants = first.get(name, "no such column")
                raise DataError(
                    f"the schema differs from {shards[0].path.name}: column {name!r} is {has} here, {wants} there",
                    file=shard.name,
                    column=name,
                    fix="write all shards with one schema",
                )


def _kind(kind: "DataType") -> str:
    import pyarrow.types as types

    if types.is_dictionary(kind):
        kind = kind.value_type
    tests = {
        "text": (types.is_string, types.is_large_string, types.is_string_view),
        "integer": (types.is_integer,),
        "number": (types.is_floating, types.is_decimal),
        "boolean": (types.is_boolean,),
        "bytes": (
            types.is_binary,
            types.is_large_binary,
            types.is_fixed_size_binary,
            types.is_binary_view,
        ),
        "list": (types.is_list, types.is_large_list, types.is_fixed_size_list),
        "struct": (types.is_struct,),
        "null": (types.is_null,),
    }
    return next(
        (
            name
            for name, checks in tests.items()
            if any(check(kind) for check in checks)
        ),
        str(kind),
    )


def first_line(error: BaseException) -> str:
    """Return the first line of a library's error message, shortened."""
    return str(error).partition("\n")[0][:120]


STATE = "state.json"
SPLITS = "dataset_dict.json"
FILE_MAGIC = b"ARROW1"


@dataclass(slots=True)
class Arrow(Parquet):
    """Reads one Arrow file in stream or file format. Rows are counted from 1."""

    label: ClassVar[str] = "Arrow"

    def _open(self) -> "_Opened":
        pyarrow = library("pyarrow", "pyarrow, which reads Arrow files,", "pyarrow")
        try:
            mapped = pyarrow.memory_map(str(self.path))
            is_file = mapped.read_at(len(FILE_MAGIC), 0) == FILE_MAGIC
            reader = (pyarrow.ipc.open_file if is_file else pyarrow.ipc.open_stream)(
                mapped
            )
            if is_file:
                batches = [
                    reader.get_batch(index)
                    for index in range(reader.num_record_batches)
                ]
            else:
                batches = list(reader)
        except (OSError, ValueError) as error:
            raise DataError(
                f"not a whole Arrow file: {first_line(error)}",
                file=self.name,
                fix="the file was cut: fetch it again",
            ) from error
        return _Opened(reader.schema, batches, mapped)


class _Opened:
    """The record batches of a memory-mapped file, with the interface of pyarrow's Parquet file."""

    def __init__(
        self,
        schema: object,
        batches: list[Any],
        mapped: IO[bytes],
    ) -> None:
        self.schema_arrow = schema
        self.metadata = SimpleNamespace(
            num_rows=sum(batch.num_rows for batch in batches)
        )
        self._batches = batches
        self._mapped = mapped

    def iter_batches(self, batch_size: int) -> Iterator[Any]:
        for batch in self._batches:
            for start in range(0, batch.num_rows, batch_size):
                yield batch.slice(start, batch_size)

    def __enter__(self) -> "_Opened":
        return self

    def __exit__(self, *_: object) -> None:
        self._batches = []
        self._mapped.close()


def holds_rows(path: Path) -> bool:
    """Return True if the folder's `state.json` lists this Arrow file, or if there is no `state.json`."""
    state = path.with_name(STATE)
    if not state.is_file():
        return True
    try:
        names = {
            file["filename"] for file in json.loads(state.read_bytes())["_data_files"]
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        fix = "save the dataset again with save_to_disk"
        raise DataError(
            "the file does not list the files of the dataset",
            file=str(state),
            fix=fix,
        ) from error
    return path.name in names


def split_by_folder(path: Path, folder: Path) -> str | None:
    """Return the split of a file in a folder written by `DatasetDict.save_to_disk`, or `None` for any other folder."""
    inner = path.relative_to(folder).parts
    if len(inner) > 1 and (folder / SPLITS).is_file():
        return inner[0]
    return None

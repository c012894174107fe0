"""Arrow files written by `save_to_disk` of Hugging Face's `datasets`, read without that library or its decoders.

`state.json` in such a folder lists the files that hold rows; the library keeps other files there too.
A dataset with several splits (`dataset_dict.json`) has one such folder per split.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

from ..core import DataError, library
from .parquet import Parquet, first_line

STATE = "state.json"
SPLITS = "dataset_dict.json"
FILE_MAGIC = b"ARROW1"


@dataclass(slots=True)
class Arrow(Parquet):
    """One Arrow file, in stream or file format. Rows are counted from 1."""

    label: ClassVar[str] = "Arrow"

    def _open(self) -> Any:
        pyarrow = library("pyarrow", "pyarrow, which reads Arrow files,", "pyarrow")
        try:
            mapped = pyarrow.memory_map(str(self.path))
            is_file = mapped.read_at(len(FILE_MAGIC), 0) == FILE_MAGIC
            reader = (pyarrow.ipc.open_file if is_file else pyarrow.ipc.open_stream)(
                mapped
            )
            batches = (
                [reader.get_batch(index) for index in range(reader.num_record_batches)]
                if is_file
                else list(reader)
            )
        except (OSError, ValueError) as error:
            raise DataError(
                f"not a whole Arrow file: {first_line(error)}",
                file=self.name,
                fix="the file was cut: fetch it again",
            ) from error
        return _Opened(reader.schema, batches, mapped)


class _Opened:
    """Record batches of the mapped file, with the interface of pyarrow's Parquet file."""

    def __init__(self, schema: object, batches: list[Any], mapped: Any) -> None:
        self.schema_arrow = schema
        self.metadata = SimpleNamespace(
            num_rows=sum(batch.num_rows for batch in batches)
        )
        self._batches, self._mapped = batches, mapped

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
    """Return the split of a file in a folder that `DatasetDict.save_to_disk` wrote, or `None` in any other folder."""
    inner = path.relative_to(folder).parts
    return inner[0] if len(inner) > 1 and (folder / SPLITS).is_file() else None

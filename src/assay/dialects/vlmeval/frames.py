"""Prediction tables as data frames, and how frames are written beside them: the formats of VLMEvalKit's files."""

import string
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ...store.file_ledger import FileLedger
from ..kits.suffix_files import dump_by_suffix, frame_of, write_table

LETTERS = frozenset(string.ascii_uppercase)


def put_table(
    path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Writes a table, unless that would replace one that assay did not write."""
    write_table(FileLedger(path.parent).claim(path), columns, rows)


def put_frame(path: Path, frame: Any) -> str:
    """Writes a data frame, or plain data, by the file's suffix; returns the file's name."""
    dump_by_suffix(frame, FileLedger(path.parent).claim(path))
    return path.name


def prediction_frame(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Any:
    """The predictions by row, their columns typed, in the order of the index."""
    frame = frame_of(
        [dict(zip(columns, row, strict=True)) for row in rows], list(columns)
    )
    return (
        frame.sort_values(by="index", kind="stable").reset_index(drop=True)
        if "index" in frame
        else frame
    )


def with_lower_names(frame: Any) -> Any:
    """The frame with the names of columns in small letters, except those of options."""
    return frame.rename(
        columns={
            name: name if name in LETTERS else name.lower() for name in frame.columns
        }
    )

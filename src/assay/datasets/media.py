"""Media columns: cells that are or name a picture, a sound or a film.

A cell may be a path (relative to the data file's folder), base64, a data URL, bytes, Hugging Face's
`{"bytes": …, "path": …}`, or a list of these. Nothing is opened here: a `Media` reads its bytes when asked.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core import Audio, Image, Media, Video
from .faults import RowFault

KINDS: dict[str, type[Media]] = {"image": Image, "audio": Audio, "video": Video}
LONGEST_PATH = 255
"""Longer text without a dot in it is base64, as in `core.media`."""


def media_columns(columns: Sequence[str]) -> tuple[tuple[str, type[Media]], ...]:
    """The columns that hold media, by name: `image` before `image_path`, one of them only."""
    found: list[tuple[str, type[Media]]] = []
    for kind, made in KINDS.items():
        names = (kind, f"{kind}s", f"{kind}_path", f"{kind}_paths")
        column = next((name for name in names if name in columns), None)
        if column is not None:
            found.append((column, made))
    return tuple(found)


def media_of(
    row: Mapping[str, Any], columns: Sequence[tuple[str, type[Media]]], folder: Path | None
) -> tuple[Media, ...]:
    """The media of a row, in the order of the columns; an empty cell is none."""
    found: list[Media] = []
    for column, made in columns:
        cell = row.get(column)
        if cell is None or cell == "" or cell == []:
            continue
        for piece in cell if isinstance(cell, (list, tuple)) else (cell,):
            found.append(_medium(piece, made, column, folder))
    return tuple(found)


def _medium(cell: Any, made: type[Media], column: str, folder: Path | None) -> Media:
    if isinstance(cell, Media):
        return cell
    if isinstance(cell, Mapping):
        inner = cell.get("bytes") or cell.get("path")
        if inner is None:
            raise RowFault(f"the {made.kind} has neither bytes nor path", column=column, got=cell)
        cell = inner
    if isinstance(cell, str) and not _is_inline(cell):
        return made(folder / cell if folder is not None else Path(cell), name=cell)
    if isinstance(cell, (str, bytes, bytearray, memoryview, Path)) or hasattr(cell, "save"):
        return made(cell)
    raise RowFault(
        f"cannot read {made.kind} from a {type(cell).__name__}",
        column=column,
        got=cell,
        fix="give a path, bytes or base64",
    )


def _is_inline(cell: str) -> bool:
    if cell.startswith(("data:", "http://", "https://")):
        return True
    return len(cell) > LONGEST_PATH and "." not in cell[:LONGEST_PATH]

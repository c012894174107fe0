"""Images of a TSV benchmark: base64 in the cell, in another row's cell, several in a list, or files by name.

The rules of the `image` and `image_path` columns as the VLMEvalKit family has them. A cell of at most 64 characters is
the index of the row that holds the image (one hop). Single rows are read by their byte offset, found in one pass that
is made when the first reference is met; so a file of any size needs no more memory than its index.
"""

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core import DataError, Image, shorten
from ..media.base64_text import image_bytes
from .faults import RowFault
from .files import open_file
from .list_literals import as_text_list, parse_list
from .reach import is_inside, store_of

LONGEST_REFERENCE = 64
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff")
LONGEST_SUFFIX = max(map(len, IMAGE_SUFFIXES))
KEPT_CELLS = 8

Lookup = Callable[[str], Any]
"""The `image` cell of the row with an index; `None` if there is no such row."""
Fallback = Callable[[Mapping[str, Any]], str | None]
"""The index of the row that lends its image to a row whose own cell holds none: it is empty, or a filler."""


def is_blank(cell: Any) -> bool:
    """Whether a cell holds nothing: absent, empty, or the NaN by which data frames say so."""
    return cell is None or cell == "" or cell != cell


class RowImages:
    """The images of rows of one table."""

    def __init__(
        self,
        lookup: Lookup,
        folders: Sequence[Path] = (),
        lender: Fallback | None = None,
        *,
        trusts_absolute: bool = False,
    ) -> None:
        self._lookup = lookup
        self._folders = tuple(folders)
        """Where files named in `image_path` are looked for."""
        self._trusts_absolute = trusts_absolute
        """Whether a whole path may lead out of the folders: the user's own table, not one that was fetched."""
        self._roots = [
            os.path.realpath(store_of(folder) or folder) for folder in folders
        ]
        self._lender = lender
        self._kept: OrderedDict[str, list[str]] = OrderedDict()

    def cells(self, row: Mapping[str, Any]) -> list[str]:
        """The base64 texts of a row, lists taken apart and references followed; none where the row has no image."""
        cell = row.get("image")
        if is_blank(cell):
            lent = self._lent(row)
            return [] if lent is None else self._referred(lent)
        pieces = pieces_of(cell, "image")
        if (
            len(pieces) == 1
            and len(pieces[0]) <= LONGEST_REFERENCE
            and not is_image_path(pieces[0])
        ):
            lent = self._lent(row)
            return self._referred(
                pieces[0]
                if lent is None or not is_blank(self._lookup(pieces[0]))
                else lent
            )
        return pieces

    def _lent(self, row: Mapping[str, Any]) -> str | None:
        return (
            self._lender(row) if self._lender is not None and "image" in row else None
        )

    def of(self, row: Mapping[str, Any]) -> tuple[Image, ...]:
        """The images of a row in order; nothing is decoded or opened here."""
        pieces = self.cells(row)
        if pieces:
            return tuple(
                Image(self.file(piece), name=piece)
                if is_image_path(piece)
                else inline(piece)
                for piece in pieces
            )
        return tuple(Image(self.file(name), name=name) for name in self.names(row))

    def names(self, row: Mapping[str, Any]) -> list[str]:
        """What `image_path` names: none, one or several files."""
        cell = row.get("image_path")
        return [] if is_blank(cell) else pieces_of(cell, "image_path")

    def file(self, name: str) -> Path:
        """The file a name stands for, in the first folder that has it; raises for one that lies in none of them."""
        if not self._folders or (self._trusts_absolute and os.path.isabs(name)):
            return Path(name).expanduser()
        path = next(
            (folder / name for folder in self._folders if (folder / name).exists()),
            self._folders[0] / name,
        )
        if not any(is_inside(path, root) for root in self._roots):
            raise RowFault(
                "the image file lies outside the data folder",
                column="image_path",
                got=name,
                fix=f"put it under {self._folders[0]}, or name the folder that holds it: --media_root DIR",
            )
        return path

    def _referred(self, index: str) -> list[str]:
        cells = self._kept.get(index)
        if cells is not None:
            return cells
        cell = self._lookup(index)
        if is_blank(cell):
            raise RowFault(
                f"the image is that of row {index!r}, which {'has none' if cell == '' else 'is not there'}",
                column="image",
                fix="give the index of a row with an image, or the image itself as base64",
            )
        pieces = pieces_of(cell, "image")
        if len(pieces) == 1 and len(pieces[0]) <= LONGEST_REFERENCE:
            raise RowFault(
                f"the image is that of row {index!r}, which itself refers to row {shorten(pieces[0])}",
                column="image",
                fix="refer to the row that holds the image",
            )
        self._kept[index] = pieces
        if len(self._kept) > KEPT_CELLS:
            self._kept.popitem(last=False)
        return pieces


class TableLookup:
    """Cells of other rows of a file, by index; the file is read through once, when the first is asked for."""

    def __init__(self, path: Path, index: str = "index") -> None:
        self._path = path
        self._index = index
        self._places: dict[str, tuple[int, int]] | None = None
        self._cells: dict[str, Any] = {}
        """Of a packed file, which cannot be read from its middle."""

    def __call__(self, index: str) -> Any:
        shard = open_file(self._path)
        if self._places is None:
            self._places = {}
            for number, offset, row in shard.rows():
                if isinstance(row, Mapping) and row.get(self._index) is not None:
                    key = str(row[self._index])
                    self._places.setdefault(key, (number, offset))
                    if not shard.seekable and not is_blank(row.get("image")):
                        self._cells.setdefault(key, row["image"])
        place = self._places.get(index)
        if place is None or not shard.seekable:
            return self._cells.get(index)
        row = shard.row_at(*place)
        if isinstance(row, DataError):
            raise RowFault(row.what, column="image")
        return row.get("image", "") if isinstance(row, Mapping) else None


def pieces_of(cell: Any, column: str) -> list[str]:
    """The texts of an image cell; one that opens a bracket must be a whole list."""
    if isinstance(cell, str) and cell.startswith("["):
        return parse_list(cell, column)
    return as_text_list(cell, column)


def inline(cell: str) -> Image:
    """An image from base64 of any length, or from a data URL."""
    return Image(cell, read=image_bytes)


def is_image_path(text: str) -> bool:
    """Whether a short text is the name of an image file."""
    return len(text) <= 4096 and text[-LONGEST_SUFFIX:].lower().endswith(IMAGE_SUFFIXES)

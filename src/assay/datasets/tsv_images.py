"""Images of a TSV benchmark: base64 in the cell or in another row's cell, several in a list, or files by name.

These are the rules of VLMEvalKit for the columns `image` and `image_path`. A cell of at
most 64 characters is the index of the row with the image (which may not be an index
again). For the first such reference, the file is read once to record the byte offset of
every row. After that, individual rows are read by offset, so memory holds only the offsets.
"""

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core import DataError, Image, shorten
from ..media.encode import image_bytes
from .cells import as_text_list, parse_list
from .faults import RowFault
from .files import open_file
from .reach import is_inside, store_of
from .shards import Shard

LONGEST_REFERENCE = 64
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff")
LONGEST_SUFFIX = max(map(len, IMAGE_SUFFIXES))
KEPT_CELLS = 8

Lookup = Callable[[str], Any]
"""A function that returns the `image` cell of the row with this index; None if no row has it."""
Fallback = Callable[[Mapping[str, Any]], str | None]
"""A function that returns the index of another row, whose image is used if a row's own
cell is empty or a placeholder.
"""


def index_text(index: object) -> str:
    """Return the index of a row as text. Excel and pandas may have changed 3 to 3.0."""
    if isinstance(index, float) and index.is_integer():
        return str(int(index))
    return str(index)


def is_blank(cell: object) -> bool:
    """Return True if a cell is absent, empty, or NaN, which data frames use for empty."""
    return cell is None or cell == "" or cell != cell


class RowImages:
    """The images of the rows of one table."""

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
        """Folders in which files named in `image_path` are searched."""
        self._trusts_absolute = trusts_absolute
        """True if an absolute path may lead outside the folders, because the user made the table."""
        self._roots = [
            os.path.realpath(store_of(folder) or folder) for folder in folders
        ]
        self._lender = lender
        self._kept: OrderedDict[str, list[str]] = OrderedDict()

    def cells(self, row: Mapping[str, Any]) -> list[str]:
        """Return the images of a row as base64 texts.

        Lists are split. A cell that refers to another row is replaced with that row's
        image.
        """
        cell = row.get("image")
        if is_blank(cell):
            lent = self._lent(row)
            if lent is None:
                return []
            return self._follow_reference(lent)
        pieces = pieces_of(cell, "image")
        if (
            len(pieces) == 1
            and len(pieces[0]) <= LONGEST_REFERENCE
            and not is_image_path(pieces[0])
        ):
            lent = self._lent(row)
            return self._follow_reference(
                pieces[0]
                if lent is None or not is_blank(self._lookup(pieces[0]))
                else lent
            )
        return pieces

    def _lent(self, row: Mapping[str, Any]) -> str | None:
        if self._lender is not None and "image" in row:
            return self._lender(row)
        return None

    def of(self, row: Mapping[str, Any]) -> tuple[Image, ...]:
        """Return the images of a row in order, without decoding or opening them."""
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
        """Return the file names in `image_path`: none, one or several."""
        cell = row.get("image_path")
        if is_blank(cell):
            return []
        return pieces_of(cell, "image_path")

    def file(self, name: str) -> Path:
        """Return the path of an image in the first folder that has it. Raise if the path is outside all folders."""
        if not self._folders or (self._trusts_absolute and os.path.isabs(name)):
            return Path(name).expanduser()
        path = next(
            (folder / name for folder in self._folders if (folder / name).exists()),
            self._folders[0] / name,
        )
        if not any(is_inside(path, root) for root in self._roots):
            raise RowFault(
                "the image file is outside the data folder",
                column="image_path",
                got=name,
                fix=f"put it under {self._folders[0]}, or name the folder that holds it: --media_root DIR",
            )
        return path

    def _follow_reference(self, index: str) -> list[str]:
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
    """Looks up cells of other rows of a file by index. The first lookup reads the whole file once."""

    def __init__(
        self,
        path: Path,
        index: str = "index",
    ) -> None:
        self._path = path
        self._index = index
        self._places: dict[str, tuple[int, int]] = {}
        """Row number and byte offset by index."""
        self._was_read = False
        self._cells: dict[str, Any] = {}
        """Cells of a compressed file, which cannot be read from its middle."""

    def __call__(self, index: str) -> object:
        shard = open_file(self._path)
        if not self._was_read:
            self._was_read = True
            for number, offset, row in shard.rows():
                if isinstance(row, Mapping):
                    self._add(shard, number, offset, row)
        location = self._places.get(index)
        if location is None or not shard.seekable:
            return self._cells.get(index)
        row = shard.row_at(*location)
        if isinstance(row, DataError):
            raise RowFault(row.what, column="image")
        if isinstance(row, Mapping):
            return row.get("image", "")
        return None

    def _add(
        self,
        shard: Shard,
        number: int,
        offset: int,
        row: Mapping[str, Any],
    ) -> None:
        """Record the offset of a row. If the file is compressed, also record the row's image cell."""
        index = row.get(self._index)
        if index is None:
            return
        key = str(index)
        self._places.setdefault(key, (number, offset))
        image = row.get("image")
        if not shard.seekable and not is_blank(image):
            self._cells.setdefault(key, image)


def pieces_of(cell: object, column: str) -> list[str]:
    """Return the base64 texts of an image cell: one text, or the entries of a list. Raise if a list is not closed."""
    if isinstance(cell, str) and cell.startswith("["):
        return parse_list(cell, column)
    return as_text_list(cell, column)


def inline(cell: str) -> Image:
    """Return an image from a base64 text of any length or from a data URL."""
    return Image(cell, read=image_bytes)


def is_image_path(text: str) -> bool:
    """Return True if a short text is the name of an image file."""
    return len(text) <= 4096 and text[-LONGEST_SUFFIX:].lower().endswith(IMAGE_SUFFIXES)

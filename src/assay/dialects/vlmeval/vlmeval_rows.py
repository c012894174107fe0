"""Read rows for user code. A pandas Series is created only when a user's method needs it.

For a table that is streamed, rows without an image are left out, as the class's
`skip_noimg=True` requires.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core import Image, Prompt, Sample, TemplateError
from ...datasets.cells import is_missing
from ...datasets.column_types import Types, typed, types_of_file
from ...datasets.faults import RowFault
from ...datasets.files import open_file
from ...datasets.reach import is_inside
from ...datasets.samples import SPLIT_COLUMN
from ...datasets.shards import Row, RowData, Shard
from ...datasets.tsv_images import (
    RowImages,
    TableLookup,
    is_blank,
)
from ..kits.base64_images import needs_rgb
from ..kits.row_images import file_names, file_path, image_file_path
from ..kits.state import current
from ..kits.suffix_files import import_pandas
from ..returned import bare
from ..shapes import Fields, Record
from .dataset_facts import (
    ROTATION,
    SNAPSHOT,
    added_url,
    data_root,
    image_folder,
    is_circular,
    is_mme,
    whole_index,
)
from .rules import chosen_rules

if TYPE_CHECKING:
    from pandas import DataFrame, Series


class Source:
    """The source of a dataset's rows, with everything needed to read their cells."""

    def __init__(
        self,
        name: str,
        path: Path | None = None,
        frame: "DataFrame" = None,
        dataset: object = None,
    ) -> None:
        self.name = name
        """The benchmark's name as its author writes it, because users' models depend on it."""
        self.path = path
        self.dataset = dataset
        """The user's dataset object, if there is one."""
        self.dumped: dict[str, Image] = {}
        """The images of the current row, by the files to which they were written, so that a prompt need not read
        them again.
        """
        self.is_dialogue = False
        """True if rows are dialogues. Their turns come from the dataset, even if a model builds its own prompts."""
        self.whole_video: Callable[[Sample], Prompt] | None = None
        """Builds the prompt of a row about a video, for models that accept whole videos."""
        self._frame = frame
        self._indexes: dict[tuple[str, ...], Any] = {}
        """pandas indexes by column names, reused for all rows because building one takes longer than the Series."""

    @cached_property
    def types(self) -> Types:
        """The data types of the columns of a TSV file; empty for a data frame, which is already typed."""
        if self.path is not None and self.path.exists():
            return types_of_file(self.path)
        return {}

    @cached_property
    def folder(self) -> Path:
        """The path of the folder for this dataset's images."""
        return image_folder(self.name)

    @cached_property
    def images(self) -> RowImages:
        """The image finder for this dataset's rows."""
        if self.path is not None:
            beside = [self.path.parent]
        else:
            beside = []
        media_root = current().media_root
        folders = [
            self.folder,
            *beside,
            *([media_root] if media_root is not None else []),
        ]
        lookup = TableLookup(self.path) if self.path is not None else self._in_frame
        return RowImages(
            lookup,
            folders,
            lambda row: index_of_image(self.name, row),
            trusts_absolute=self._is_own,
        )

    @property
    def _is_own(self) -> bool:
        """True if the data comes from the user's code, or from a table that the user put into `$LMUData`."""
        if self.path is None:
            return True
        urls = getattr(type(self.dataset), "DATASET_URL", {})
        url = (
            (urls.get(self.name) if isinstance(urls, Mapping) else None)
            or added_url(self.name)
            or ""
        )
        return "://" not in str(url) and is_inside(
            self.path, os.path.realpath(data_root())
        )

    def line(self, row: Fields) -> "Series":
        """Return a row as a Series for user code: typed cells, NaN for empty ones, image data instead of references."""
        self.dumped.clear()
        try:
            return self._series(row)
        except RowFault as fault:
            raise _prompt_fault(fault) from fault

    def _series(self, row: Fields) -> "Series":
        pandas = import_pandas()
        cells = {}
        for name, cell in row.items():
            cells[name] = typed(cell, self.types.get(name))
        if "image" in row:
            pieces = self.images.cells(row)
            if pieces:
                if len(pieces) == 1:
                    cells["image"] = pieces[0]
                else:
                    cells["image"] = list(pieces)
        if "image_path" in row:
            paths = self.images.names(row)
            if paths:
                if len(paths) == 1:
                    cells["image_path"] = paths[0]
                else:
                    cells["image_path"] = list(paths)
        names = tuple(cells)
        index = self._indexes.get(names)
        if index is None:
            index = self._indexes[names] = pandas.Index(names, dtype=object)
        return pandas.Series(list(cells.values()), index=index, dtype=object)

    def dump_image(self, line: Fields) -> list[str]:
        """Write the images of a line to files with the names that VLMEvalKit uses, and return their paths."""
        try:
            images = self.images.of(line)
            if not images:
                raise RowFault(
                    "the row has no image",
                    column="image",
                    fix="give it an image or an image_path",
                )
            return self._written(line, images)
        except RowFault as fault:
            raise _prompt_fault(fault) from fault

    def _written(
        self,
        line: Fields,
        images: Sequence[Image],
    ) -> list[str]:
        named: Sequence[str] = ()
        if "image_path" in line:
            named = self.images.names(line)
        names = file_names(line.get("index"), len(images), named, ".png")
        encodes = chosen_rules().encodes_images
        paths = []
        for image, name in zip(images, names, strict=False):
            path = file_path(image)
            if path is None:
                folder = self.target_folder
                path = image_file_path(image, folder, name, encodes=encodes)
                if not encodes and not needs_rgb(image):
                    # The file holds exactly the image's bytes.
                    image.name = path
                    self.dumped[path] = image
            paths.append(path)
        return paths

    @property
    def target_folder(self) -> str:
        """The folder to which images are written: `img_root` of the user's class. If it is not set, use `folder`."""
        return str(getattr(self.dataset, "img_root", None) or self.folder)

    def _in_frame(self, index: str) -> object:
        if self._frame is None or "image" not in self._frame:
            return None
        matching = self._frame.loc[self._frame["index"].astype(str) == index, "image"]
        if len(matching):
            return matching.iloc[0]
        return None


class LineRow(dict[str, Any]):
    """A row of a table as a dictionary. Its `line` is the same row as the pandas Series that users' methods expect."""

    __slots__ = ("_line", "source")

    def __init__(self, row: Fields, source: Source) -> None:
        super().__init__(row)
        self.source = source
        self._line: Any = None

    @property
    def line(self) -> "Series":
        """The row as a Series, built on first use."""
        if self._line is None:
            self._line = self.source.line(self)
        return self._line


def rows_of_frame(frame: "DataFrame") -> list[Record]:
    """Return the rows of a data frame that a user's class created."""
    names = [str(name) for name in frame.columns]
    rows = []
    for values in frame.itertuples(index=False, name=None):
        cells = [_bare(value) for value in values]
        rows.append(dict(zip(names, cells, strict=True)))
    return rows


def _prompt_fault(fault: RowFault) -> TemplateError:
    """Convert an error in a cell to a template error, so that only its row fails, when the prompt is built."""
    return TemplateError(
        fault.what,
        where=f"column {fault.column!r}" if fault.column else None,
        fix=fault.fix,
    )


def index_of_image(name: str, row: Fields) -> str | None:
    """Return the index of another row whose image this row must use. None if the benchmark has no such rule."""
    index = whole_index(row.get("index"))
    if index is None:
        return None
    if is_circular(name) and index >= ROTATION:
        return str(index % ROTATION)
    if is_mme(name) and index % 2:
        return str(index - 1)
    return None


def _bare(value: object) -> object:
    """Return a cell without its numpy type; an empty string for NaN."""
    cell = bare(value)
    return "" if is_missing(cell) else cell


class RowsWithImages:
    """The rows of a table that have an image: in the row itself, in another row, or given by a path."""

    known_length: int | None = None

    def __init__(
        self,
        path: Path,
        dataset: str,
        split: str | None = None,
    ) -> None:
        self.path: Path | None = path
        self._path = path
        self._dataset = dataset
        self._split = split

    def reading_from(self, data: str | None) -> object:
        """Return the rows of the file `data` instead, with the same filter.

        A run's `rows.jsonl` is returned unfiltered, because its rows have no images.
        """
        if data is None:
            return self
        path = Path(data).expanduser()
        if path.name == SNAPSHOT:
            return path
        return RowsWithImages(path, self._dataset)

    def of_split(self, split: str | None) -> "RowsWithImages":
        """Return the rows of one split, or all if `split` is None."""
        if split is None:
            return self
        return RowsWithImages(self._path, self._dataset, split)

    @cached_property
    def _table(self) -> Shard:
        return open_file(self._path)

    @property
    def name(self) -> str:
        """The name of the rows in error messages."""
        return self._table.name

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of all columns, if there is a header."""
        return self._table.columns

    @property
    def seekable(self) -> bool:
        """True if a row can be read without reading those before it."""
        return self._table.seekable

    def rows(self) -> Iterator[Row]:
        """Yield the rows with an image, with their numbers in the file."""
        for entry in self._table.rows():
            row = entry[2]
            if not isinstance(row, Mapping) or self._is_used(row):
                yield entry

    def _is_used(self, row: Fields) -> bool:
        """Return True if a row is in the chosen split and, in a table with images, has an image."""
        if self._split not in (None, str(row.get(SPLIT_COLUMN, ""))):
            return False
        is_shown = "image" not in row or not is_blank(row["image"])
        return is_shown or shows_images(row, self._dataset)

    def row_at(self, number: int, offset: int) -> RowData:
        """Return the row with this number, given its offset in the file."""
        return self._table.row_at(number, offset)


def shows_images(row: Fields, dataset: str) -> bool:
    """Return True if a row with an empty `image` cell still has an image: that of another row, or a file."""
    return (
        not is_blank(row.get("image_path")) or index_of_image(dataset, row) is not None
    )

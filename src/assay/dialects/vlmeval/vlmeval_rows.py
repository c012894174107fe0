"""Rows for user code: a `line` is a pandas Series, created only when a user's method needs one.

From tables that a class streams, only rows with an image are used, as `skip_noimg=True` requires.
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
    inline,
    is_blank,
    is_image_path,
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
    """The source of rows, with everything needed to interpret their cells."""

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
        self._cell: Any = None
        self._made: tuple[Any, Any, int] = (None, None, 0)
        """The last line with an image, its index, and the position of the image's cell."""
        self._called: tuple[int, Sequence[str]] = (-1, ())
        """The position of the index in the last line, and the names in its `image_path`."""
        self._frame = frame
        self._layouts: dict[tuple[str, ...], tuple[Any, list[type | None]]] = {}
        """For each tuple of column names: the index of a line, and the type of each column."""

    @cached_property
    def types(self) -> Types:
        """The types of the columns. Rows of a data frame have types already."""
        if self.path is not None and self.path.exists():
            return types_of_file(self.path)
        return {}

    @cached_property
    def folder(self) -> Path:
        """The folder of this dataset's images."""
        return image_folder(self.name)

    @cached_property
    def images(self) -> RowImages:
        """The images of these rows."""
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
            lambda row: lender(self.name, row),
            trusts_absolute=self._is_own,
        )

    @property
    def _is_own(self) -> bool:
        """True if the user provides the rows: made by the class's code, or a table copied into `$LMUData` by hand."""
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
        """Return a row as a Series: typed columns, NaN for empty cells, image data instead of references."""
        self.dumped.clear()
        try:
            return self._series(row)
        except RowFault as fault:
            raise _prompt_fault(fault) from fault

    def _series(self, row: Fields) -> "Series":
        pandas = import_pandas()
        names = tuple(row)
        layout = self._layouts.get(names)
        if layout is None:
            kinds = [self.types.get(name) for name in names]
            layout = self._layouts[names] = (pandas.Index(names, dtype=object), kinds)
        index, kinds = layout
        # An array of objects is taken as it is, while pandas would inspect every cell of a list.
        cells = self._empty_line(len(names))
        for position, cell in enumerate(row.values()):
            kind = kinds[position]
            cells[position] = (
                cell
                if kind is None and type(cell) is str and cell
                else typed(cell, kind)
            )
        position = -1
        if "image" in row:
            pieces = self.images.cells(row)
            if pieces:
                position = names.index("image")
                cells[position] = self._cell = (
                    pieces[0] if len(pieces) == 1 else list(pieces)
                )
        paths: Sequence[str] = ()
        if "image_path" in row:
            paths = self.images.names(row)
            if paths:
                cells[names.index("image_path")] = (
                    paths[0] if len(paths) == 1 else list(paths)
                )
        self._called = (names.index("index") if "index" in row else -1, paths)
        line = pandas.Series(
            cells,
            index=index,
            dtype=cells.dtype,
            copy=False,
        )
        self._made = (line, line.index, position) if position >= 0 else (None, None, 0)
        return line

    @cached_property
    def _empty_line(self) -> Callable[[int], Any]:
        import numpy

        kind = numpy.dtype(object)
        return lambda length: numpy.empty(length, dtype=kind)

    def dump_image(self, line: Fields) -> list[str]:
        """Write the images of a line as files under upstream's names, and return their paths."""
        try:
            images = self._at_hand(line) or self.images.of(line)
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
        names: Sequence[str] | None = None
        paths = []
        encodes = chosen_rules().encodes_images
        for index, image in enumerate(images):
            path = file_path(image)
            if path is None:
                if names is None:
                    names = self._names_of(line, len(images))
                path = image_file_path(
                    image,
                    self.target_folder,
                    names[index],
                    encodes=encodes,
                )
                if not encodes and not needs_rgb(
                    image
                ):  # the file holds exactly the image's bytes
                    image.name = path
                    self.dumped[path] = image
            paths.append(path)
        return paths

    def _names_of(self, line: Fields, count: int) -> list[str]:
        """Return the image names of a line. Fast path for the latest line, whose cells are read without pandas."""
        position, named = self._called
        if line is self._made[0] and position >= 0:
            return file_names(line.values[position], count, named, ".png")  # type: ignore[index]
        return file_names(
            line.get("index"),
            count,
            self.images.names(line) if "image_path" in line else (),
            ".png",
        )

    @property
    def target_folder(self) -> str:
        """The folder for images of these rows: the dataset object's `img_root`, which a user may have set."""
        return str(getattr(self.dataset, "img_root", None) or self.folder)

    def _at_hand(self, line: Fields) -> tuple[Image, ...]:
        """Return the image of the last line, which was decoded for it; empty for another line."""
        cell = self._cell
        if type(cell) is not str or is_image_path(cell):
            return ()
        latest, index, position = self._made
        if line is latest and line.index is index:  # type: ignore[attr-defined]
            # User code may have changed the cell; access by position costs a tenth of access by name.
            there = line.values[position]  # type: ignore[index]
        else:
            there = line.get("image")
        if there is cell:
            return (inline(cell),)
        return ()

    def _in_frame(self, index: str) -> object:
        if self._frame is None or "image" not in self._frame:
            return None
        matching = self._frame.loc[self._frame["index"].astype(str) == index, "image"]
        if len(matching):
            return matching.iloc[0]
        return None


class LineRow(dict[str, Any]):
    """A row that stores its source."""

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


class FrameRows(Sequence[dict[str, Any]]):
    """The rows of a data frame that a user's class made, one at a time."""

    def __init__(self, frame: "DataFrame") -> None:
        self._frame = frame

    def __len__(self) -> int:
        return len(self._frame)

    def __getitem__(self, place: object) -> Any:
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        names = [str(name) for name in self._frame.columns]
        return {
            name: _bare(value)
            for name, value in zip(names, self._frame.iloc[place], strict=True)
        }

    def __iter__(self) -> Iterator[Record]:
        names = [str(name) for name in self._frame.columns]
        for values in self._frame.itertuples(index=False, name=None):
            yield {
                name: _bare(value) for name, value in zip(names, values, strict=True)
            }


def _prompt_fault(fault: RowFault) -> TemplateError:
    """Convert a fault of a row into a prompt error."""
    return TemplateError(
        fault.what,
        where=f"column {fault.column!r}" if fault.column else None,
        fix=fault.fix,
    )


def lender(name: str, row: Fields) -> str | None:
    """Return the index of the row whose image an empty cell uses, according to the benchmark's name."""
    index = whole_index(row.get("index"))
    if index is None:
        return None
    if is_circular(name) and index >= ROTATION:
        return str(index % ROTATION)
    if is_mme(name) and index % 2:
        return str(index - 1)
    return None


def _bare(value: object) -> object:
    """Return a value without numpy's wrapper; an empty text for NaN."""
    cell = bare(value)
    return "" if is_missing(cell) else cell


class RowsWithImages:
    """The rows of a table that have an image of their own, another row's image, or an image path."""

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
        """Return the rows of another file. A run's snapshot has only rows that were asked, without images."""
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
        """True if single rows can be read without the previous ones."""
        return self._table.seekable

    def rows(self) -> Iterator[Row]:
        """Yield the rows with an image, with their numbers in the file."""
        all_splits = self._split is None
        for entry in self._table.rows():
            row = entry[2]
            # Most rows hold their image: pass those on without a closer look.
            holds_one = type(row) is dict and all_splits and row.get("image")
            if holds_one or not isinstance(row, Mapping):
                yield entry
                continue
            is_chosen = all_splits or str(row.get(SPLIT_COLUMN, "")) == self._split
            if is_chosen and (
                "image" not in row
                or not is_blank(row["image"])
                or shows_images(row, self._dataset)
            ):
                yield entry

    def row_at(self, number: int, offset: int) -> RowData:
        """Read one row again."""
        return self._table.row_at(number, offset)


def shows_images(row: Fields, dataset: str) -> bool:
    """Return True if a row with an empty `image` still has an image: another row's, or a file name."""
    return not is_blank(row.get("image_path")) or lender(dataset, row) is not None

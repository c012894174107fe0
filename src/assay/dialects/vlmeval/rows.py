"""Rows as guest code sees them: a `line` that is a pandas Series, made only when a user's method asks for one."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from ...core import Image, Prompt, Sample, TemplateError
from ...datasets.column_types import Types, typed, types_of_file
from ...datasets.faults import RowFault
from ...datasets.reach import is_inside
from ...datasets.tsv_images import RowImages, TableLookup, inline, is_image_path
from ..kits.base64_images import needs_rgb
from ..kits.image_files import file_path
from ..kits.row_images import file_names, image_file_path
from ..kits.state import current
from ..kits.suffix_files import import_pandas
from .era import upstreams_rule
from .kinds import ROTATION, is_circular, is_mme, whole_index
from .places import added_url, data_root, image_folder


class Source:
    """Where rows come from, with what is needed to understand their cells."""

    def __init__(
        self,
        name: str,
        path: Path | None = None,
        frame: Any = None,
        dataset: Any = None,
    ) -> None:
        self.name = name
        """The benchmark's name, as its author gave it: guest models switch on it."""
        self.path = path
        self.dataset = dataset
        """The user's dataset object, where there is one."""
        self.dumped: dict[str, Image] = {}
        """The images of the row at hand by the files they were written to: a prompt need not read them again."""
        self.is_dialogue = False
        """Whether rows are dialogues: their turns are the dataset's, whatever prompts a model builds by itself."""
        self.whole_video: Callable[[Sample], Prompt] | None = None
        """The prompt of a row about a video, for a model that takes videos as they are."""
        self._cell: Any = None
        self._made: tuple[Any, Any, int] = (None, None, 0)
        """The last line with an image, its index, and the place of the image's cell."""
        self._called: tuple[int, Sequence[str]] = (-1, ())
        """Where the index of the line made last stands, and what its `image_path` names."""
        self._frame = frame
        self._layouts: dict[tuple[str, ...], tuple[Any, list[type | None]]] = {}
        """By the names of columns: the index of a line, and the type of each column."""

    @cached_property
    def types(self) -> Types:
        """The types of the columns; rows of a data frame have theirs already."""
        return (
            types_of_file(self.path)
            if self.path is not None and self.path.exists()
            else {}
        )

    @cached_property
    def folder(self) -> Path:
        """Where images of this dataset lie."""
        return image_folder(self.name)

    @cached_property
    def images(self) -> RowImages:
        """The images of these rows."""
        beside = [self.path.parent] if self.path is not None else []
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
        """Whether the rows are the user's own: made by the class's code, or a table put into `$LMUData` by hand.

        A table with a URL may have come from anywhere; what it names stays inside the data folder.
        """
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

    def line(self, row: Mapping[str, Any]) -> Any:
        """A row as a Series: columns typed, empty cells NaN, the image's base64 in place of a reference to it."""
        self.dumped.clear()
        try:
            return self._series(row)
        except RowFault as fault:
            raise _prompt_fault(fault) from fault

    def _series(self, row: Mapping[str, Any]) -> Any:
        pandas = import_pandas()
        names = tuple(row)
        layout = self._layouts.get(names)
        if layout is None:
            kinds = [self.types.get(name) for name in names]
            layout = self._layouts[names] = (pandas.Index(names, dtype=object), kinds)
        index, kinds = layout
        # An array of objects is taken as it is, where pandas would look at every cell of a list.
        cells = self._empty_line(len(names))
        for place, cell in enumerate(row.values()):
            kind = kinds[place]
            cells[place] = (
                cell
                if kind is None and type(cell) is str and cell
                else typed(cell, kind)
            )
        place = -1
        if "image" in row:
            pieces = self.images.cells(row)
            if pieces:
                place = names.index("image")
                cells[place] = self._cell = (
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
        line = pandas.Series(cells, index=index, dtype=cells.dtype, copy=False)
        self._made = (line, line.index, place) if place >= 0 else (None, None, 0)
        return line

    @cached_property
    def _empty_line(self) -> Callable[[int], Any]:
        import numpy

        kind = numpy.dtype(object)
        return lambda length: numpy.empty(length, dtype=kind)

    def dump_image(self, line: Mapping[str, Any]) -> list[str]:
        """The images of a line as files, under the names upstream gives them."""
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

    def _written(self, line: Mapping[str, Any], images: Sequence[Image]) -> list[str]:
        names: Sequence[str] | None = None
        paths = []
        encodes = upstreams_rule()
        for place, image in enumerate(images):
            path = file_path(image)
            if path is None:
                if names is None:
                    names = self._names_of(line, len(images))
                path = image_file_path(
                    image, self.target_folder, names[place], encodes=encodes
                )
                if not encodes and not needs_rgb(
                    image
                ):  # the file has the image's own bytes
                    image.name = path
                    self.dumped[path] = image
            paths.append(path)
        return paths

    def _names_of(self, line: Mapping[str, Any], count: int) -> list[str]:
        """What the images of a line are called; of the line made last without asking pandas for its cells."""
        place, named = self._called
        if line is self._made[0] and place >= 0:
            return file_names(line.values[place], count, named, ".png")  # type: ignore[index]
        return file_names(
            line.get("index"),
            count,
            self.images.names(line) if "image_path" in line else (),
            ".png",
        )

    @property
    def target_folder(self) -> str:
        """Where images of these rows are written: the dataset object's `img_root`, which a user may have set."""
        return str(getattr(self.dataset, "img_root", None) or self.folder)

    def _at_hand(self, line: Mapping[str, Any]) -> tuple[Image, ...]:
        """The one image of the line made last, whose cell was understood then; none if this is another line."""
        cell = self._cell
        if type(cell) is not str or is_image_path(cell):
            return ()
        latest, index, place = self._made
        if line is latest and line.index is index:  # type: ignore[attr-defined]
            # What the user's code may have put there meanwhile, at a tenth of the price of asking by name.
            there = line.values[place]  # type: ignore[index]
        else:
            there = line.get("image")
        return (inline(cell),) if there is cell else ()

    def _in_frame(self, index: str) -> Any:
        if self._frame is None or "image" not in self._frame:
            return None
        found = self._frame.loc[self._frame["index"].astype(str) == index, "image"]
        return found.iloc[0] if len(found) else None


class LineRow(dict[str, Any]):
    """A row that knows where it comes from."""

    __slots__ = ("_line", "source")

    def __init__(self, row: Mapping[str, Any], source: Source) -> None:
        super().__init__(row)
        self.source = source
        self._line: Any = None

    @property
    def line(self) -> Any:
        """The row as a Series, made when first asked for."""
        if self._line is None:
            self._line = self.source.line(self)
        return self._line


class FrameRows(Sequence[dict[str, Any]]):
    """The rows of a data frame that a user's class made, one at a time."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __len__(self) -> int:
        return len(self._frame)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        names = [str(name) for name in self._frame.columns]
        return {
            name: _bare(value)
            for name, value in zip(names, self._frame.iloc[place], strict=True)
        }

    def __iter__(self) -> Iterator[dict[str, Any]]:
        names = [str(name) for name in self._frame.columns]
        for values in self._frame.itertuples(index=False, name=None):
            yield {
                name: _bare(value) for name, value in zip(names, values, strict=True)
            }


def _prompt_fault(fault: RowFault) -> TemplateError:
    """A fault of a row, met while its prompt is made."""
    return TemplateError(
        fault.what,
        where=f"column {fault.column!r}" if fault.column else None,
        fix=fault.fix,
    )


def lender(name: str, row: Mapping[str, Any]) -> str | None:
    """The index of the row whose image an empty cell stands for, where the benchmark's name says so."""
    index = whole_index(row.get("index"))
    if index is None:
        return None
    if is_circular(name) and index >= ROTATION:
        return str(index % ROTATION)
    return str(index - 1) if is_mme(name) and index % 2 else None


def _bare(value: Any) -> Any:
    """A value without numpy's wrapping; NaN as no value."""
    if hasattr(value, "item") and getattr(value, "size", 1) == 1:
        value = value.item()
    return (
        "" if value is None or (isinstance(value, float) and value != value) else value
    )

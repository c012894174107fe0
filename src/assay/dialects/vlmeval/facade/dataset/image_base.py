"""`vlmeval.dataset.image_base`: `ImageBaseDataset`, a benchmark with images in one TSV file.

The data frame is made only when somebody looks at `data`: a class that merely builds prompts from lines is given them
one at a time, and a file of any size stays on disk.
"""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from .....core import UsageError
from .....datasets.faults import RowFault
from .....datasets.files import open_file
from .....datasets.tsv_images import is_blank, pieces_of
from ....declared_fetch import fetch_declared
from ....kits.state import current
from ....kits.suffix_files import objects
from ...era import note_class, upstreams_rule
from ...places import DATASET_URLS, data_root, image_folder
from ...rows import Source
from ...tables import shows_images
from ..smp.file import load
from .reporting import Reporting
from .reporting import failures_in as _count_markers_in_obj  # noqa: F401 - upstream's own classes take these
from .reporting import judge_file_score as _score_judge_file_candidate  # noqa: F401
from .reporting import primary_key as _choose_primary_metric_key  # noqa: F401

__all__ = ["ImageBaseDataset", "img_root_map"]


class ImageBaseDataset(Reporting):
    """Base of dataset classes; subclasses write `build_prompt`, and may write `evaluate`."""

    MODALITY = "IMAGE"
    TYPE: ClassVar[str] = ""
    force_use_dataset_prompt = False
    skip_noimg = True
    # Names that only assay uses begin with its name: a user's class may well have a `_source` or a `_line` of its own.
    _assay_data_path = ""

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        note_class(cls)

    def __init__(
        self, dataset: str = "MMBench", skip_noimg: bool = True, **kwargs: Any
    ) -> None:
        self.dataset_name = dataset
        self.skip_noimg = skip_noimg
        self.img_root = str(image_folder(dataset))
        if self._assay_reads_its_own_way():
            self.data = self._assay_finished(self.load_data(dataset))
        self.post_build(dataset)

    @property
    def is_loaded(self) -> bool:
        """Whether there is a data frame."""
        return vars(self).get("data") is not None

    @cached_property
    def data(self) -> Any:
        """All rows as a data frame, read when first looked at."""
        return self._assay_finished(self.load_data(self.dataset_name))

    @cached_property
    def meta_only(self) -> bool:
        """Whether rows name image files and hold none."""
        return "image" not in (
            self.data.columns
            if self.is_loaded
            else open_file(self.data_file).columns or ()
        )

    @cached_property
    def data_file(self) -> Path:
        """The TSV; brought on first use where the class declares a URL."""
        name = self.dataset_name
        return self._assay_prepared(
            self._assay_url_of(name), self.DATASET_MD5.get(name)
        )

    @property
    def data_path(self) -> str:
        """The same as text, which upstream's constructor leaves."""
        return self._assay_data_path or str(self.data_file)

    @data_path.setter
    def data_path(self, path: str) -> None:
        self._assay_data_path = path

    def load_data(self, dataset: str) -> Any:
        """The rows of a dataset as a data frame, by the class's own `prepare_tsv` where it has one."""
        if (
            dataset == self.dataset_name
            and type(self).prepare_tsv is ImageBaseDataset.prepare_tsv
        ):
            return load(self.data_file)
        return self.prepare_tsv(
            self._assay_url_of(dataset), self.DATASET_MD5.get(dataset)
        )

    def prepare_tsv(self, url: str, file_md5: str | None = None) -> Any:
        """The TSV `$LMUData/<dataset>.tsv` as a data frame; downloaded if need be, its MD5 checked afterwards."""
        path = self._assay_prepared(url, file_md5)
        self.data_path = str(path)
        return load(path)

    def _assay_url_of(self, dataset: str) -> str:
        return (
            self.DATASET_URL.get(dataset)
            or DATASET_URLS.get(dataset)
            or f"{dataset}.tsv"
        )

    def _assay_prepared(self, url: str, file_md5: str | None) -> Path:
        path = data_root() / f"{self.dataset_name}.tsv"
        legacy = data_root() / url.rpartition("/")[2]
        if not path.exists() and legacy.exists():
            path = legacy
        if url.startswith(("http://", "https://")):
            path = fetch_declared(
                url, path, checksum=file_md5, allow_private=current().allow_private_urls
            )
        elif not path.exists():
            raise UsageError(
                f"class {type(self).__name__} finds no TSV and declares no URL for {self.dataset_name!r}",
                where=str(path),
                fix="put the file there, set $LMUData, or give --data FILE.tsv",
            )
        return path

    def dump_image(self, line: Any) -> list[str]:
        """The images of a line as files."""
        return self.rows_source.dump_image(self._assay_line(line))

    def build_prompt(self, line: Any) -> Any:
        """The images of a line and its question, as a message list."""
        line = self._assay_line(line)
        return [*self._assay_images(line), {"type": "text", "value": line["question"]}]

    def display(self, line: Any) -> None:
        """Prints the texts of a line."""
        line = self._assay_line(line)
        for name, value in line.items():
            if name != "image" and not is_blank(value):
                print(f"{name}: {value}")

    def _assay_images(self, line: Any) -> list[dict[str, str]]:
        return [{"type": "image", "value": path} for path in self._assay_shown(line)]

    def _assay_shown(self, line: Any) -> list[str]:
        """The files of a line as prompts name them; upstream names what `image_path` says where rows hold none."""
        found = self.dump_image(line)  # which refuses names that lead out of the data
        if self.meta_only and upstreams_rule() and not is_blank(line.get("image_path")):
            return pieces_of(line["image_path"], "image_path")
        return found

    @cached_property
    def rows_source(self) -> Source:
        """What understands the cells of this dataset's rows."""
        state = vars(self)
        return Source(
            self.dataset_name,
            None if self.is_loaded else state.get("data_file"),
            state.get("data"),
            self,
        )

    def _assay_finished(self, frame: Any) -> Any:
        """The frame as upstream finishes it: no rows without image if so wished, references and lists resolved."""
        if frame is None or not hasattr(frame, "columns"):
            return frame
        if "image_path" in frame.columns:
            frame = frame.copy()
            frame["image_path"] = objects(
                [_named(cell) for cell in frame["image_path"]], frame
            )
        if "image" not in frame.columns:
            return frame
        source = Source(self.dataset_name, None, frame)
        rows = frame.to_dict(orient="records")
        cells = [_resolved(source, row) for row in rows]
        frame = frame.copy()
        frame["image"] = objects(cells, frame)
        if self.skip_noimg:
            shows = [
                c is not None or shows_images(row, self.dataset_name)
                for c, row in zip(cells, rows, strict=True)
            ]
            frame = frame[shows].reset_index(drop=True)
        return frame

    def _assay_reads_its_own_way(self) -> bool:
        kind, base = type(self), ImageBaseDataset
        return (
            kind.load_data is not base.load_data
            or kind.prepare_tsv is not base.prepare_tsv
        )


def _resolved(source: Source, row: Mapping[str, Any]) -> Any:
    """The images of a row; a cell that cannot be understood stays, and is the fault of its row when it is asked."""
    try:
        pieces = source.images.cells(_texts(row))
    except RowFault:
        return row["image"]
    return None if not pieces else pieces[0] if len(pieces) == 1 else pieces


def _named(cell: Any) -> Any:
    """The files that a cell names: one, or a list of several."""
    try:
        names = [] if is_blank(cell) else pieces_of(cell, "image_path")
    except RowFault:
        return cell
    return cell if not names else names[0] if len(names) == 1 else names


def _texts(row: Mapping[str, Any]) -> dict[str, Any]:
    """The image cell as text: a column of short references may have been read as numbers."""
    cell = row.get("image")
    return {
        **row,
        "image": cell if is_blank(cell) or isinstance(cell, (str, list)) else str(cell),
    }


def img_root_map(dataset: str) -> str:
    """The folder of a dataset's images under `$LMUData/images`."""
    return image_folder(dataset).name

"""Base classes for a benchmark in one TSV file, with images, texts or videos.

The data frame is built only when code reads `data`. A class that only builds prompts
gets the lines one at a time, so that a table of any size stays on disk.
"""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ...core import UsageError
from ...datasets.faults import RowFault
from ...datasets.files import open_file
from ...datasets.tsv_images import is_blank, pieces_of
from ..declared_fetch import fetch_declared
from ..kits.kit_table_rows import TableRows
from ..kits.message_content import Entries
from ..kits.smp.file import load
from ..kits.state import current
from ..kits.suffix_files import objects
from ..shapes import Fields, Record
from .dataset_facts import DATASET_URLS, data_root, image_folder
from .rules import chosen_rules
from .videos import Spacing, video_frames
from .vlmeval_rows import Source, shows_images

if TYPE_CHECKING:
    from pandas import DataFrame, Series

INFER_FAIL_MSG = "Failed to obtain answer"

CLASSES: list[Any] = []
"""Dataset classes of user files, in the order of their definition. The newest one that supports a name is used."""


class UpstreamMethod:
    """A class method that assay does not implement: it calls the method in VLMEvalKit's own `ImageBaseDataset`."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._assay_name = name

    def __get__(self, instance: object, owner: type) -> object:
        from .vlmeval_toolkit import upstream_base

        base = upstream_base(owner)
        if base is None:
            raise AttributeError(
                f"{self._assay_name} is VLMEvalKit's own: run in a checkout of it, or install it"
            )
        return vars(base)[self._assay_name].__get__(instance, owner)


class Reporting(TableRows):
    """Class methods with which VLMEvalKit's scripts list a dataset's result files, failures and main metric."""

    get_judge_file = UpstreamMethod()
    report_infer_err = UpstreamMethod()
    report_judge_err = UpstreamMethod()
    report_primary_metric = UpstreamMethod()

    DEFAULT_JUDGE: ClassVar[str | list[str]] = "gpt-4o-mini"
    INFER_FAIL_MARKERS: ClassVar[tuple[str, ...]] = (INFER_FAIL_MSG,)
    JUDGE_FAIL_MARKERS: ClassVar[tuple[str, ...]] = (INFER_FAIL_MSG,)

    def __init_subclass__(cls, **settings: object) -> None:
        super().__init_subclass__(**settings)
        if not cls.__module__.startswith("assay."):
            CLASSES.append(cls)


class ImageBaseDataset(Reporting):
    """Base of dataset classes. Subclasses define `build_prompt`, and optionally `evaluate`."""

    MODALITY = "IMAGE"
    TYPE: ClassVar[str] = ""
    force_use_dataset_prompt = False
    skip_noimg = True
    # Names that only assay uses begin with `_assay`: a user's class may have its own `_source` or `_line`.
    _assay_data_path = ""

    def __init__(
        self,
        dataset: str = "MMBench",
        skip_noimg: bool = True,
        **kwargs: object,
    ) -> None:
        self.dataset_name = dataset
        self.skip_noimg = skip_noimg
        self.img_root = str(image_folder(dataset))
        if self._assay_reads_its_own_way():
            self.data = self._assay_finished(self.load_data(dataset))
        self.post_build(dataset)

    @property
    def is_loaded(self) -> bool:
        """True if the data frame exists."""
        return vars(self).get("data") is not None

    @cached_property
    def data(self) -> "DataFrame":
        """All rows as a data frame, read on first access."""
        return self._assay_finished(self.load_data(self.dataset_name))

    @cached_property
    def meta_only(self) -> bool:
        """True if rows contain names of image files; False if they contain the images."""
        if self.is_loaded:
            return "image" not in self.data.columns
        return "image" not in (open_file(self.data_file).columns or ())

    @cached_property
    def data_file(self) -> Path:
        """The TSV. It is downloaded on first use if the class declares a URL."""
        name = self.dataset_name
        checksum = self.DATASET_MD5.get(name)
        return self._assay_prepared(self._assay_url_of(name), checksum)

    @property
    def data_path(self) -> str:
        """The path of `data_file` as a string. User code may set it, as VLMEvalKit's constructor does."""
        return self._assay_data_path or str(self.data_file)

    @data_path.setter
    def data_path(self, path: str) -> None:
        self._assay_data_path = path

    def load_data(self, dataset: str) -> "DataFrame":
        """Return the rows of a dataset as a data frame. If the class overrides `prepare_tsv`, call that method."""
        has_own = type(self).prepare_tsv is not ImageBaseDataset.prepare_tsv
        if dataset == self.dataset_name and not has_own:
            return load(self.data_file)
        checksum = self.DATASET_MD5.get(dataset)
        return self.prepare_tsv(self._assay_url_of(dataset), checksum)

    def prepare_tsv(
        self,
        url: str,
        file_md5: str | None = None,
    ) -> "DataFrame":
        """Return the TSV `$LMUData/<dataset>.tsv` as a data frame.

        Download it if necessary, and check its MD5 after the download.
        """
        path = self._assay_prepared(url, file_md5)
        self.data_path = str(path)
        return load(path)

    def _assay_url_of(self, dataset: str) -> str:
        return (
            self.DATASET_URL.get(dataset)
            or DATASET_URLS.get(dataset)
            or f"{dataset}.tsv"
        )

    def _assay_prepared(
        self,
        url: str,
        file_md5: str | None,
    ) -> Path:
        path = data_root() / f"{self.dataset_name}.tsv"
        legacy = data_root() / url.rpartition("/")[2]
        if not path.exists() and legacy.exists():
            path = legacy
        if url.startswith(("http://", "https://")):
            path = fetch_declared(
                url,
                path,
                checksum=file_md5,
                allow_private=current().allow_private_urls,
            )
        elif not path.exists():
            raise UsageError(
                f"class {type(self).__name__} finds no TSV and declares no URL for {self.dataset_name!r}",
                where=str(path),
                fix="put the file there, set $LMUData, or give --data FILE.tsv",
            )
        return path

    def dump_image(self, line: object) -> list[str]:
        """Write the images of a line (a row of the TSV) to files, and return their paths."""
        return self.rows_source.dump_image(self._assay_line(line))

    def build_prompt(self, line: "int | Series") -> Entries:
        """Return the prompt of a line: its images, then its question, as a message list."""
        line = self._assay_line(line)
        return [*self._assay_images(line), {"type": "text", "value": line["question"]}]

    def display(self, line: "int | Series") -> None:
        """Print the text cells of a line."""
        line = self._assay_line(line)
        for name, value in line.items():
            if name != "image" and not is_blank(value):
                print(f"{name}: {value}")

    def _assay_images(self, line: object) -> list[dict[str, str]]:
        return [{"type": "image", "value": path} for path in self._assay_shown(line)]

    def _assay_shown(self, line: "Series") -> list[str]:
        """Return the paths of a line's images for a prompt. Write image files that do not exist yet.

        Under VLMEvalKit's rules, `image_path` is used as written if the table has no
        column `image`.
        """
        # This raises for names outside the data folder.
        files = self.dump_image(line)
        as_written = self.meta_only and chosen_rules().keeps_image_paths
        if as_written and not is_blank(line.get("image_path")):
            return pieces_of(line["image_path"], "image_path")
        return files

    @cached_property
    def rows_source(self) -> Source:
        """The object that reads the cells of this dataset's rows, such as their images."""
        state = vars(self)
        if self.is_loaded:
            path = None
        else:
            path = state.get("data_file")
        return Source(self.dataset_name, path, state.get("data"), self)

    def _assay_finished(self, frame: "DataFrame") -> "DataFrame":
        """Prepare the data frame as VLMEvalKit's constructor does.

        If an image cell refers to another row, it gets that row's image. With
        `skip_noimg`, rows without an image are dropped.
        """
        if frame is None or not hasattr(frame, "columns"):
            return frame
        if "image_path" in frame:
            paths = [_named(cell) for cell in frame["image_path"]]
            frame = frame.assign(image_path=objects(paths, frame))
        if "image" not in frame:
            return frame
        source = Source(self.dataset_name, None, frame)
        rows = frame.to_dict(orient="records")
        cells = [_resolved(source, row) for row in rows]
        frame = frame.assign(image=objects(cells, frame))
        if not self.skip_noimg:
            return frame
        shows = []
        for cell, row in zip(cells, rows, strict=True):
            shows.append(cell is not None or shows_images(row, self.dataset_name))
        return frame[shows].reset_index(drop=True)

    def _assay_reads_its_own_way(self) -> bool:
        kind, base = type(self), ImageBaseDataset
        return (
            kind.load_data is not base.load_data
            or kind.prepare_tsv is not base.prepare_tsv
        )


def _resolved(source: Source, row: Fields) -> object:
    """Return the image of a row, a list if it has several, or None.

    An invalid cell is returned unchanged. Its row fails later, when the cell is used.
    """
    try:
        pieces = source.images.cells(_texts(row))
    except RowFault:
        return row["image"]
    if not pieces:
        return None
    if len(pieces) == 1:
        return pieces[0]
    return pieces


def _named(cell: object) -> object:
    """Return the file name in an `image_path` cell, or a list if there are several.

    An empty or invalid cell is returned unchanged.
    """
    try:
        if is_blank(cell):
            names = []
        else:
            names = pieces_of(cell, "image_path")
    except RowFault:
        return cell
    if not names:
        return cell
    if len(names) == 1:
        return names[0]
    return names


def _texts(row: Fields) -> Record:
    """Return a row whose image cell is a string. pandas may have read an index of another row as a number."""
    cell = row.get("image")
    is_text = is_blank(cell) or isinstance(cell, (str, list))
    return {**row, "image": cell if is_text else str(cell)}


def img_root_map(dataset: str) -> str:
    """Return the name of a dataset's image folder, which is below `$LMUData/images`."""
    return image_folder(dataset).name


class TextBaseDataset(ImageBaseDataset):
    """Base of dataset classes without images."""

    MODALITY = "TEXT"

    def __init__(
        self,
        dataset: str = "MMBench",
        **kwargs: object,
    ) -> None:
        super().__init__(
            dataset,
            skip_noimg=False,
            **kwargs,
        )

    def dump_image(self, line: object) -> list[str]:
        """Return an empty list, because these rows have no images."""
        return []

    def build_prompt(self, line: "int | Series") -> Entries:
        """Return the prompt of a line: its question as a message list."""
        return [{"type": "text", "value": self._assay_line(line)["question"]}]


class VideoBaseDataset(Reporting):
    """Base of dataset classes about videos. Subclasses define `prepare_dataset`, `build_prompt` and `evaluate`."""

    MODALITY = "VIDEO"
    TYPE: ClassVar[str] = "Video-VQA"

    def __init__(
        self,
        dataset: str = "MMBench-Video",
        pack: bool = False,
        nframe: int = 0,
        fps: float = -1,
    ) -> None:
        if pack:
            raise UsageError(
                "pack=True would ask all questions of a video at once",
                fix="leave it out",
            )
        if fps > 0 and nframe > 0:
            raise ValueError("fps and nframe should not be set at the same time")
        self.dataset_name = dataset
        locations = self.prepare_dataset(dataset)
        self.data_root: str = locations["root"]
        self.data_file: str = locations["data_file"]
        self.frame_root = str(image_folder(dataset))
        Path(self.frame_root).mkdir(
            parents=True,
            exist_ok=True,
        )
        self.frame_tmpl, self.frame_tmpl_fps = (
            "frame-{}-of-{}.jpg",
            "frame-{}-of-{}-{}fps.jpg",
        )
        self.pack, self.nframe, self.fps = pack, nframe, fps
        self.split_frame = fps > 0 or nframe > 0
        self.data = load(self.data_file)
        missing = [name for name in ("question", "video") if name not in self.data]
        if missing:
            raise UsageError(
                f"videos need the column {missing[0]!r}", where=str(self.data_file)
            )
        if "index" not in self.data:
            self.data["index"] = range(len(self.data))
        self.videos = sorted(set(self.data["video"]))

    def prepare_dataset(self, dataset: str) -> dict[str, str]:
        """Return the folder of the videos and the path of the table, as `dict(root=…, data_file=…)`.

        By default, the table is `$LMUData/<dataset>.tsv`, with the videos next to it.
        """
        table = ImageBaseDataset(dataset, skip_noimg=False).data_file
        return {"root": str(Path(table).parent), "data_file": str(table)}

    def prepare_tsv(
        self,
        url: str,
        file_md5: str | None = None,
    ) -> "DataFrame":
        """Return the TSV `$LMUData/<dataset>.tsv` as a data frame.

        Download it if necessary, and check its MD5 after the download.
        """
        table = ImageBaseDataset(self.dataset_name, skip_noimg=False)
        frame = table.prepare_tsv(url, file_md5)
        self.data_path = table.data_path
        return frame

    def frame_paths(self, video: str) -> list[str]:
        """Return the image paths for `nframe` evenly spaced frames of a video, and create their folder."""
        return self._assay_frame_files(video, self.frame_tmpl, self.nframe)

    def frame_paths_fps(self, video: str, num_frames: int) -> list[str]:
        """Return the image paths for `num_frames` frames of a video, taken at a fixed rate, and create their folder."""
        return self._assay_frame_files(video, self.frame_tmpl_fps, num_frames)

    def _assay_frame_files(
        self,
        video: str,
        names: str,
        count: int,
    ) -> list[str]:
        folder = Path(self.frame_root) / video
        folder.mkdir(parents=True, exist_ok=True)
        return [
            str(folder / names.format(number, count, self.fps))
            for number in range(1, count + 1)
        ]

    def save_video_frames(self, video: str) -> list[str]:
        """Write `nframe` evenly spaced frames of a video, or `fps` per second, to image files. Return their paths."""
        folder = Path(self.frame_root) / Path(video).stem
        spacing = Spacing(self.nframe, self.fps)
        return video_frames(self._assay_video(video), folder, spacing)

    def _assay_video(self, video: str) -> Path:
        """Return the path of a video file, given its name with or without the suffix `.mp4`."""
        if Path(video).suffix:
            name = video
        else:
            name = f"{video}.mp4"
        return Path(self.data_root) / name

    def build_prompt(
        self,
        line: "int | Series",
        video_llm: bool = False,
    ) -> Entries:
        """Return the prompt of a line: its video, as a file or as images of frames, then its question.

        `video_llm` is True for models that accept whole videos.
        """
        line = self._assay_line(line)
        video = str(line["video"])
        if video_llm or not self.split_frame:
            media = [{"type": "video", "value": str(self._assay_video(video))}]
        else:
            frames = self.save_video_frames(video)
            media = [{"type": "image", "value": path} for path in frames]
        return [*media, {"type": "text", "value": str(line["question"])}]

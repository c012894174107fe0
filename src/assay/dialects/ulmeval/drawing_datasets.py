"""Base classes of datasets whose answers are images, the lookup of datasets by name, and `build_judge`."""

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ...core import UsageError
from ...datasets.cells import as_text_list
from ...datasets.faults import RowFault
from ...datasets.tsv_images import inline, is_blank, is_image_path
from ..kits.kit_table_rows import KnownClasses, TableRows
from ..kits.kit_table_rows import infer_dataset_basename as infer_dataset_basename
from ..kits.row_images import file_names, image_file_path
from ..kits.smp.file import LMUDataRoot, dump, load
from ..kits.smp.images import mmqa_display
from ..kits.state import as_upstream
from ..shapes import Record
from .drawing_models import OpenAIWrapper
from .ulmeval_tables import fetched_table, read_table, with_images, with_index

if TYPE_CHECKING:
    from pandas import DataFrame, Series

__all__ = ["dump", "load"]
"""Functions of another module that are also exported by `ulmeval.dataset`."""

CLASSES: list[Any] = []
"""Dataset classes of user files, in the order of their definition. The newest one that supports a name is used."""


class TableDataset(TableRows):
    """A dataset with a table of prompts, `self.data`. Subclasses define the source of the table, and the prompts."""

    def __init_subclass__(cls, **settings: object) -> None:
        super().__init_subclass__(**settings)
        CLASSES.append(cls)

    def load_data(self, dataset: str) -> "DataFrame":
        """Return the table of a dataset as a data frame."""
        return self.prepare_tsv(
            self.DATASET_URL.get(dataset) or f"{dataset}.tsv",
            self.DATASET_MD5.get(dataset),
        )

    def prepare_tsv(
        self,
        url: str,
        file_md5: str | None = None,
    ) -> "DataFrame":
        """Return the table at a URL as a data frame. An existing file in `$LMUData` is used instead of a download."""
        path, other = self._assay_paths(url)
        self.data_path = str(path)
        return read_table(fetched_table(url, path, file_md5, other), self)

    def _assay_paths(self, url: str) -> tuple[Path, Path]:
        """Return two paths at which to look for the table: `$LMUData/<dataset>.tsv`, then the file name in the URL."""
        root = Path(LMUDataRoot())
        return root / f"{self.dataset_name}.tsv", root / url.split("/")[-1]

    def display(self, line: object) -> None:
        """Print a row, and show any images in it."""
        mmqa_display(self._assay_line(line))

    def evaluate(self, eval_file: str, **judge_kwargs: object) -> object:
        """Return the scores of a prediction file. Each subclass defines its own."""
        raise NotImplementedError(f"{type(self).__name__} has no `evaluate`")


class TextBaseDataset(TableDataset):
    """A table of text prompts. Subclasses define the prompts and the scoring of the generated images."""

    MODALITY: ClassVar[str] = "TEXT"
    TYPE: ClassVar[str] = "T2I"
    _assay_prompts: ClassVar[tuple[str, ...]] = ("question", "prompt")
    """Names of columns that may contain the prompt."""

    def __init__(
        self,
        dataset: str = "",
        **kwargs: object,
    ) -> None:
        self.dataset_name = dataset
        self.data: Any = with_index(self.load_data(dataset))
        self.post_build(dataset)

    def _assay_paths(self, url: str) -> tuple[Path, Path]:
        """Return two paths at which to look for the table: the file name in the URL, then `$LMUData/<dataset>.tsv`."""
        named, in_url = super()._assay_paths(url)
        return in_url, named

    def dump_image(self, line: object) -> list[str]:
        """Return an empty list, because these rows have no images."""
        return []

    def build_prompt(self, line: "int | Series") -> list[dict[str, str]]:
        """Return the prompt of a line: the text in the column `question`. If there is none, use the column `prompt`."""
        line = self._assay_line(line)
        column = next(
            (name for name in self._assay_prompts if name in line),
            self._assay_prompts[-1],
        )
        return [{"type": "text", "value": line[column]}]


def img_root_map(dataset: str) -> str:
    """Return the name of a benchmark's image folder, which is below `$LMUData/images`."""
    return dataset


class ImageBaseDataset(TableDataset):
    """A table of prompts with images. An image is a base64 string, the index of another row, a list, or a path."""

    MODALITY: ClassVar[str] = "IMAGE"
    TYPE: ClassVar[str] = "IT2I"

    def __init__(
        self,
        dataset: str = "",
        skip_noimg: bool = True,
    ) -> None:
        self.dataset_name = dataset
        images = Path(LMUDataRoot()) / "images"
        self.img_root = str(images / img_root_map(dataset))
        self.skip_noimg = skip_noimg
        data = self.load_data(dataset)
        if skip_noimg and "image" in data:
            has_no_image = data["image"].map(is_blank).astype(bool)
            data = data[~has_no_image]
        self.meta_only = "image" not in data
        data = with_images(data, self, f"{dataset}.tsv")
        self.data: Any = with_index(data)
        self.post_build(dataset)

    def dump_image(self, line: "Series") -> list[str]:
        """Write the images of a row to files and return their paths.

        The names come from `image_path`; otherwise they are `<index>.jpg`, or
        `<index>_<number>.png` for several images. If a file of that name has other
        pixels, it is kept and the image gets a different name.
        """
        named = line.get("image_path")
        has_names = named is not None and not _is_empty(named)
        if has_names:
            names = as_text_list(named)
        else:
            names = []
        if "image" not in line or _is_empty(line["image"]):
            return [self._assay_found(name) for name in names]
        cells = as_text_list(line["image"])
        files = file_names(line.get("index"), len(cells), names, ".jpg")
        return [
            self._assay_file(cell, name)
            for cell, name in zip(cells, files, strict=False)
        ]

    def _assay_file(self, cell: str, name: str) -> str:
        if is_image_path(cell):
            return self._assay_found(cell)
        try:
            return image_file_path(
                inline(cell),
                self.img_root,
                name,
                encodes=as_upstream(),
            )
        except RowFault as fault:
            raise ValueError(
                f"column {fault.column!r}: {fault.what}: {fault.got}"
            ) from fault

    def _assay_found(self, name: str) -> str:
        path = Path(name)
        if path.is_file() or path.is_absolute():
            return name
        return str(Path(self.img_root) / name)

    def build_prompt(self, line: "int | Series") -> list[dict[str, str]]:
        """Return the prompt of a line: its images, then the text in `question` or, if that is missing, in `prompt`."""
        line = self._assay_line(line)
        if as_upstream() and self.meta_only:
            paths = as_text_list(line["image_path"])
        else:
            paths = self.dump_image(line)
        images = [{"type": "image", "value": path} for path in paths]
        if "question" in line:
            column = "question"
        else:
            column = "prompt"
        return [*images, {"type": "text", "value": line[column]}]


def _is_empty(cell: object) -> bool:
    return not isinstance(cell, list) and is_blank(cell)


VERSIONS = {"gpt-4o": "gpt-4o-2024-05-13"}
SPECIALISTS: dict[str, tuple[str, str, str]] = {
    "mask2former": (
        "mmdet_model",
        "MMDetModel",
        "mask2former_swin-s-p4-w7-224_lsj_8x2_50e_coco",
    ),
    "openclip-vit-l-14": ("openclip", "OpenCLIPModel", "ViT-L-14"),
    "mplug": (
        "mplug",
        "MPLUGModel",
        "damo/mplug_visual-question-answering_coco_large_en",
    ),
}
"""Judges that are not language models, such as detectors, each with its module, its class and its weights."""
DEBUG_MESSAGE = (
    "Ask the judge one question by itself: OpenAIWrapper('gpt-4o').generate('Hello!')"
)


def build_judge(guest: object = None, **kwargs: Any) -> object:
    """Return the judge for a user's `evaluate`. The argument `model` selects it.

    It may be any assay model (`openai/…`, `file.py:fn`) or a model at an OpenAI
    endpoint. Detectors and similar judges are classes of ULMEvalKit. `guest` loads them
    from ULMEvalKit's checkout.
    """
    name = kwargs.pop("model", None)
    kwargs.pop("nproc", None)
    if name is None:
        raise UsageError(
            "`evaluate` asked for a judge and none was named", fix="--judge MODEL"
        )
    if name in SPECIALISTS:
        return _specialist(guest, name, kwargs)
    version = os.environ.get("LOCAL_LLM") or VERSIONS.get(name, name)
    return OpenAIWrapper(version, **kwargs)


def _specialist(
    guest: Any,
    name: str,
    options: Record,
) -> object:
    """Create a judge that is not a language model, such as a detector, from the files of a checkout."""
    module_name, class_name, weights = SPECIALISTS[name]
    full_name = f"ulmeval.dataset.utils.{module_name}"
    if guest is None or not guest.has_own(full_name):
        raise UsageError(
            f"the judge {name!r} is a class of ULMEvalKit, which is not here",
            fix="run a file in a checkout of ULMEvalKit, or install it; assay's own benchmarks ask workers",
        )
    return getattr(guest.own_module(full_name), class_name)(weights, **options)


def names_for(guest: object) -> Record:
    """Return a `build_judge` for the user files that `guest` loads. It finds ULMEvalKit's own judges near them."""
    return {"build_judge": partial(build_judge, guest)}


IMAGE_DATASET: list[Any] = []
TEXT_DATASET: list[Any] = []
DATASET_CLASSES: list[Any] = []
"""List to which user files append dataset classes. Classes that a file only defines are found without it."""


_KNOWN = KnownClasses(CLASSES, DATASET_CLASSES, IMAGE_DATASET, TEXT_DATASET)


def build_dataset(dataset_name: str, **kwargs: object) -> object:
    """Return the dataset object for a name; None if no class supports it.

    The class is a registered one, or one of the checkout around the working folder.
    """
    from .ulmeval_toolkit import TOOLKIT

    cls = _KNOWN.find(dataset_name)
    if cls is None:
        defined = TOOLKIT.dataset_of_checkout(dataset_name)
        if defined is None:
            return None
        cls = defined[0]
    return cls(dataset=dataset_name, **kwargs)


def DATASET_TYPE(dataset: str, *, default: str = "T2I") -> str:
    """Return the type of a benchmark's prompts: `T2I` (text to image) or `IT2I` (image and text to image)."""
    return _KNOWN.declared(dataset, "TYPE", default)


def DATASET_MODALITY(dataset: str, *, default: str = "IMAGE") -> str:
    """Return the modality of a benchmark's prompts, such as `IMAGE`, as its class declares."""
    return _KNOWN.declared(dataset, "MODALITY", default)


def __getattr__(name: str) -> object:
    if name == "SUPPORTED_DATASETS":
        return _KNOWN.names()
    raise AttributeError(f"the ulmeval dialect has no {name!r} in 'ulmeval.dataset'")

"""`vlmeval.dataset`: base classes, the classes that user files define, and what a dataset's name says."""

import json
import warnings
from functools import cache
from pathlib import Path
from typing import Any

from ...era import upstreams_rule
from ...kinds import kind_of
from ...places import data_root
from .collections import ConcatDataset
from .image_base import ImageBaseDataset, img_root_map
from .image_mcq import CustomMCQDataset, ImageMCQDataset
from .image_mt import ImageMTDataset
from .image_vqa import CustomVQADataset, ImageVQADataset
from .image_yorn import ImageYORNDataset
from .reporting import CLASSES
from .text_base import CustomTextMCQDataset, TextBaseDataset, TextMCQDataset
from .utils import DEBUG_MESSAGE, build_judge
from .video_base import VideoBaseDataset

__all__ = [
    "CUSTOM_DATASET",
    "DATASET_CLASSES",
    "DATASET_COLLECTION",
    "DATASET_MODALITY",
    "DATASET_TYPE",
    "DEBUG_MESSAGE",
    "IMAGE_DATASET",
    "TEXT_DATASET",
    "VIDEO_DATASET",
    "ConcatDataset",
    "CustomMCQDataset",
    "CustomTextMCQDataset",
    "CustomVQADataset",
    "ImageBaseDataset",
    "ImageMCQDataset",
    "ImageMTDataset",
    "ImageVQADataset",
    "ImageYORNDataset",
    "TextBaseDataset",
    "TextMCQDataset",
    "VideoBaseDataset",
    "build_dataset",
    "build_judge",
    "img_root_map",
    "infer_dataset_basename",
    "supported_video_datasets",
]

IMAGE_DATASET: list[Any] = []
VIDEO_DATASET: list[Any] = []
TEXT_DATASET: list[Any] = []
CUSTOM_DATASET: list[Any] = [CustomMCQDataset, CustomVQADataset, CustomTextMCQDataset]
DATASET_COLLECTION: list[Any] = [ConcatDataset]
DATASET_CLASSES: list[Any] = []
"""Classes that user files add by hand; those a file merely defines are found without it."""
supported_video_datasets: dict[str, Any] = {}
"""Names to factories, as user files add them."""


def _class_of(dataset: str | None) -> Any:
    added = (
        *DATASET_CLASSES,
        *IMAGE_DATASET,
        *VIDEO_DATASET,
        *TEXT_DATASET,
        *reversed(CLASSES),
        *DATASET_COLLECTION,
    )
    return next((cls for cls in added if dataset in cls.supported_datasets()), None)


def DATASET_TYPE(dataset: str, *, default: str = "MCQ") -> str:
    """`MCQ`, `Y/N`, `VQA` …: what the dataset's class says, else what its name does."""
    declared = (
        getattr(_class_of(dataset), "TYPE", "") or _known().get(dataset, ("", ""))[1]
    )
    if declared:
        return str(declared)
    if upstreams_rule():
        return "VQA" if "openended" in dataset.lower() else default
    kind = kind_of(dataset)
    return (
        "VQA"
        if kind == "MMVet" or "openended" in dataset.lower()
        else kind
        if kind != "MCQ"
        else default
    )


def DATASET_MODALITY(dataset: str | None, *, default: str = "IMAGE") -> str:
    """`IMAGE`, `VIDEO` or `TEXT`: what the dataset's class says."""
    modality = _known().get(str(dataset), (default, ""))[0]
    return str(getattr(_class_of(dataset), "MODALITY", modality))


@cache
def _known() -> dict[str, tuple[str, str]]:
    """Modality and type of the datasets that upstream knows, by name."""
    grouped = json.loads(
        (Path(__file__).parent / "types.json").read_text(encoding="utf-8")
    )
    split = {kinds: kinds.partition(" ") for kinds in grouped}
    return {
        name: (split[kinds][0], split[kinds][2])
        for kinds, names in grouped.items()
        for name in names
    }


def build_dataset(dataset_name: str, **kwargs: Any) -> Any:
    """The dataset of a name: of the class that knows it, else of `$LMUData/<name>.tsv`; `None` without either.

    A table is multiple choice if it has columns A and B, else free answers.
    """
    if dataset_name in supported_video_datasets:
        return supported_video_datasets[dataset_name](**kwargs)
    cls = _class_of(dataset_name)
    if cls is not None:
        return cls(dataset=dataset_name, **kwargs)
    table = data_root() / f"{dataset_name}.tsv"
    if not table.exists():
        warnings.warn(
            f"no class knows the dataset {dataset_name!r}, and {table} does not exist",
            stacklevel=2,
        )
        return None
    columns = set(ImageBaseDataset(dataset_name).data.columns)
    if "question" not in {str(name).lower() for name in columns}:
        warnings.warn(
            f"{table} has no `question` column: {sorted(columns)}", stacklevel=2
        )
        return None
    if {"A", "B"} <= columns:
        has_images = bool(columns & {"image", "image_path"})
        return (CustomMCQDataset if has_images else CustomTextMCQDataset)(
            dataset_name, **kwargs
        )
    return CustomVQADataset(dataset_name, **kwargs)


def infer_dataset_basename(dataset_name: str) -> str:
    """A name without what stands after its last `_`."""
    return dataset_name.rpartition("_")[0]


def __getattr__(name: str) -> Any:
    if name == "SUPPORTED_DATASETS":
        classes = (
            *DATASET_CLASSES,
            *IMAGE_DATASET,
            *VIDEO_DATASET,
            *TEXT_DATASET,
            *CLASSES,
            *DATASET_COLLECTION,
        )
        return list(
            dict.fromkeys(
                dataset for cls in classes for dataset in cls.supported_datasets()
            )
        )
    raise AttributeError(f"the vlmeval dialect has no {name!r} in 'vlmeval.dataset'")

"""`vlmeval.dataset`: look up datasets by name, with their classes, question types and modalities."""

import json
import warnings
from functools import cache
from pathlib import Path
from typing import Any

from ..kits.kit_table_rows import KnownClasses
from ..kits.kit_table_rows import infer_dataset_basename as infer_dataset_basename
from ..shapes import Record
from .dataset_bases import (
    CLASSES,
    ImageBaseDataset,
    TextBaseDataset,
    VideoBaseDataset,
    img_root_map,
)
from .dataset_facts import data_root, kind_of
from .dataset_kinds import (
    CustomMCQDataset,
    CustomTextMCQDataset,
    CustomVQADataset,
    ImageMCQDataset,
    ImageMTDataset,
    ImageVQADataset,
    ImageYORNDataset,
    TextMCQDataset,
)
from .rules import chosen_rules
from .vlmeval_judging import DEBUG_MESSAGE, build_judge

__all__ = [
    "DEBUG_MESSAGE",
    "ImageBaseDataset",
    "ImageMCQDataset",
    "ImageMTDataset",
    "ImageVQADataset",
    "ImageYORNDataset",
    "TextBaseDataset",
    "TextMCQDataset",
    "VideoBaseDataset",
    "build_judge",
    "img_root_map",
]
"""Names that `vlmeval.dataset` exports, including names from other modules of assay."""

IMAGE_DATASET: list[Any] = []
VIDEO_DATASET: list[Any] = []
TEXT_DATASET: list[Any] = []
CUSTOM_DATASET: list[Any] = [CustomMCQDataset, CustomVQADataset, CustomTextMCQDataset]
DATASET_COLLECTION: list[Any] = []
DATASET_CLASSES: list[Any] = []
"""List that user files may append dataset classes to. A class that is only defined in a user file is found, too."""
supported_video_datasets: Record = {}
"""Functions that create a video dataset, by the dataset's name. User files add them."""


_KNOWN = KnownClasses(
    CLASSES,
    DATASET_CLASSES,
    IMAGE_DATASET,
    VIDEO_DATASET,
    TEXT_DATASET,
    DATASET_COLLECTION,
)


def DATASET_TYPE(dataset: str, *, default: str = "MCQ") -> str:
    """Return the type of a dataset's questions (`MCQ`, `Y/N`, `VQA` …).

    Its class declares the type. If no class declares one, the type follows from
    the dataset's name.
    """
    _, known_type = _known().get(dataset, ("", ""))
    declared = _KNOWN.declared(dataset, "TYPE", known_type)
    if declared:
        return declared
    if "openended" in dataset.lower():
        return "VQA"
    kind = kind_of(dataset)
    if chosen_rules().guesses_types_by_name or kind == "MCQ":
        return default
    if kind == "MMVet":
        return "VQA"
    return kind


def DATASET_MODALITY(
    dataset: str | None,
    *,
    default: str = "IMAGE",
) -> str:
    """Return `IMAGE`, `VIDEO` or `TEXT`, as the dataset's class declares."""
    modality, _ = _known().get(str(dataset), (default, ""))
    return _KNOWN.declared(dataset, "MODALITY", modality)


@cache
def _known() -> dict[str, tuple[str, str]]:
    """Return the modality and question type of each dataset that ships with VLMEvalKit, by name."""
    table = Path(__file__).with_name("dataset_types.json")
    text = table.read_text(encoding="utf-8")
    grouped = json.loads(text)
    types_by_name: dict[str, tuple[str, str]] = {}
    for kinds, names in grouped.items():
        modality, _, kind = kinds.partition(" ")
        for name in names:
            types_by_name[name] = (modality, kind)
    return types_by_name


def build_dataset(dataset_name: str, **kwargs: Any) -> object:
    """Return the dataset object for a name; `None`, with a warning, if there is none.

    The object's class is a registered one, one of assay's, or one of the checkout
    around the working folder. If no class supports the name, `$LMUData/<name>.tsv` is
    read: as multiple choice if it has columns A and B, otherwise as questions with free
    answers.
    """
    if dataset_name in supported_video_datasets:
        return supported_video_datasets[dataset_name](**kwargs)
    cls = _KNOWN.find(dataset_name)
    if cls is not None:
        return cls(dataset=dataset_name, **kwargs)
    of_checkout = _built_by_checkout(dataset_name, kwargs)
    if of_checkout is not None:
        return of_checkout
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


def _built_by_checkout(name: str, options: Record) -> object:
    """Return the dataset object that the checkout around the working folder defines for a name, or `None`."""
    from .vlmeval_toolkit import TOOLKIT

    defined = TOOLKIT.dataset_of_checkout(name)
    if defined is None:
        return None
    cls, arguments = defined
    return cls(**{"dataset": name, **arguments, **options})


def __getattr__(name: str) -> object:
    if name == "SUPPORTED_DATASETS":
        return _KNOWN.names()
    raise AttributeError(f"the vlmeval dialect has no {name!r} in 'vlmeval.dataset'")

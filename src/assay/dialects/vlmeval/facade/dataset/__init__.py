"""`vlmeval.dataset`: the base classes of dataset classes, and what a dataset's name says."""

from typing import Any

from ...kinds import kind_of
from .image_base import ImageBaseDataset, img_root_map
from .image_mcq import CustomMCQDataset, ImageMCQDataset
from .image_mt import ImageMTDataset
from .image_vqa import CustomVQADataset, ImageVQADataset
from .image_yorn import ImageYORNDataset
from .text_base import CustomTextMCQDataset, TextBaseDataset, TextMCQDataset
from .video_base import VideoBaseDataset

__all__ = [
    "DATASET_MODALITY",
    "DATASET_TYPE",
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
    "img_root_map",
]


def DATASET_TYPE(dataset: str, *, default: str = "MCQ") -> str:
    """`MCQ`, `Y/N` or `VQA`, by the dataset's name."""
    kind = kind_of(dataset)
    return "VQA" if kind == "MMVet" else kind


def DATASET_MODALITY(dataset: str, *, default: str = "IMAGE") -> str:
    """`IMAGE`: what a name alone does not contradict."""
    return default


def build_dataset(dataset_name: str, **kwargs: Any) -> ImageBaseDataset:
    """The dataset `$LMUData/<name>.tsv`: multiple choice if it has columns A and B, else free answers."""
    probe = ImageBaseDataset(dataset_name)
    columns = set(probe.data.columns)
    if "question" not in columns:
        raise ValueError(f"{dataset_name}.tsv has no `question` column: {sorted(columns)}")
    has_pictures = bool(columns & {"image", "image_path"})
    if {"A", "B"} <= columns:
        return CustomMCQDataset(dataset_name, **kwargs) if has_pictures else TextMCQDataset(dataset_name, **kwargs)
    return CustomVQADataset(dataset_name, **kwargs)

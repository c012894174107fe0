"""`ulmeval.dataset`: the base classes, and finding a class by the name of a benchmark."""

from typing import Any

from ..smp import dump, load
from .image_base import ImageBaseDataset
from .table_base import CLASSES
from .text_base import TextBaseDataset
from .utils import DEBUG_MESSAGE, build_judge

__all__ = [
    "DATASET_CLASSES", "DATASET_MODALITY", "DATASET_TYPE", "DEBUG_MESSAGE", "SUPPORTED_DATASETS", "ImageBaseDataset",
    "TextBaseDataset", "build_dataset", "build_judge", "dump", "load",
]  # fmt: skip

IMAGE_DATASET: list[Any] = []
TEXT_DATASET: list[Any] = []
DATASET_CLASSES: list[Any] = []
"""Classes that guest files add by hand; those a file merely defines are found without it."""


def _class_of(name: str) -> Any:
    known = (*DATASET_CLASSES, *IMAGE_DATASET, *TEXT_DATASET, *reversed(CLASSES))
    return next((cls for cls in known if name in cls.supported_datasets()), None)


def build_dataset(dataset_name: str, **kwargs: Any) -> Any:
    """The dataset of a name; `None` if no class knows it."""
    cls = _class_of(dataset_name)
    return None if cls is None else cls(dataset=dataset_name, **kwargs)


def DATASET_TYPE(dataset: str, *, default: str = "T2I") -> str:
    """What a benchmark asks for: `T2I` or `IT2I`."""
    return str(getattr(_class_of(dataset), "TYPE", default))


def DATASET_MODALITY(dataset: str, *, default: str = "IMAGE") -> str:
    """What a benchmark's prompts hold."""
    return str(getattr(_class_of(dataset), "MODALITY", default))


def __getattr__(name: str) -> Any:
    if name == "SUPPORTED_DATASETS":
        return sorted({known for cls in (*DATASET_CLASSES, *CLASSES) for known in cls.supported_datasets()})
    raise AttributeError(f"the ulmeval dialect has no {name!r} in 'ulmeval.dataset'")

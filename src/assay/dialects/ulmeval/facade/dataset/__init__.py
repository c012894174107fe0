"""`ulmeval.dataset`: the base classes, and finding a class by the name of a benchmark."""

from typing import Any

from ..smp import dump, load
from .dpgbench import DPGBench
from .genai_bench import GenAI_Bench
from .geneval import GenEval
from .geneval_pp import GenEvalPP
from .image_base import ImageBaseDataset
from .imagine_bench import ImagineBench
from .omni_context import OmniContext
from .t2i_compbench import T2ICompBench
from .table_base import CLASSES
from .text_base import TextBaseDataset
from .utils import DEBUG_MESSAGE, build_judge
from .wise import WISE

__all__ = [
    "DATASET_CLASSES",
    "DATASET_MODALITY",
    "DATASET_TYPE",
    "DEBUG_MESSAGE",
    "DPGBench",
    "GenAI_Bench",
    "GenEval",
    "GenEvalPP",
    "IMAGE_DATASET",
    "ImageBaseDataset",
    "ImagineBench",
    "OmniContext",
    "SUPPORTED_DATASETS",
    "T2ICompBench",
    "TEXT_DATASET",
    "TextBaseDataset",
    "WISE",
    "build_dataset",
    "build_judge",
    "dump",
    "infer_dataset_basename",
    "load",
]

IMAGE_DATASET: list[Any] = [OmniContext]
TEXT_DATASET: list[Any] = [
    T2ICompBench,
    DPGBench,
    WISE,
    ImagineBench,
    GenEvalPP,
    GenAI_Bench,
    GenEval,
]
DATASET_CLASSES: list[Any] = [*IMAGE_DATASET, *TEXT_DATASET]
"""Classes that ship, and those that guest files add by hand; those a file merely defines are found without it."""
SHIPPED = frozenset(DATASET_CLASSES)


def _class_of(name: str) -> Any:
    added = [
        cls
        for cls in (*DATASET_CLASSES, *IMAGE_DATASET, *TEXT_DATASET)
        if cls not in SHIPPED
    ]
    classes = (
        *added,
        *(cls for cls in reversed(CLASSES) if cls not in SHIPPED),
        *DATASET_CLASSES,
    )
    return next((cls for cls in classes if name in cls.supported_datasets()), None)


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


def infer_dataset_basename(dataset_name: str) -> str:
    """A name without what stands after its last `_`."""
    return dataset_name.rpartition("_")[0]


def __getattr__(name: str) -> Any:
    if name == "SUPPORTED_DATASETS":
        everything = (*DATASET_CLASSES, *CLASSES)
        return list(
            dict.fromkeys(
                dataset for cls in everything for dataset in cls.supported_datasets()
            )
        )
    raise AttributeError(f"the ulmeval dialect has no {name!r} in 'ulmeval.dataset'")

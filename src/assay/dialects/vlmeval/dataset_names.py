"""Datasets by name, as in `vlmeval.dataset`: their classes, types and modalities, and several datasets as one."""

import json
import warnings
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from ..kits.kit_table_rows import TableRows
from ..kits.smp.file import dump, get_intermediate_file_path, load, localize_df
from ..kits.smp.misc import toliststr
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


class ConcatDataset(TableRows):
    """Several datasets under one name; subclasses list them in `DATASET_SETS`."""

    DATASET_SETS: ClassVar[dict[str, list[str]]] = {
        "MMMB": [f"MMMB_{code}" for code in ("ar", "cn", "en", "pt", "ru", "tr")],
        "MTL_MMBench_DEV": [
            f"MMBench_dev_{code}" for code in ("ar", "cn", "en", "pt", "ru", "tr")
        ],
        "ScreenSpot": ["ScreenSpot_Mobile", "ScreenSpot_Desktop", "ScreenSpot_Web"],
        "ScreenSpot_v2": [
            "ScreenSpot_v2_Mobile",
            "ScreenSpot_v2_Desktop",
            "ScreenSpot_v2_Web",
        ],
        "ScreenSpot_Pro": [
            f"ScreenSpot_Pro_{part}"
            for part in ("Development", "Creative", "CAD", "Scientific", "Office", "OS")
        ],
        "M4Bench": [
            "State_Invariance",
            "State_Comparison",
            "Spatial_Perception",
            "Instance_Comparison",
            "Detailed_Difference",
        ],
    }

    def __init__(self, dataset: str) -> None:
        import pandas

        self.dataset_name = dataset
        self.datasets = self.DATASET_SETS[dataset]
        self.dataset_map = {name: build_dataset(name) for name in self.datasets}
        missing = [name for name, member in self.dataset_map.items() if member is None]
        if missing:
            raise ValueError(f"{dataset} needs the dataset {missing[0]!r}")
        self.TYPE, self.MODALITY = (
            self._assay_of_all("TYPE"),
            self._assay_of_all("MODALITY"),
        )
        parts = []
        for name, member in self.dataset_map.items():
            data = member.data
            data["SUB_DATASET"] = [name] * len(data)
            parts.append(localize_df(data, name) if "image" in data else data)
        joined = pandas.concat(parts)
        joined["original_index"] = joined.pop("index")
        joined["index"] = range(len(joined))
        self.data = joined

    def _assay_of_all(self, attribute: str) -> str:
        values = {
            str(getattr(member, attribute)) for member in self.dataset_map.values()
        }
        if len(values) > 1:
            raise ValueError(
                f"{self.dataset_name} joins datasets of several kinds: {', '.join(sorted(values))}"
            )
        return values.pop()

    @classmethod
    def supported_datasets(cls) -> list[str]:
        """Return the names of the sets."""
        return list(cls.DATASET_SETS)

    def build_prompt(self, line: Any) -> Any:
        """Build the prompt with the row's own dataset."""
        line = self._assay_line(line)
        dataset = self.dataset_map[line["SUB_DATASET"]]
        rows = dataset.data
        return dataset.build_prompt(
            rows[rows["index"] == line["original_index"]].iloc[0]
        )

    def dump_image(self, line: Any) -> list[str]:
        """Return the images of a row, which are files already."""
        return toliststr(line["image_path"])

    def evaluate(self, eval_file: str, **judge_kwargs: object) -> Any:
        """Evaluate each dataset on its own predictions.

        Return one table, or one dictionary with keys `dataset:name`.
        """
        import pandas

        predictions, tables, numbers = load(eval_file), [], {}
        for name in self.datasets:
            part = predictions[predictions["SUB_DATASET"] == name].drop(
                columns=["index", "SUB_DATASET"]
            )
            file = eval_file.replace(self.dataset_name, name)
            dump(part.rename(columns={"original_index": "index"}), file)
            outcome = self.dataset_map[name].evaluate(file, **judge_kwargs)
            if isinstance(outcome, dict):
                for key, value in outcome.items():
                    numbers[f"{name}:{key}"] = value
            else:
                outcome["DATASET"] = [name] * len(outcome)
                tables.append(outcome)
        result: Any = pandas.concat(tables) if tables else numbers
        dump(
            result,
            get_intermediate_file_path(
                eval_file, *(("_acc", "csv") if tables else ("_score", "json"))
            ),
        )
        return result


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
"""Names of other modules that `vlmeval.dataset` exports, too."""

IMAGE_DATASET: list[Any] = []
VIDEO_DATASET: list[Any] = []
TEXT_DATASET: list[Any] = []
CUSTOM_DATASET: list[Any] = [CustomMCQDataset, CustomVQADataset, CustomTextMCQDataset]
DATASET_COLLECTION: list[Any] = [ConcatDataset]
DATASET_CLASSES: list[Any] = []
"""Classes that user files add. A class that a file only defines is found without this list."""
supported_video_datasets: Record = {}
"""Factories by name, added by user files."""


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
    """Return `MCQ`, `Y/N`, `VQA` …, as the dataset's class declares, or else as its name suggests."""
    declared = (
        getattr(_class_of(dataset), "TYPE", "") or _known().get(dataset, ("", ""))[1]
    )
    if declared:
        return str(declared)
    if chosen_rules().guesses_types_by_name:
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
    """Return `IMAGE`, `VIDEO` or `TEXT`, as the dataset's class declares."""
    modality = _known().get(str(dataset), (default, ""))[0]
    return str(getattr(_class_of(dataset), "MODALITY", modality))


@cache
def _known() -> dict[str, tuple[str, str]]:
    """Return modality and type of the datasets that upstream knows, by name."""
    grouped = json.loads(
        (Path(__file__).parent / "dataset_types.json").read_text(encoding="utf-8")
    )
    split = {kinds: kinds.partition(" ") for kinds in grouped}
    return {
        name: (split[kinds][0], split[kinds][2])
        for kinds, names in grouped.items()
        for name in names
    }


def build_dataset(dataset_name: str, **kwargs: Any) -> Any:
    """Return the dataset with a name: from a class that supports it, else from `$LMUData/<name>.tsv`; else `None`.

    A class is one of assay's, a registered one, or one of the checkout around the working folder. A table is
    multiple choice if it has columns A and B, else free answers.
    """
    if dataset_name in supported_video_datasets:
        return supported_video_datasets[dataset_name](**kwargs)
    cls = _class_of(dataset_name)
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


def _built_by_checkout(name: str, options: Record) -> Any:
    """Return the dataset that the checkout around the working folder defines under a name; `None` if there is none."""
    from .vlmeval_toolkit import TOOLKIT

    defined = TOOLKIT.dataset_of_checkout(name)
    if defined is None:
        return None
    cls, arguments = defined
    return cls(**{"dataset": name, **arguments, **options})


def infer_dataset_basename(dataset_name: str) -> str:
    """Return a name without the part after its last `_`."""
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

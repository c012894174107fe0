"""Properties that follow from a dataset's name: the type of its questions, its URL, and its image folder."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Literal

from ..file_names import file_name
from ..kits.smp.file import data_root as data_root

Kind = Literal["MCQ", "Y/N", "VQA", "MMVet", "MT"]
"""Type of a dataset's questions. `Y/N` is yes or no, `VQA` a free answer, `MT` a dialogue of several turns."""

ROTATION = 1_000_000
"""Index difference between rotated copies. The k-th copy of the question with index i has i + k * 1,000,000."""
_CIRCULAR = re.compile(r"mmbench|ccbench|circular", re.IGNORECASE)
CHOICE = re.compile(r"mmbench|seedbench|ccbench", re.IGNORECASE)
_YES_NO = re.compile(r"^(mme|pope|hallusionbench|amber)(_|$)", re.IGNORECASE)
_MMVET = re.compile(r"^mmvet", re.IGNORECASE)


def kind_of(
    name: str,
    columns: Collection[str] = (),
) -> Kind:
    """Return the type of a dataset's questions, which selects the prompt and the scorer.

    It follows from the dataset's name and the columns of its table.
    """
    if _MMVET.search(name):
        return "MMVet"
    if _YES_NO.search(name):
        return "Y/N"
    if {"A", "B"} <= set(columns) or (CHOICE.search(name) and not columns):
        return "MCQ"
    return "VQA"


def is_circular(name: str) -> bool:
    """Return True if a dataset's name shows that its questions have rotated copies, as in CircularEval."""
    return bool(_CIRCULAR.search(name))


def is_mme(name: str) -> bool:
    """Return True for the benchmark MME, which scores the two questions about an image together."""
    return name.split("_")[0].upper() == "MME"


def whole_index(index: object) -> int | None:
    """Return a row's index as an integer, or None if it is not one."""
    text = str(index)
    if text.isascii() and text.removeprefix("-").isdigit():
        return int(text)
    return None


_BENCH = "https://opencompass.openxlab.space/utils/VLMEval"
_DOCUMENTED = (
    "MMBench_DEV_EN",
    "MMBench_TEST_EN",
    "MMBench_DEV_CN",
    "MMBench_TEST_CN",
    "MMBench",
    "MMBench_CN",
    "CCBench",
    "MME",
    "SEEDBench_IMG",
    "CORE_MM",
    "MMVet",
)
_SHARED = {
    "MM_NIAH": "MMNIAH",
    "CRPE": "CRPE",
    "OCRVQA": "OCRVQA",
    "QSpatial": "QSpatial",
}
"""Image folders that several datasets share, by the part of the name that these datasets have in common."""
_FOLDERS = {
    "COCO_VAL": "COCO", "MMBench": "MMBench", "MMBench_CN": "MMBench", "MMBench_V11": "MMBench",
    "MMBench_CN_V11": "MMBench",
    **{f"MMBench_{part}": "MMBench" for part in ("DEV_EN", "TEST_EN", "DEV_CN", "TEST_CN", "DEV_KO")},
    **{f"MMBench_{part}_V11": "MMBench_V11" for part in ("DEV_EN", "TEST_EN", "DEV_CN", "TEST_CN")},
}  # fmt: skip


class ImageFolders(dict[str, str]):
    """Image folders under `images/`, by dataset name. User code reads it as a dictionary or calls it as a function.

    It lists the datasets of VLMEvalKit's documented revision. Any other dataset has a
    folder with its own name, unless VLMEvalKit lets several datasets share one.
    """

    def __missing__(self, dataset: str) -> str:
        shared = next(
            (folder for part, folder in _SHARED.items() if part in dataset), None
        )
        return shared or _FOLDERS.get(dataset) or file_name(dataset, 80)

    def __call__(self, dataset: str) -> str:
        return self[dataset]


IMAGE_FOLDERS = ImageFolders({name: _FOLDERS.get(name, name) for name in _DOCUMENTED})
SNAPSHOT = "rows.jsonl"
"""File in a run folder with the rows of the run, without images. It lets a judge score the run on any machine."""
DATASET_URLS: dict[str, str] = {name: f"{_BENCH}/{name}.tsv" for name in _DOCUMENTED}
"""TSV URLs by dataset: those that user files add, and VLMEvalKit's early ones, which assay never downloads."""


def added_url(dataset: str) -> str | None:
    """Return the URL that a user's file added to `DATASET_URLS` for a dataset, or None."""
    url = DATASET_URLS.get(dataset)
    if dataset in _DOCUMENTED and url == f"{_BENCH}/{dataset}.tsv":
        return None
    return url or None


def image_folder(dataset: str) -> Path:
    """Return the path of the folder for a dataset's images, in `$LMUData`."""
    return data_root() / "images" / IMAGE_FOLDERS[dataset]

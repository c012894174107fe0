"""Facts about a dataset by its name: its kind, its URL, and where its images are."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Literal

from ..file_names import file_name
from ..kits.smp.file import data_root as data_root

Kind = Literal["MCQ", "Y/N", "VQA", "MMVet", "MT"]
"""`MT` is a dialogue of several turns."""

ROTATION = 1_000_000
"""A rotated copy of question i has the index i + k * 1,000,000."""
_CIRCULAR = re.compile(r"mmbench|ccbench|circular", re.IGNORECASE)
CHOICE = re.compile(r"mmbench|seedbench|ccbench", re.IGNORECASE)
_YES_NO = re.compile(r"^(mme|pope|hallusionbench|amber)(_|$)", re.IGNORECASE)
_MMVET = re.compile(r"^mmvet", re.IGNORECASE)


def kind_of(
    name: str,
    columns: Collection[str] = (),
) -> Kind:
    """Return the kind of a dataset, which decides how it is asked and judged, from its name and its columns."""
    if _MMVET.search(name):
        return "MMVet"
    if _YES_NO.search(name):
        return "Y/N"
    if {"A", "B"} <= set(columns) or (CHOICE.search(name) and not columns):
        return "MCQ"
    return "VQA"


def is_circular(name: str) -> bool:
    """Return True if a dataset of this name has rotated copies of its questions."""
    return bool(_CIRCULAR.search(name))


def is_mme(name: str) -> bool:
    """Return True for MME, which scores the two questions about an image together."""
    return name.split("_")[0].upper() == "MME"


def whole_index(index: object) -> int | None:
    """Return an index as a number, or None if it is not one."""
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
"""Folders that several datasets with a common part in their name share."""
_FOLDERS = {
    "COCO_VAL": "COCO", "MMBench": "MMBench", "MMBench_CN": "MMBench", "MMBench_V11": "MMBench",
    "MMBench_CN_V11": "MMBench",
    **{f"MMBench_{part}": "MMBench" for part in ("DEV_EN", "TEST_EN", "DEV_CN", "TEST_CN", "DEV_KO")},
    **{f"MMBench_{part}_V11": "MMBench_V11" for part in ("DEV_EN", "TEST_EN", "DEV_CN", "TEST_CN")},
}  # fmt: skip


class ImageFolders(dict[str, str]):
    """The image folder of a dataset under `images/`: a dictionary for early code, a function for newer code.

    The dictionary has the entries of the documented revision. Any other dataset has a folder with its own name.
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
"""File name of the rows of a run without their images: enough to judge on a machine that has only the run folder."""
DATASET_URLS: dict[str, str] = {name: f"{_BENCH}/{name}.tsv" for name in _DOCUMENTED}
"""URLs of datasets: those of the documented revision, from which nothing is downloaded, and those of user files."""


def added_url(dataset: str) -> str | None:
    """Return the URL that a user's file added for a dataset."""
    url = DATASET_URLS.get(dataset)
    if dataset in _DOCUMENTED and url == f"{_BENCH}/{dataset}.tsv":
        return None
    return url or None


def image_folder(dataset: str) -> Path:
    """Return the folder of a dataset's images."""
    return data_root() / "images" / IMAGE_FOLDERS[dataset]

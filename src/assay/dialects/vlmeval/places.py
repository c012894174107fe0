"""Where VLMEvalKit keeps things: `$LMUData`, its TSV files, and the images taken out of them."""

from pathlib import Path

from ..file_names import file_name
from ..kits.smp.files import data_root as data_root

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
"""Folders that all datasets share whose name has a part in common."""
_FOLDERS = {
    "COCO_VAL": "COCO",
    "MMBench": "MMBench",
    "MMBench_CN": "MMBench",
    "MMBench_V11": "MMBench",
    "MMBench_CN_V11": "MMBench",
    **{
        f"MMBench_{part}": "MMBench"
        for part in ("DEV_EN", "TEST_EN", "DEV_CN", "TEST_CN", "DEV_KO")
    },
    **{
        f"MMBench_{part}_V11": "MMBench_V11"
        for part in ("DEV_EN", "TEST_EN", "DEV_CN", "TEST_CN")
    },
}


class ImageFolders(dict[str, str]):
    """The folder of a dataset's images under `images/`: a dictionary for early code, a function for newer code.

    The dictionary holds what the documented revision lists. A dataset that nobody lists has a folder of its own name.
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
"""The rows of a run without their images, in its folder: enough to judge on a machine that has only that folder."""
DATASET_URLS: dict[str, str] = {name: f"{_BENCH}/{name}.tsv" for name in _DOCUMENTED}
"""URLs of datasets: those of the documented revision, which nothing is fetched from, and what user files add."""


def added_url(dataset: str) -> str | None:
    """The URL that a user's file added for a dataset."""
    url = DATASET_URLS.get(dataset)
    return (
        None
        if dataset in _DOCUMENTED and url == f"{_BENCH}/{dataset}.tsv"
        else url or None
    )


def image_folder(dataset: str) -> Path:
    """Where the images of a dataset lie."""
    return data_root() / "images" / IMAGE_FOLDERS[dataset]

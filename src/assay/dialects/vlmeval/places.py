"""Where VLMEvalKit keeps things: `$LMUData`, its TSV files, and the pictures taken out of them."""

from pathlib import Path

from ..file_names import file_name
from ..kits.smp.files import data_root

__all__ = ["DATASET_URLS", "IMAGE_FOLDERS", "SNAPSHOT", "ImageFolders", "data_root", "image_folder"]


class ImageFolders(dict[str, str]):
    """The folder of a dataset's pictures under `images/`: a dictionary for early code, a function for newer code.

    A dataset that is not in it has a folder of its own name.
    """

    def __missing__(self, dataset: str) -> str:
        return file_name(dataset, 80)

    def __call__(self, dataset: str) -> str:
        return self[dataset]


IMAGE_FOLDERS = ImageFolders()
SNAPSHOT = "rows.jsonl"
"""The rows of a run without their pictures, in its folder: enough to judge on a machine that has only that folder."""
DATASET_URLS: dict[str, str] = {}
"""URLs of datasets that user files add to; VLMEvalKit's own are not copied: put its TSVs into `$LMUData`."""


def image_folder(dataset: str) -> Path:
    """Where the pictures of a dataset lie."""
    return data_root() / "images" / IMAGE_FOLDERS[dataset]

"""Images of a table as files: what `localize_df` makes of the base64 column of a large one."""

import os
from typing import Any

from ..base64_images import decode_base64_to_image_file
from .files import LMUDataRoot, load
from .texts import toliststr

__all__ = ["decode_img_omni", "localize_df", "MMBenchOfficialServer"]

SHORTEST_IMAGE = 64
"""A cell that is no longer is the index of the row whose image is meant."""

_ANSWERED = {
    "MMBench_TEST_EN": "MMBench",
    "MMBench_TEST_CN": "MMBench_CN",
    "MMBench_TEST_EN_V11": "MMBench_V11",
    "MMBench_TEST_CN_V11": "MMBench_CN_V11",
}


def decode_img_omni(tup: tuple[str, Any, Any]) -> list[str]:
    """The images of `(folder, base64 or a list of it, path or paths)` as files; those that are there stay."""
    root, cell, place = tup
    images, paths = toliststr(cell), toliststr(place)
    if len(images) > 1 and len(paths) == 1:
        stem, suffix = os.path.splitext(paths[0])
        paths = [f"{stem}_{number}{suffix}" for number in range(len(images))]
    if len(images) != len(paths):
        raise ValueError(f"{len(images)} images for {len(paths)} paths")
    files = [os.path.join(root, path) for path in paths]
    for file, image in zip(files, images, strict=True):
        if not os.path.exists(file) and len(image) > SHORTEST_IMAGE:
            decode_base64_to_image_file(image, file)
    return files


def localize_df(data: Any, dname: str, nproc: int = 32) -> Any:
    """The table with a column `image_path` in place of `image`; the files lie in `$LMUData/images/<dname>`."""
    root = os.path.join(LMUDataRoot(), "images", dname)
    os.makedirs(root, exist_ok=True)
    images = dict(zip(map(str, data["index"]), data["image"], strict=True))
    if "image_path" in data:
        places = list(data["image_path"])
    else:
        places = [f"{_owner(index, images)}.jpg" for index in images]
    files_by_row = [
        decode_img_omni((root, image, place))
        for image, place in zip(data["image"], places, strict=True)
    ]
    data.pop("image")
    if "image_path" not in data:
        data["image_path"] = [
            files[0] if len(files) == 1 else files for files in files_by_row
        ]
    return data


def _owner(index: str, images: dict[str, Any]) -> str:
    """The row whose image a row shows: its own, or the one it names."""
    cell = images[index]
    if not isinstance(cell, str) or len(cell) > SHORTEST_IMAGE:
        return index
    if len(images.get(cell, "")) <= SHORTEST_IMAGE:
        raise ValueError(f"row {index} names {cell!r}, which has no image of its own")
    return cell


def MMBenchOfficialServer(dataset_name: str) -> bool:
    """Whether the answers of a MMBench set lie in `$LMUData`, so that it can be judged here."""
    names = [dataset_name] if dataset_name in (*_ANSWERED, *_ANSWERED.values()) else []
    names += [_ANSWERED[dataset_name]] if dataset_name in _ANSWERED else []
    files = [os.path.join(LMUDataRoot(), f"{name}.tsv") for name in names]
    return any(_is_answered(file) for file in files if os.path.exists(file))


def _is_answered(file: str) -> bool:
    data = load(file)
    return "answer" in data and not bool(data["answer"].isna().any())

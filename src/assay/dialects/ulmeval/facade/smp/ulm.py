"""`ulmeval.smp.ulm`: pictures as base64 and back, and small changes to them."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .....datasets.list_literals import as_text_list
from .....media.base64_images import (
    decode_base64_to_image,
    decode_base64_to_image_file,
    encode_image_file_to_base64,
    encode_image_to_base64,
)

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

__all__ = [
    "concat_images_ulmeval", "decode_base64_to_image", "decode_base64_to_image_file", "encode_image_file_to_base64",
    "encode_image_to_base64", "isimg", "mmqa_display", "read_ok", "rescale_img", "resize_image_by_factor",
]  # fmt: skip


def isimg(s: str) -> bool:
    """Whether a text is an existing file or an http URL."""
    return os.path.exists(s) or s.startswith("http")


def read_ok(img_path: str) -> bool:
    """Whether a picture can be opened and has an area."""
    from PIL import Image

    try:
        with Image.open(img_path) as picture:
            return picture.width > 0 and picture.height > 0
    except (OSError, SyntaxError, ValueError):
        return False


def rescale_img(img: "Picture", tgt: tuple[int, int]) -> "Picture":
    """A picture of a given width or height; the other side, given as -1, follows."""
    width, height = img.size
    if tgt[0] != -1:
        return img.resize((tgt[0], int(tgt[0] / width * height)))
    return img.resize((int(tgt[1] / height * width), tgt[1]))


def resize_image_by_factor(img: "Picture", factor: float = 1) -> "Picture":
    """A picture with both sides times `factor`."""
    return img.resize((int(img.width * factor), int(img.height * factor)))


def concat_images_ulmeval(
    images: Sequence[str], target_size: int = -1, mode: str = "h", return_image: bool = False
) -> Any:
    """Pictures side by side (`h`) or one under another (`v`), as a picture or as the path of a file."""
    from PIL import Image

    pictures: list[Any] = [Image.open(path) for path in images]
    if target_size != -1:
        side = (-1, target_size) if mode == "h" else (target_size, -1)
        pictures = [rescale_img(picture, side) for picture in pictures]
    widths, heights = [p.width for p in pictures], [p.height for p in pictures]
    size = (sum(widths), max(heights)) if mode == "h" else (max(widths), sum(heights))
    joined = Image.new("RGB", size)
    for place, picture in enumerate(pictures):
        joined.paste(picture, (sum(widths[:place]), 0) if mode == "h" else (0, sum(heights[:place])))
    if return_image:
        return joined
    handle, path = tempfile.mkstemp(suffix=".png")
    with os.fdopen(handle, "wb") as target:
        joined.save(target, format="PNG")
    return path


def mmqa_display(question: Mapping[str, Any], target_size: int = -1) -> None:
    """Prints a row and, in a notebook, shows its pictures."""
    row = {str(name).lower(): value for name, value in dict(question).items()}
    cells = as_text_list(row.pop("image")) if "image" in row else []
    print(f"INDEX: {row.pop('index', '')}")
    for cell in cells:
        picture = decode_base64_to_image(cell, target_size)
        try:
            from IPython.display import display  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            print(f"[image {picture.width}x{picture.height}]")
        else:
            display(picture)  # type: ignore[no-untyped-call, unused-ignore]
    for name, value in row.items():
        if value == value:  # an empty cell is NaN, which is not equal to itself
            print(f"{name.upper()}. {value}")

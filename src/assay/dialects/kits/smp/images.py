"""The toolkits' image helpers: check, resize and join images, show a row in a notebook, convert to base64."""

import os
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...shapes import Fields
from ..base64_images import (
    decode_base64_to_image,
    decode_base64_to_image_file,
    encode_image_file_to_base64,
    encode_image_to_base64,
    resize_image_by_factor,
)
from .file import md5
from .misc import build_option_str as build_option_str
from .misc import gpt_key_set as gpt_key_set
from .misc import toliststr

if TYPE_CHECKING:
    from PIL.Image import Image as PilImage

__all__ = [
    "decode_base64_to_image",
    "decode_base64_to_image_file",
    "encode_image_file_to_base64",
    "encode_image_to_base64",
    "mmqa_display",
    "read_ok",
    "rescale_img",
    "resize_image_by_factor",
]


def read_ok(img_path: str) -> bool:
    """Return True if an image file can be opened and its image is not empty."""
    from PIL import Image

    try:
        with Image.open(img_path) as image:
            return image.width > 0 and image.height > 0
    except (OSError, SyntaxError, ValueError):
        return False


def rescale_img(
    img: "PilImage",
    tgt: tuple[int, int] | None = None,
) -> "PilImage":
    """Return an image resized to `tgt`, (width, -1) or (-1, height). The aspect ratio is kept."""
    if not isinstance(tgt, tuple) or -1 not in tgt:
        raise AssertionError(f"a size is (width, -1) or (-1, height), not {tgt!r}")
    width, height = tgt
    if height == -1:
        height = int(width / img.width * img.height)
    else:
        width = int(height / img.height * img.width)
    return img.resize((width, height))


def concat_images(
    images: Sequence[str],
    target_size: int = -1,
    mode: str = "h",
    return_image: bool = False,
) -> object:
    """Join images side by side (`h`) or stacked (`v`). Return the image, or the path of a file with the image."""
    from PIL import Image

    is_row = mode == "h"
    opened: list[Any] = [Image.open(path) for path in images]
    if target_size != -1:
        if is_row:
            side = (-1, target_size)
        else:
            side = (target_size, -1)
        opened = [rescale_img(image, side) for image in opened]
    widths = [image.width for image in opened]
    heights = [image.height for image in opened]
    if is_row:
        joined = Image.new("RGB", (sum(widths), max(heights)))
    else:
        joined = Image.new("RGB", (max(widths), sum(heights)))
    offset = 0
    for image in opened:
        if is_row:
            joined.paste(image, (offset, 0))
            offset += image.width
        else:
            joined.paste(image, (0, offset))
            offset += image.height
    if return_image:
        return joined
    # The name is upstream's. A file that another user created under it is not written to.
    path = os.path.join(tempfile.gettempdir(), md5("\n".join(images)) + ".jpg")
    handle, part = tempfile.mkstemp(
        suffix=".jpg",
        dir=tempfile.gettempdir(),
    )
    with os.fdopen(handle, "wb") as target:
        joined.save(target, format="JPEG")
    os.replace(part, path)
    return path


concat_images_vlmeval = concat_images_ulmeval = concat_images
"""The toolkits' names for `concat_images`."""


def mmqa_display(
    question: Fields,
    target_size: int = -1,
) -> None:
    """Print a row's text cells and, in a notebook, show its images."""
    row = {str(name).lower(): value for name, value in dict(question).items()}
    cells: list[str] = []
    if "image" in row:
        cells = toliststr(row.pop("image"))
    if not cells and "image_path" in row:
        for path in toliststr(row.pop("image_path")):
            cells.append(encode_image_file_to_base64(path))
    print(f"INDEX: {row.pop('index', 'XXX')}")
    for cell in cells:
        image = decode_base64_to_image(cell, target_size)
        try:
            from IPython.display import display  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            print(f"[image {image.width}x{image.height}]")
        else:
            display(image)  # type: ignore[no-untyped-call, unused-ignore]
    for name, value in row.items():
        is_nan = isinstance(value, float) and value != value
        if value is not None and not is_nan:
            print(f"{name.upper()}. {value}")

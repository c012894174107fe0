"""Images as base64 and back, their sizes, several in one, and rows shown in a notebook.

By default an image is restored pixel by pixel. With upstream's rules it becomes a JPEG with a shorter edge of at least
`$VLMEVAL_MIN_IMAGE_EDGE` (100) and a text of at most `$VLMEVAL_MAX_IMAGE_SIZE` characters.
"""

import base64
import io
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...shapes import Fields
from .. import base64_images
from ..state import as_upstream
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

ALPHA = ("RGBA", "P", "LA")
LARGEST = 10**9


def encode_image_to_base64(
    img: "PilImage",
    target_size: int = -1,
    fmt: str | None = None,
    max_file_size: float = LARGEST,
) -> str:
    """Return an image as base64; `target_size` above 0 limits its longer side."""
    if not as_upstream():
        return base64_images.encode_image_to_base64(img, target_size, fmt or "PNG")
    kind = fmt or "JPEG"
    if img.mode in ALPHA:
        img = img.convert("RGB")
    if target_size > 0:
        img.thumbnail((target_size, target_size))
    text = _encoded(img, kind)
    largest = int(os.environ.get("VLMEVAL_MAX_IMAGE_SIZE", max_file_size))
    shortest = int(os.environ.get("VLMEVAL_MIN_IMAGE_EDGE", 100))
    if min(img.size) < shortest:
        text = _encoded(resize_image_by_factor(img, shortest / min(img.size)), kind)
    factor = min(1.0, (largest / len(text)) ** 0.5)
    while len(text) > largest:
        text = _encoded(resize_image_by_factor(img, factor), kind)
        factor *= min(1.0, (largest / len(text)) ** 0.5)
    return text


def _encoded(img: "PilImage", fmt: str) -> str:
    buffer = io.BytesIO()
    img.save(buffer, format=fmt)
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def encode_image_file_to_base64(
    image_path: str | Path,
    target_size: int = -1,
    fmt: str | None = None,
    max_file_size: float = LARGEST,
) -> str:
    """Return an image file as base64: its own bytes, unless it must be smaller or of another format."""
    if not as_upstream():
        return base64_images.encode_image_file_to_base64(image_path, target_size, fmt)
    from PIL import Image

    return encode_image_to_base64(
        Image.open(image_path),
        target_size,
        fmt,
        max_file_size,
    )


def decode_base64_to_image(
    base64_string: str,
    target_size: int = -1,
) -> "PilImage":
    """Return the Pillow image of a base64 text or a data URL; with upstream's rules without transparency."""
    image = base64_images.decode_base64_to_image(base64_string, target_size)
    if as_upstream() and image.mode in ALPHA:
        return image.convert("RGB")
    return image


def decode_base64_to_image_file(
    base64_string: str,
    image_path: str | Path,
    target_size: int = -1,
) -> None:
    """Write the image of a base64 text to a file; with upstream's rules it is always encoded again."""
    if not as_upstream():
        base64_images.decode_base64_to_image_file(
            base64_string,
            image_path,
            target_size,
        )
        return
    folder = os.path.dirname(image_path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    decode_base64_to_image(base64_string, target_size).save(image_path)


def read_ok(img_path: str) -> bool:
    """Return True if an image can be opened and has an area."""
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
    """Return an image resized to a width or a height; the other side, given as -1, keeps the proportions."""
    if not isinstance(tgt, tuple) or -1 not in tgt:
        raise AssertionError(f"a size is (width, -1) or (-1, height), not {tgt!r}")
    width, height = tgt
    if height == -1:
        height = int(width / img.width * img.height)
    else:
        width = int(height / img.height * img.width)
    return img.resize((width, height))


def resize_image_by_factor(img: "PilImage", factor: float = 1) -> "PilImage":
    """Return an image with both sides multiplied by `factor`."""
    return img.resize((int(img.width * factor), int(img.height * factor)))


def concat_images(
    images: Sequence[str],
    target_size: int = -1,
    mode: str = "h",
    return_image: bool = False,
) -> Any:
    """Return images side by side (`h`) or one under another (`v`), as an image or as the path of a file."""
    from PIL import Image

    opened: list[Any] = [Image.open(path) for path in images]
    if target_size != -1:
        if mode == "h":
            side = (-1, target_size)
        else:
            side = (target_size, -1)
        opened = [rescale_img(image, side) for image in opened]
    widths, heights = (
        [image.width for image in opened],
        [image.height for image in opened],
    )
    if mode == "h":
        size = (sum(widths), max(heights))
    else:
        size = (max(widths), sum(heights))
    joined = Image.new("RGB", size)
    for index, image in enumerate(opened):
        joined.paste(
            image,
            (sum(widths[:index]), 0) if mode == "h" else (0, sum(heights[:index])),
        )
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
"""The toolkits' names of this function."""


def mmqa_display(
    question: Fields,
    target_size: int = -1,
) -> None:
    """Print a row and, in a notebook, show its images."""
    row = {str(name).lower(): value for name, value in dict(question).items()}
    cells: list[str] = []
    if "image" in row:
        cells = toliststr(row.pop("image"))
    if not cells and "image_path" in row:
        for path in toliststr(row.pop("image_path")):
            cells.append(base64_images.encode_image_file_to_base64(path))
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

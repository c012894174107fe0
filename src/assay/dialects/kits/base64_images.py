"""Convert images to base64 and back, as in benchmark files. The functions have VLMEvalKit's names and parameters.

By default the conversion is lossless and keeps transparency. Under the toolkits' own
rules an image becomes a JPEG with a shorter edge of at least `$VLMEVAL_MIN_IMAGE_EDGE`
(100) pixels and a base64 length of at most `$VLMEVAL_MAX_IMAGE_SIZE` characters.
"""

import base64
import io
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ...core import DataError, Image
from ...core.media import SNIFFED_BYTES, sniff
from ...media.checks import check_image
from ...media.encode import image_bytes
from ...media.images import FORMATS, to_rgb
from .state import as_upstream

if TYPE_CHECKING:
    from PIL.Image import Image as PilImage

FORMATS_BY_SUFFIX = {
    ".png": "PNG",
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".gif": "GIF",
    ".bmp": "BMP",
    ".webp": "WEBP",
    ".tif": "TIFF",
    ".tiff": "TIFF",
}
"""Pillow's names of image formats by file suffix."""
_OPAQUE = ("JPEG", "BMP")
ALPHA = ("RGBA", "P", "LA")
LARGEST = 10**9


def encode_image_to_base64(
    img: "PilImage",
    target_size: int = -1,
    fmt: str | None = None,
    max_file_size: float = LARGEST,
) -> str:
    """Return a Pillow image as base64, by default as PNG.

    `target_size` above 0 limits the longer side; `fmt="JPEG"` replaces transparency
    with white.
    """
    if as_upstream():
        return _encoded_as_upstream(img, target_size, fmt or "JPEG", max_file_size)
    kind = fmt or "PNG"
    return _encoded(_fitting(_shrunk(img, target_size), kind), kind)


def _encoded_as_upstream(
    img: "PilImage",
    target_size: int,
    fmt: str,
    max_file_size: float,
) -> str:
    """Return an image as base64, without transparency. Environment variables limit the edges and the base64 length."""
    if img.mode in ALPHA:
        img = img.convert("RGB")
    if target_size > 0:
        img.thumbnail((target_size, target_size))
    text = _encoded(img, fmt)
    largest = int(os.environ.get("VLMEVAL_MAX_IMAGE_SIZE", max_file_size))
    shortest = int(os.environ.get("VLMEVAL_MIN_IMAGE_EDGE", 100))
    if min(img.size) < shortest:
        text = _encoded(resize_image_by_factor(img, shortest / min(img.size)), fmt)
    factor = 1.0
    while len(text) > largest:
        factor *= min(1.0, (largest / len(text)) ** 0.5)
        text = _encoded(resize_image_by_factor(img, factor), fmt)
    return text


def resize_image_by_factor(img: "PilImage", factor: float = 1) -> "PilImage":
    """Return an image with both sides multiplied by `factor`."""
    return img.resize((int(img.width * factor), int(img.height * factor)))


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
    """Return an image file as base64. Its bytes are unchanged unless a size limit or a format is given."""
    if as_upstream():
        from PIL import Image as pillow

        image: PilImage = pillow.open(image_path)
    else:
        data = Path(image_path).read_bytes()
        if target_size <= 0 and fmt is None:
            return base64.b64encode(data).decode("ascii")
        image = _opened(data)
    return encode_image_to_base64(image, target_size, fmt, max_file_size)


def decode_base64_to_image(
    base64_string: str,
    target_size: int = -1,
) -> "PilImage":
    """Decode a base64 string or data URL to a Pillow image; under the toolkits' own rules without transparency."""
    image = _shrunk(_opened(image_bytes(base64_string)), target_size)
    if as_upstream() and image.mode in ALPHA:
        return image.convert("RGB")
    return image


def decode_base64_to_image_file(
    base64_string: str,
    image_path: str | Path,
    target_size: int = -1,
) -> None:
    """Decode a base64 string to an image file. The bytes are written unchanged if they match the file's suffix.

    The image is encoded again if the suffix requires another format, or if the rules of
    `upstream` are used.
    """
    path = Path(image_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if as_upstream():
        decode_base64_to_image(base64_string, target_size).save(path)
        return
    data = image_bytes(base64_string)
    file_format = FORMATS_BY_SUFFIX.get(path.suffix.lower(), "PNG")
    if target_size <= 0 and (sniff(data[:SNIFFED_BYTES]) or "").upper() == file_format:
        path.write_bytes(data)
        return
    image = _fitting(_shrunk(_opened(data), target_size), file_format)
    image.save(path, format=file_format)


def _opened(data: bytes) -> "PilImage":
    from PIL import Image as pillow

    check_image(Image(data))
    try:
        image = pillow.open(io.BytesIO(data), formats=FORMATS)
        image.load()
    except (
        OSError,
        SyntaxError,
        ValueError,
        EOFError,
        pillow.DecompressionBombError,
    ) as error:
        raise DataError(
            f"the image cannot be decoded: {error}", fix="get the file again"
        ) from error
    return image


def _shrunk(image: "PilImage", target_size: int) -> "PilImage":
    if target_size <= 0:
        return image
    smaller = image.copy()
    smaller.thumbnail((target_size, target_size))
    return smaller


def _fitting(image: "PilImage", fmt: str) -> "PilImage":
    if fmt.upper() in _OPAQUE:
        return to_rgb(image)
    return image


def needs_rgb(image: Image) -> bool:
    """Return True if an image may have a palette or transparency, which programs that expect RGB cannot handle."""
    data = image.data()[:32]
    kind = sniff(data)
    if kind == "png":
        return len(data) > 25 and data[25] in (3, 4, 6)
    return kind in ("gif", "webp", "tiff")

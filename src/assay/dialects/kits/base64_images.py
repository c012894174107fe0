"""Images as base64 text and back, as in benchmark files: lossless, and with transparency.

The functions have the names and parameters of VLMEvalKit's. Unlike there, an image is restored pixel by pixel,
unless a lossy format is requested.
"""

import base64
import io
from pathlib import Path
from typing import TYPE_CHECKING

from ...core import DataError, Image
from ...core.media import SNIFFED_BYTES, sniff
from ...media.checks import check_image
from ...media.encode import image_bytes
from ...media.images import FORMATS, to_rgb

if TYPE_CHECKING:
    from PIL.Image import Image as PilImage

_BY_SUFFIX = {
    ".png": "PNG",
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".gif": "GIF",
    ".bmp": "BMP",
    ".webp": "WEBP",
    ".tif": "TIFF",
    ".tiff": "TIFF",
}
_OPAQUE = ("JPEG", "BMP")


def encode_image_to_base64(
    img: "PilImage",
    target_size: int = -1,
    fmt: str = "PNG",
) -> str:
    """Return a Pillow image as base64.

    `target_size` above 0 limits its longer side; `fmt="JPEG"` replaces transparency by white.
    """
    buffer = io.BytesIO()
    _fitting(_shrunk(img, target_size), fmt).save(buffer, format=fmt)
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def encode_image_file_to_base64(
    image_path: str | Path,
    target_size: int = -1,
    fmt: str | None = None,
) -> str:
    """Return an image file as base64: its own bytes, unless it must be smaller or of another format."""
    data = Path(image_path).read_bytes()
    if target_size <= 0 and fmt is None:
        return base64.b64encode(data).decode("ascii")
    return encode_image_to_base64(_opened(data), target_size, fmt or "PNG")


def decode_base64_to_image(
    base64_string: str,
    target_size: int = -1,
) -> "PilImage":
    """Return the Pillow image of a base64 text or a data URL."""
    return _shrunk(_opened(image_bytes(base64_string)), target_size)


def decode_base64_to_image_file(
    base64_string: str,
    image_path: str | Path,
    target_size: int = -1,
) -> None:
    """Write the image of a base64 text to a file: its own bytes if the file's suffix names their format."""
    data = image_bytes(base64_string)
    path = Path(image_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    file_format = _BY_SUFFIX.get(path.suffix.lower(), "PNG")
    if target_size <= 0 and (sniff(data[:SNIFFED_BYTES]) or "").upper() == file_format:
        path.write_bytes(data)
        return
    _fitting(_shrunk(_opened(data), target_size), file_format).save(
        path, format=file_format
    )


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
    """Return True if an image has a palette or transparency, which readers of RGB cannot handle."""
    data = image.data()[:32]
    kind = sniff(data)
    if kind == "png":
        return len(data) > 25 and data[25] in (3, 4, 6)
    return kind in ("gif", "webp", "tiff")

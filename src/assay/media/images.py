"""Decode images to 8-bit RGB as people see them: upright, with transparency on white.

Limits are checked against the header before a pixel is decoded. A truncated file is refused instead of being filled
with grey.
"""

import io
from typing import TYPE_CHECKING

from ..core import DataError, Image, MissingExtra, library
from .checks import RARE_IMAGES, check_image, check_size
from .media_headers import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from PIL.Image import Image as PilImage

FORMATS = (
    "PNG",
    "JPEG",
    "GIF",
    "WEBP",
    "BMP",
    "TIFF",
    "AVIF",
    "HEIF",
    "JPEG2000",
    "PPM",
    "ICO",
)
"""Formats that Pillow may read. Its readers of rarer formats get no untrusted bytes."""


def decode_image(
    image: Image,
    *,
    limits: Limits = DEFAULT_LIMITS,
) -> "PilImage":
    """Return the image as RGB: with EXIF rotation applied, 16 bits scaled to 8, and transparency on white.

    An animation is a `DataError`, because it is unknown which frame is meant. The file
    is decoded in a separate process.
    """
    from PIL import Image as pillow

    from .bounded import decode

    facts = check_image(image, limits)
    if (facts.frames or 1) > 1:
        raise _animated(image, facts.format, facts.frames or 0)
    reply, pixels = decode(image, limits, {})
    return pillow.frombytes("RGB", tuple(reply["size"]), pixels)


def decode_image_here(
    image: Image,
    *,
    limits: Limits = DEFAULT_LIMITS,
) -> "PilImage":
    """Decode an image in this process, as `decode_image` does in another."""
    from PIL import Image as pillow
    from PIL import ImageOps

    facts = check_image(image, limits)
    if (facts.frames or 1) > 1:
        raise _animated(image, facts.format, facts.frames or 0)
    _register_reader(image, facts.format)
    try:
        with pillow.open(
            io.BytesIO(image.data()), formats=_supported_formats()
        ) as opened:
            check_size(image, *opened.size, limits)
            # A phone's JPEG may contain a second image (a depth map, a preview); the first one is the photo.
            if (
                facts.format != "jpeg"
                and (frames := int(getattr(opened, "n_frames", 1))) > 1
            ):
                raise _animated(image, facts.format, frames)
            opened.load()
            return to_rgb(ImageOps.exif_transpose(opened))
    except (DataError, MemoryError):
        raise
    except Exception as error:
        # On broken files Pillow's readers raise anything their parser met: TypeError, struct.error, zlib.error.
        if facts.format in RARE_IMAGES:
            fix = "convert it to PNG or JPEG"
        else:
            fix = "get the file again"
        raise image.fault(
            f"the {facts.format} cannot be decoded: {error}", fix=fix
        ) from error


def _supported_formats() -> list[str]:
    """Return the formats that Pillow may read and that this installation supports."""
    from PIL import Image as pillow

    pillow.init()
    return [name for name in FORMATS if name in pillow.OPEN]


def _register_reader(image: Image, name: str) -> None:
    """Register the library that lets Pillow read this format. Raise if it is not installed."""
    from PIL import features

    if name == "heic":
        register_heif_opener = library(
            "pi_heif",
            "pi-heif, which reads HEIC,",
            "assay[media]",
        ).register_heif_opener
        register_heif_opener()
    elif name == "jxl":
        raise image.fault(
            "JPEG XL cannot be decoded here",
            fix="convert it to PNG: `djxl image.jxl image.png`",
        )
    elif name == "avif" and not features.check("avif"):
        raise MissingExtra("a Pillow that reads AVIF", "-U 'pillow>=11.3'")
    elif name == "jp2" and not features.check("jpg_2000"):
        raise image.fault(
            "this Pillow was built without JPEG 2000", fix="convert it to PNG"
        )


def to_rgb(image: "PilImage") -> "PilImage":
    """Return any Pillow image as 8-bit RGB, with transparent parts on white."""
    from PIL import Image as pillow

    if image.mode == "RGB" and "transparency" not in image.info:
        return image
    if image.mode.startswith("I") or image.mode == "F":
        return _from_deep(image).convert("RGB")
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        ground = pillow.new("RGBA", layer.size, "white")
        return pillow.alpha_composite(ground, layer).convert("RGB")
    return image.convert("RGB")


def _from_deep(image: "PilImage") -> "PilImage":
    """Convert 16- or 32-bit grey to 8-bit grey. Pillow's own conversion would make all values above 255 white."""
    import numpy as np
    from PIL import Image as pillow

    values = np.asarray(image)
    if not np.isfinite(values).all():
        raise ValueError("pixels that are not finite")
    low = float(values.min())
    high = float(values.max())
    if image.mode == "F":
        if low < 0 or high > 255:
            raise ValueError(
                f"floating-point pixels from {low:g} to {high:g}; 0 to 1 or 0 to 255 is understood"
            )
        scaled = np.round(values * 255 if high <= 1 else values)
    else:
        if low < 0 or high > 65_535:
            raise ValueError(
                f"pixels from {low:g} to {high:g}; at most 16 bits are understood"
            )
        scaled = values.astype(np.int64) // 257
    return pillow.fromarray(scaled.astype(np.uint8))


def _animated(
    image: Image,
    name: str,
    frames: int,
) -> Exception:
    if name == "tiff":
        unit = "pages"
        fix = "save the intended page as a separate image, or name several images in a list"
    else:
        unit = "frames"
        fix = "save one frame, or give it as video"
    return image.fault(
        f"the {name} has {frames} {unit} where one image is expected", fix=fix
    )

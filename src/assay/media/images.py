"""Images decoded to 8-bit RGB the way people see them: upright, with transparency on a plain ground.

Limits are held against the header before a pixel is unpacked, and a file that was cut is refused, not filled with grey.
"""

import io
from typing import TYPE_CHECKING

from ..core import DataError, Image, MissingExtra, library
from .checks import RARE_IMAGES, check_image, check_size
from .facts import DEFAULT_LIMITS, Limits

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
"""What Pillow may try: its readers of rarer formats see no foreign bytes."""


def decode_image(image: Image, *, limits: Limits = DEFAULT_LIMITS) -> "PilImage":
    """The image as RGB; EXIF rotation is applied, 16 bits are scaled to 8, alpha is laid over white.

    An animation is a `DataError`: which frame was meant is not ours to guess. The work is done in a process of its own.
    """
    from PIL import Image as pillow

    from .bounded import decode

    facts = check_image(image, limits)
    if (facts.frames or 1) > 1:
        raise _animated(image, facts.format, facts.frames or 0)
    reply, pixels = decode(image, limits, {})
    return pillow.frombytes("RGB", tuple(reply["size"]), pixels)


def decode_image_here(image: Image, *, limits: Limits = DEFAULT_LIMITS) -> "PilImage":
    """`decode_image` in this process."""
    from PIL import Image as pillow
    from PIL import ImageOps

    facts = check_image(image, limits)
    if (facts.frames or 1) > 1:
        raise _animated(image, facts.format, facts.frames or 0)
    _get_ready(image, facts.format)
    try:
        with pillow.open(io.BytesIO(image.data()), formats=_known()) as opened:
            check_size(image, *opened.size, limits)
            # A phone's JPEG may carry a second image (a depth map, a preview); the first one is the photo.
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
        # Pillow's readers fail on broken files with whatever their parser met: TypeError, struct.error, zlib.error.
        fix = (
            "convert it to PNG or JPEG"
            if facts.format in RARE_IMAGES
            else "get the file again"
        )
        raise image.fault(
            f"the {facts.format} cannot be decoded: {error}", fix=fix
        ) from error


def _known() -> list[str]:
    """The formats that Pillow may try and has here."""
    from PIL import Image as pillow

    pillow.init()
    return [name for name in FORMATS if name in pillow.OPEN]


def _get_ready(image: Image, name: str) -> None:
    """Has Pillow read a format that another library brings; raises where nothing does."""
    from PIL import features

    if name == "heic":
        register_heif_opener = library(
            "pi_heif", "pi-heif, which reads HEIC,", "assay[media]"
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
    """Any image Pillow holds as 8-bit RGB, transparent parts on white."""
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
    """16- and 32-bit grey as 8-bit grey; Pillow's own conversion clips everything above 255 to white."""
    import numpy as np
    from PIL import Image as pillow

    values = np.asarray(image)
    if not np.isfinite(values).all():
        raise ValueError("pixels that are not finite")
    low, high = float(values.min()), float(values.max())
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


def _animated(image: Image, name: str, frames: int) -> Exception:
    if name == "tiff":
        what, fix = (
            "pages",
            "save the page that is meant as an image of its own, or name several images in a list",
        )
    else:
        what, fix = "frames", "save one frame, or give it as video"
    return image.fault(
        f"the {name} has {frames} {what} where one image is expected", fix=fix
    )

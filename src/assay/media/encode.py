"""Convert images and audio to media: from arrays, Pillow images, and base64 text.

Equal arrays give equal bytes, so that digests identify them. That is why the WAV header is written here: libsndfile
writes the time of day into the headers of float files.
"""

import io
import struct
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ..core import Audio, Image, UsageError
from ..core.media import MEDIA_KINDS, decode_base64
from .images import to_rgb

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from PIL.Image import Image as PillowImage

    from .audio import DecodedAudio

_INLINE = "data:"


def bytes_of_text(text: str, what: str = "media") -> bytes:
    """Return the bytes of base64 or of a data URL. Raise `DataError` for stray characters and wrong padding.

    Fast decoding is tried first. The standard library's strict decoder is several times slower and only describes
    faults.
    """
    if text.startswith(_INLINE):
        text = text.partition(",")[2]
    try:
        return msgspec.convert(text, bytes)
    except msgspec.ValidationError:
        return decode_base64(text, what=what)


READERS = {kind: partial(bytes_of_text, what=kind) for kind in MEDIA_KINDS}
"""For each kind of medium, a function that decodes base64. The kind appears in its error messages."""
image_bytes = READERS["image"]


PNG_MODES = frozenset({"1", "L", "LA", "P", "RGB", "RGBA", "I", "I;16"})
PCM, FLOAT = 1, 3
"""Format codes of a WAV header."""


def image_from(
    image: "PillowImage | ArrayLike",
    *,
    name: str | None = None,
) -> Image:
    """Return a Pillow image, or an array with the shape (height, width) or (height, width, 1, 3 or 4), as PNG.

    Arrays have bytes, or floats from 0 to 1. An image in a mode that PNG does not have,
    such as CMYK, becomes RGB.
    """
    from PIL import Image as pillow

    picture = image if isinstance(image, pillow.Image) else _image(image)
    if picture.mode not in PNG_MODES:
        picture = to_rgb(picture)
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG")
    return Image(buffer.getvalue(), name=name)


def audio_from(
    samples: object,
    rate: int,
    *,
    subtype: Literal["PCM_16", "FLOAT"] = "PCM_16",
    name: str | None = None,
) -> Audio:
    """Return an array with the shape (frames,) or (frames, channels) as WAV. It has
    16-bit integers, or floats from -1 to 1.

    The subtype `FLOAT` preserves floats exactly. Every model and endpoint reads
    `PCM_16`.
    """
    import numpy as np

    array = np.asarray(samples)
    if rate < 1:
        raise UsageError(f"an audio clip needs a sampling rate, not {rate}")
    if (
        array.ndim not in (1, 2)
        or array.size == 0
        or (array.ndim == 2 and array.shape[1] > 8)
    ):
        raise UsageError(
            f"no audio clip can be made of an array of shape {array.shape}",
            fix="frames, or frames by channels",
        )
    if array.dtype == np.int16:
        if subtype != "PCM_16":
            array = array.astype(np.float32) / 32_768
    elif array.dtype.kind == "f":
        array = _checked(array, subtype)
    else:
        raise UsageError(
            f"no audio clip can be made of {array.dtype} samples",
            fix="16-bit integers, or floats from -1 to 1",
        )
    if array.ndim == 1:
        channels = 1
    else:
        channels = array.shape[1]
    code, dtype = (PCM, "<i2") if subtype == "PCM_16" else (FLOAT, "<f4")
    return Audio(
        _wav(array.astype(dtype).tobytes(), code, channels, rate, int(dtype[-1])),
        name=name,
    )


def wav_of(decoded: "DecodedAudio", original: Audio) -> Audio:
    """Convert a decoded clip to a 16-bit WAV file, or to floats if its values exceed
    full scale.

    The result has the name and location of `original`.
    """
    is_loud = float(abs(decoded.samples).max(initial=0.0)) > 1.0
    wav = audio_from(
        decoded.samples,
        decoded.rate,
        subtype="FLOAT" if is_loud else "PCM_16",
        name=original.name,
    )
    wav.place = original.place
    return wav


def _checked(array: "NDArray[Any]", subtype: str) -> "NDArray[Any]":
    import numpy as np

    if not np.isfinite(array).all():
        raise UsageError("no audio clip can be made of samples that are not finite")
    if subtype == "FLOAT":
        return array
    peak = float(np.abs(array).max())
    if peak > 1.0:
        raise UsageError(
            f"samples up to {peak:g} would be cut at 1",
            fix="scale them, or subtype='FLOAT'",
        )
    return np.clip(np.round(array * 32_768), -32_768, 32_767)


def _wav(
    body: bytes,
    code: int,
    channels: int,
    rate: int,
    width: int,
) -> bytes:
    block = channels * width
    format_chunk = struct.pack(
        "<4sIHHIIHH",
        b"fmt ",
        16,
        code,
        channels,
        rate,
        rate * block,
        block,
        8 * width,
    )
    data_chunk = (
        struct.pack("<4sI", b"data", len(body)) + body + b"\0" * (len(body) & 1)
    )
    return (
        struct.pack("<4sI4s", b"RIFF", 4 + len(format_chunk) + len(data_chunk), b"WAVE")
        + format_chunk
        + data_chunk
    )


def _image(array: object) -> "PillowImage":
    import numpy as np
    from PIL import Image as pillow

    pixels = np.asarray(array)
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    if pixels.size == 0 or not (
        pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] in (3, 4))
    ):
        raise UsageError(
            f"no image can be made of an array of shape {pixels.shape}",
            fix="height x width, or x 1, 3 or 4 channels",
        )
    if pixels.dtype.kind == "f":
        if not np.isfinite(pixels).all() or pixels.min() < 0 or pixels.max() > 1:
            raise UsageError(
                "no image can be made of floats outside 0 to 1",
                fix="scale them, or give bytes",
            )
        pixels = np.round(pixels * 255).astype(np.uint8)
    if pixels.dtype != np.uint8:
        raise UsageError(
            f"no image can be made of {pixels.dtype} pixels",
            fix="bytes, or floats from 0 to 1",
        )
    return pillow.fromarray(np.ascontiguousarray(pixels))

"""Check media without decoding them, and describe their size and duration."""

from collections.abc import Callable, Mapping
from typing import Any

from ..core import Audio, DataError, Image, Media, Video
from ..core.media import SNIFFED_BYTES, sniff
from .media_headers import (
    AUDIO_READERS,
    DEFAULT_LIMITS,
    IMAGE_READERS,
    VIDEO_READERS,
    Broken,
    Facts,
    Limits,
)

RARE_IMAGES = frozenset({"avif", "heic", "jxl", "jp2", "ppm", "ico"})
"""Image formats whose headers assay does not read. Only a decoder can check them."""
IMAGE_FORMATS = frozenset(IMAGE_READERS) | RARE_IMAGES
CONTAINERS = frozenset({"mp4", "m4a", "webm", "matroska", "aac", "amr", "asf"})
"""Audio formats that PyAV can read but libsndfile cannot."""
AUDIO_FORMATS = CONTAINERS | {
    "wav",
    "flac",
    "ogg",
    "mp3",
    "aiff",
    "au",
    "caf",
    "w64",
    "rf64",
    "sphere",
    "voc",
    "paf",
    "svx",
    "ircam",
    "pvf",
    "avr",
    "wve",
    "xi",
    "mat4",
    "mat5",
    "sds",
    "mpc2k",
    "htk",
    "mp2",
}
VIDEO_FORMATS = frozenset({"mp4", "m4a", "webm", "matroska", "avi", "gif", "asf"})
Readers = Mapping[str, Callable[[bytes], Facts]]
_SOUND_READERS: Readers = {**VIDEO_READERS, **AUDIO_READERS}


def check_media(
    medium: Media,
    limits: Limits = DEFAULT_LIMITS,
) -> Facts:
    """Return the format, size and duration of a medium from its headers.

    Raise `DataError` if the medium is empty, truncated, too large or of another kind.
    Its file name is ignored: an MP3 called `.wav` is an MP3.
    """
    if isinstance(medium, Image):
        return check_image(medium, limits)
    if isinstance(medium, Audio):
        return check_audio(medium, limits)
    if isinstance(medium, Video):
        return _facts(medium, VIDEO_FORMATS, VIDEO_READERS)
    return _facts(medium, frozenset(), {})


def check_image(
    image: Image,
    limits: Limits = DEFAULT_LIMITS,
) -> Facts:
    """Return format, width and height of an image from its header.

    Raise if it is incomplete or exceeds the limits.
    """
    facts = _facts(image, IMAGE_FORMATS, IMAGE_READERS)
    if facts.format not in RARE_IMAGES:
        check_size(image, facts.width or 0, facts.height or 0, limits)
    return facts


def check_size(
    medium: Media,
    width: int,
    height: int,
    limits: Limits,
) -> None:
    """Raise if an image or a video frame has no area, or more pixels than the limits allow."""
    kind = medium.kind
    if width < 1 or height < 1:
        raise medium.fault(f"the {kind} has no area: {width} x {height} pixels")
    is_long = max(width, height) > limits.side
    if is_long or width * height > limits.pixels:
        megapixels = limits.pixels // 1_000_000
        raise medium.fault(
            f"the {kind} is too large: {width:,} x {height:,} pixels",
            fix=f"at most {megapixels} megapixels and {limits.side:,} pixels a side",
        )


def check_audio(
    audio: Audio,
    limits: Limits = DEFAULT_LIMITS,
) -> Facts:
    """Return format, rate and length of an audio clip from its header.

    Raise if it is incomplete or exceeds the limits.
    """
    facts = _facts(audio, AUDIO_FORMATS, _SOUND_READERS)
    check_length(audio, facts.frames, facts.rate, facts.channels, limits)
    return facts


def check_length(
    audio: Audio,
    frames: int | None,
    rate: int | None,
    channels: int | None,
    limits: Limits,
) -> None:
    """Raise if an audio clip has no samples, or is longer than the limits allow."""
    if frames == 0:
        raise audio.fault(
            "the audio has no samples", fix="leave the row out, or get the file again"
        )
    if frames is None or not rate:
        return
    seconds = frames / rate
    samples = frames * (channels or 1)
    if seconds > limits.seconds or samples > limits.samples:
        hours = seconds / 3600
        most_hours = limits.seconds / 3600
        raise audio.fault(
            f"the audio is too long: {hours:.1f} h of {channels} channels at {rate:,} Hz",
            fix=f"at most {most_hours:g} h and {limits.samples:,} samples of all channels together",
        )


def _facts(
    medium: Media,
    expected: frozenset[str],
    readers: Readers,
) -> Facts:
    """Return the format, size and duration of a medium from its headers.

    If assay has no reader for the format, return only the format.
    """
    data = medium.data()
    name = _format_of(medium, data, expected)
    if name not in readers:
        return Facts(name)
    read = readers[name]
    try:
        return read(data)
    except Broken as broken:
        raise medium.fault(str(broken), fix="get the file again") from broken


def _format_of(
    medium: Media,
    data: bytes,
    expected: frozenset[str],
) -> str:
    """Detect the format of a medium from its first bytes. Raise if it is not one of `expected`."""
    if not data:
        raise medium.fault(f"the {medium.kind} is empty: 0 bytes")
    kind = _a(medium.kind)
    name = sniff(data[:SNIFFED_BYTES])
    if name is None:
        raise medium.fault(
            f"not {kind}: the bytes are those of {_guess(data)}",
            fix=f"convert it to {_usual(medium)}, or leave the row out",
        )
    if expected and name not in expected:
        raise medium.fault(
            f"not {kind}: the bytes are those of {_a(name)} file",
            fix=f"give {kind}, or name the column for what it holds",
        )
    return name


def _usual(medium: Media) -> str:
    """Return examples of formats that every model can read, such as "PNG or JPEG", for an error message."""
    if medium.kind == "image":
        return "PNG or JPEG"
    if medium.kind == "audio":
        return "WAV or FLAC"
    return "MP4"


def _guess(data: bytes) -> str:
    start = data[:256].lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return "a web page"
    if start.startswith((b"{", b"[", b"<?xml", b"version https://git-lfs")):
        return "a text file"
    return "no known format"


def _a(kind: str) -> str:
    if kind[0] in "aeiou":
        return f"an {kind}"
    return f"a {kind}"


def described(medium: Media) -> dict[str, Any]:
    """Describe a medium for a scorer: size in bytes, width and height, or seconds, rate
    and channels.

    If the header cannot be read, return only the size. The scorer decides whether a
    generated image is valid.
    """
    plain: dict[str, Any] = {"bytes": len(medium.data())}
    try:
        facts = check_media(medium)
    except DataError:
        return plain
    if facts.width is not None:
        plain.update(
            width=facts.width,
            height=facts.height,
        )
        if (facts.frames or 1) > 1:
            plain["frames"] = facts.frames
    elif facts.seconds is not None:
        plain.update(
            seconds=round(facts.seconds, 6),
            rate=facts.rate,
            channels=facts.channels,
        )
    return plain

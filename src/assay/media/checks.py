"""Checks of media that are only passed on: the right kind, whole, and small enough? Nothing is decoded."""

from ..core import Audio, Image, Media, Video
from ..core.media import SNIFFED_BYTES, sniff
from . import audio_headers, image_headers, video_headers
from .facts import DEFAULT_LIMITS, Broken, Facts, Limits
from .faults import fault

RARE_IMAGES = frozenset({"avif", "heic", "jxl", "jp2", "ppm", "ico"})
"""Images whose headers only their decoder reads."""
IMAGE_FORMATS = frozenset(image_headers.READERS) | RARE_IMAGES
CONTAINERS = frozenset({"mp4", "m4a", "webm", "matroska", "aac", "amr", "asf"})
"""Audio that libsndfile does not read, and PyAV does."""
AUDIO_FORMATS = CONTAINERS | {
    "wav", "flac", "ogg", "mp3", "aiff", "au", "caf", "w64", "rf64", "sphere", "voc", "paf", "svx", "ircam", "pvf",
    "avr", "wve", "xi", "mat5", "sds", "mpc2k",
}  # fmt: skip
VIDEO_FORMATS = frozenset({"mp4", "m4a", "webm", "matroska", "avi", "gif", "asf"})


def check_media(medium: Media, limits: Limits = DEFAULT_LIMITS) -> Facts:
    """What a medium's headers say; a `DataError` with its place if it is empty, cut off, too large or something else.

    The file's name plays no part: an MP3 called `.wav` is an MP3.
    """
    if isinstance(medium, Image):
        return check_image(medium, limits)
    if isinstance(medium, Audio):
        return check_audio(medium, limits)
    data = medium.data()
    name = _format_of(medium, data, VIDEO_FORMATS if isinstance(medium, Video) else frozenset())
    if not isinstance(medium, Video) or name not in video_headers.READERS:
        return Facts(name)
    try:
        return video_headers.READERS[name](data)
    except Broken as broken:
        raise fault(medium, str(broken), fix="get the file again") from broken


def check_image(image: Image, limits: Limits = DEFAULT_LIMITS) -> Facts:
    """The facts of an image that is whole and within the limits."""
    data = image.data()
    name = _format_of(image, data, IMAGE_FORMATS)
    if name in RARE_IMAGES:
        return Facts(name)
    try:
        facts = image_headers.READERS[name](data)
    except Broken as broken:
        raise fault(image, str(broken), fix="get the file again") from broken
    check_size(image, facts.width or 0, facts.height or 0, limits)
    return facts


def check_size(medium: Media, width: int, height: int, limits: Limits) -> None:
    """Raises for an image that has no area, or more than the limits allow."""
    if width < 1 or height < 1:
        raise fault(medium, f"the {medium.kind} has no area: {width} x {height} pixels")
    if width > limits.side or height > limits.side or width * height > limits.pixels:
        raise fault(
            medium,
            f"the {medium.kind} is too large: {width:,} x {height:,} pixels",
            fix=f"at most {limits.pixels // 1_000_000} megapixels and {limits.side:,} pixels a side",
        )


def check_audio(audio: Audio, limits: Limits = DEFAULT_LIMITS) -> Facts:
    """The facts of an audio clip that is whole, not empty and within the limits."""
    data = audio.data()
    name = _format_of(audio, data, AUDIO_FORMATS)
    reader = audio_headers.READERS.get(name) or (video_headers.READERS.get(name) if name in CONTAINERS else None)
    try:
        facts = reader(data) if reader else Facts(name)
    except Broken as broken:
        raise fault(audio, str(broken), fix="get the file again") from broken
    check_length(audio, facts.frames, facts.rate, facts.channels, limits)
    return facts


def check_length(audio: Audio, frames: int | None, rate: int | None, channels: int | None, limits: Limits) -> None:
    """Raises for an audio clip without samples, and for one longer than the limits allow."""
    if frames == 0:
        raise fault(audio, "the audio has no samples", fix="leave the row out, or get the file again")
    if frames is None or not rate:
        return
    if frames / rate > limits.seconds or frames * (channels or 1) > limits.samples:
        raise fault(
            audio,
            f"the audio is too long: {frames / rate / 3600:.1f} h of {channels} channels at {rate:,} Hz",
            fix=f"at most {limits.seconds / 3600:g} h and {limits.samples:,} samples of all channels together",
        )


def _format_of(medium: Media, data: bytes, expected: frozenset[str]) -> str:
    if not data:
        raise fault(medium, f"the {medium.kind} is empty: 0 bytes")
    name = sniff(data[:SNIFFED_BYTES])
    if name is None:
        raise fault(
            medium,
            f"not {_a(medium.kind)}: the bytes are those of {_guess(data)}",
            fix=f"convert it to {_usual(medium)}, or leave the row out",
        )
    if expected and name not in expected:
        fix = f"give {_a(medium.kind)}, or name the column for what it holds"
        raise fault(medium, f"not {_a(medium.kind)}: the bytes are those of {_a(name)} file", fix=fix)
    return name


def _usual(medium: Media) -> str:
    return {"image": "PNG or JPEG", "audio": "WAV or FLAC"}.get(medium.kind, "MP4")


def _guess(data: bytes) -> str:
    start = data[:256].lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return "a web page"
    if start.startswith((b"{", b"[", b"<?xml", b"version https://git-lfs")):
        return "a text file"
    return "no known format"


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"

"""Media in an endpoint's answer: the bytes that came with it.

An answer is not trusted to name what is opened: a path in it would be a file of whoever asks, and an address a place in
their network.
"""

import io
import wave
from typing import Any, TypeVar

from ..core import Audio, DataError, Image, Media, shorten
from ..core.media import decode_base64, sniff

USUAL_RATE = 24_000
"""Of samples that come without a file around them."""
BARE_FORMATS = frozenset({"pcm", "pcm16"})
FILES = frozenset({"wav", "flac", "ogg", "mp4", "webm"})
"""Formats of audio clips whose beginning is so long that samples never look like it."""
TAGGED = (b"ID3\x02\x00", b"ID3\x03\x00", b"ID3\x04\x00")
"""How MP3 begins where it begins with more than two bytes of its own, which samples may well be."""

M = TypeVar("M", bound=Media)


class Malformed(ValueError):
    """A body that is JSON but not an answer; `passes` says whether another try may bring one."""

    def __init__(self, message: str, *, passes: bool = True) -> None:
        super().__init__(message)
        self.passes = passes


def from_base64(kind: type[M], text: Any) -> M:
    """The medium whose bytes an answer spells out; raises `Malformed` for anything else."""
    if isinstance(text, str) and text.startswith("data:"):
        return from_data_url(kind, text)
    if not isinstance(text, str) or not text:
        raise Malformed(
            f"the {kind.kind} in the answer is no base64 text: {shorten(text)}"
        )
    try:
        return kind(decode_base64(text))
    except DataError as strict:
        try:
            return kind(decode_base64("".join(text.split())))  # some break their lines
        except DataError:
            raise Malformed(
                f"the {kind.kind} in the answer: {strict.what}, got {shorten(text)}"
            ) from strict


def from_data_url(kind: type[M], url: Any) -> M:
    """The medium in a `data:` URL; raises `Malformed` for a path or an address, which are never opened."""
    if not isinstance(url, str) or not url.startswith("data:"):
        raise Malformed(
            f"the answer names an {kind.kind} instead of holding it, which is not opened: {shorten(url)}; "
            "fix: have the server send a data: URL",
            passes=False,
        )
    head, _, data = url.partition(",")
    if not head.endswith(";base64"):
        raise Malformed(
            f"the {kind.kind} in the answer is no base64: {shorten(url)}", passes=False
        )
    return from_base64(kind, data)


def image_at(holder: Any) -> Image:
    """The image of an `image_url`, which holds its URL or is it."""
    return from_data_url(
        Image, holder.get("url") if isinstance(holder, dict) else holder
    )


def playable(
    audio: Audio, audio_format: str | None = None, rate: int = USUAL_RATE
) -> Audio:
    """A clip that can be played: bare samples get a file around them where `audio_format` says that they are bare."""
    first = audio.data()[:16]
    if (
        audio_format not in BARE_FORMATS
        or sniff(first) in FILES
        or first.startswith(TAGGED)
    ):
        return audio
    return Audio(as_wav(audio.data(), rate))


def as_wav(samples: bytes, rate: int) -> bytes:
    """Samples of 16 bits and one channel as a WAV file."""
    file = io.BytesIO()
    with wave.open(file, "wb") as audio:
        audio.setnchannels(1)
        audio.setsampwidth(2)
        audio.setframerate(rate)
        audio.writeframes(samples)
    return file.getvalue()

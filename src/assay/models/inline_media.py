"""Check the structure of an endpoint's answer, and decode the media bytes in it.

Paths and URLs in an answer are never opened: they would give the endpoint access to
files and hosts of this machine.
"""

import io
import wave
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from ..core import EMPTY, Audio, DataError, Image, Media, shorten
from ..core.media import decode_base64, sniff

USUAL_RATE = 24_000
"""Sampling rate assumed for raw audio without a file header."""
BARE_FORMATS = frozenset({"pcm", "pcm16"})
FILES = frozenset({"wav", "flac", "ogg", "mp4", "webm"})
"""Audio file formats with a signature so long that raw samples cannot match it by chance."""
TAGGED = (b"ID3\x02\x00", b"ID3\x03\x00", b"ID3\x04\x00")
"""Beginnings of MP3 files that raw samples cannot match. Shorter MP3 signatures could match raw samples."""

M = TypeVar("M", bound=Media)
T = TypeVar("T")
P = ParamSpec("P")


class Malformed(ValueError):
    """Raised for a body that is JSON but not an answer. `passes` is True if a retry may help."""

    def __init__(
        self,
        message: str,
        *,
        passes: bool = True,
    ) -> None:
        super().__init__(message)
        self.passes = passes


def well_shaped(
    read: Callable[Concatenate[Any, P], T],
) -> Callable[Concatenate[Any, P], T]:
    """Wrap a function that reads answers so that it raises `Malformed` for a body with an unexpected structure."""

    @wraps(read)
    def read_shaped(
        answer: object,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        try:
            return read(answer, *args, **kwargs)
        except Malformed:
            raise
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise Malformed(
                f"the answer has an unexpected structure ({type(error).__name__}: {error}): {shorten(answer)}"
            ) from error

    return read_shaped


def mapping_in(value: object, *names: str) -> Mapping[str, Any]:
    """Return the nested mapping at a path of keys; empty if there is none."""
    for name in names:
        if not isinstance(value, Mapping):
            return EMPTY
        value = value.get(name)
    return value if isinstance(value, Mapping) else EMPTY


def from_base64(
    kind: type[M],
    text: object,
) -> M:
    """Decode a base64 medium in an answer. Raise `Malformed` for anything else."""
    if isinstance(text, str) and text.startswith("data:"):
        return from_data_url(kind, text)
    if not isinstance(text, str) or not text:
        raise Malformed(
            f"the {kind.kind} in the answer is not base64 text: {shorten(text)}"
        )
    try:
        return kind(decode_base64(text))
    except DataError as strict:
        try:
            # Some servers break lines.
            return kind(decode_base64("".join(text.split())))
        except DataError:
            raise Malformed(
                f"the {kind.kind} in the answer: {strict.what}, got {shorten(text)}"
            ) from strict


def from_data_url(
    kind: type[M],
    url: object,
) -> M:
    """Decode the medium in a `data:` URL. Raise `Malformed` for a path or any other URL, which are never opened."""
    if not isinstance(url, str) or not url.startswith("data:"):
        raise Malformed(
            f"the answer names an {kind.kind} instead of holding it, which is not opened: {shorten(url)}; "
            "fix: have the server send a data: URL",
            passes=False,
        )
    head, _, data = url.partition(",")
    if not head.endswith(";base64"):
        raise Malformed(
            f"the {kind.kind} in the answer is not base64: {shorten(url)}", passes=False
        )
    return from_base64(kind, data)


def image_at(holder: object) -> Image:
    """Decode an image from the value of `image_url`: a URL, or an object with the key `url`."""
    return from_data_url(
        Image, holder.get("url") if isinstance(holder, dict) else holder
    )


def playable(audio: Audio, audio_format: str | None = None) -> Audio:
    """Return a playable clip. If `audio_format` is a raw format, the samples become a WAV file."""
    first = audio.data()[:16]
    if (
        audio_format not in BARE_FORMATS
        or sniff(first) in FILES
        or first.startswith(TAGGED)
    ):
        return audio
    return Audio(as_wav(audio.data(), USUAL_RATE))


def as_wav(samples: bytes, rate: int) -> bytes:
    """Convert 16-bit mono samples to a WAV file."""
    file = io.BytesIO()
    with wave.open(file, "wb") as audio:
        audio.setnchannels(1)
        audio.setsampwidth(2)
        audio.setframerate(rate)
        audio.writeframes(samples)
    return file.getvalue()

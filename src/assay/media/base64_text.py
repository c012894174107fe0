"""Base64 text to bytes, strictly and fast: what a large table of images spends most of its time on."""

import msgspec

from ..core.media import decode_base64

_INLINE = "data:"


def bytes_of_text(text: str, what: str = "media") -> bytes:
    """The bytes of base64 or of a data URL; stray characters and wrong padding are a `DataError`.

    Several times as fast as the standard library's strict decoder, which is asked only for its words on a fault.
    """
    if text.startswith(_INLINE):
        text = text.partition(",")[2]
    try:
        return msgspec.convert(text, bytes)
    except msgspec.ValidationError:
        return decode_base64(text, what=what)


def image_bytes(text: str) -> bytes:
    """The bytes of an image in base64."""
    return bytes_of_text(text, "image")


def audio_bytes(text: str) -> bytes:
    """The bytes of an audio clip in base64."""
    return bytes_of_text(text, "audio")


def video_bytes(text: str) -> bytes:
    """The bytes of a video in base64."""
    return bytes_of_text(text, "video")


READERS = {"image": image_bytes, "audio": audio_bytes, "video": video_bytes}
"""By kind of medium."""

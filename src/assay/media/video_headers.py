"""Videos by their headers: whether an MP4, an AVI or a Matroska is whole. Its frames are not looked at."""

import struct
from collections.abc import Callable

from .facts import Broken, Facts


def mp4(data: bytes) -> Facts:
    """An MP4 whose boxes end where they say, with the one that tells what is in it."""
    at, names = 0, set()
    while at + 8 <= len(data):
        size, name = struct.unpack_from(">I4s", data, at)
        if size == 1 and at + 16 <= len(data):
            (size,) = struct.unpack_from(">Q", data, at + 8)
        elif size == 0:  # to the end of the file
            size = len(data) - at
        if size < 8 or at + size > len(data):
            raise Broken(
                f"the MP4 is cut off: {len(data):,} bytes, and a part goes on to {at + max(size, 8):,}"
            )
        names.add(name)
        at += size
    if names.isdisjoint({b"moov", b"moof"}):
        raise Broken("the MP4 is cut off: nothing says what is in it")
    return Facts("mp4")


def avi(data: bytes) -> Facts:
    """An AVI as long as its header says; what its writer could not know it left at 0."""
    (size,) = struct.unpack_from("<I", data, 4)
    if size and size + 8 > len(data):
        raise Broken(f"the AVI is cut off: {len(data):,} of {size + 8:,} bytes")
    return Facts("avi")


def m4a(data: bytes) -> Facts:
    """The same for audio in such boxes."""
    mp4(data)
    return Facts("m4a")


def matroska(data: bytes) -> Facts:
    """A Matroska as long as its one segment says; a live recording does not say it."""
    after_header = _element(data, 0)[1]
    end = (
        _element(data, after_header)[1]
        if data.startswith(_SEGMENT, after_header)
        else after_header
    )
    if end > len(data):
        raise Broken(f"the Matroska is cut off: {len(data):,} of {end:,} bytes")
    return Facts("matroska")


def webm(data: bytes) -> Facts:
    """The same under its other name."""
    matroska(data)
    return Facts("webm")


def _element(data: bytes, at: int) -> tuple[int, int]:
    """Where the body of an element with an id of four bytes begins, and where it ends: here, if it does not say."""
    first = data[at + 4] if at + 4 < len(data) else 0
    width = (
        9 - first.bit_length()
    )  # as many bytes as there are zeros before the first one bit, and that one
    value = int.from_bytes(data[at + 4 : at + 4 + width], "big") & (
        (1 << 7 * width) - 1
    )
    body = at + 4 + width
    is_unknown = value == (1 << 7 * width) - 1
    return body, body if is_unknown else body + value


_SEGMENT = b"\x18\x53\x80\x67"
READERS: dict[str, Callable[[bytes], Facts]] = {
    "mp4": mp4,
    "m4a": m4a,
    "avi": avi,
    "matroska": matroska,
    "webm": webm,
}

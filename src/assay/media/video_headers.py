"""Check video headers: whether an MP4, an AVI or a Matroska file is complete. Frames are not inspected."""

import struct
from collections.abc import Callable

from .facts import Broken, Facts


def mp4(data: bytes) -> Facts:
    """Check that the boxes of an MP4 are complete and that one describes its content."""
    offset, names = 0, set()
    while offset + 8 <= len(data):
        size, name = struct.unpack_from(">I4s", data, offset)
        if size == 1 and offset + 16 <= len(data):
            (size,) = struct.unpack_from(">Q", data, offset + 8)
        elif size == 0:  # To the end of the file.
            size = len(data) - offset
        if size < 8 or offset + size > len(data):
            raise Broken(
                f"the MP4 is cut off: {len(data):,} bytes, and a part goes on to {offset + max(size, 8):,}"
            )
        names.add(name)
        offset += size
    if names.isdisjoint({b"moov", b"moof"}):
        raise Broken(
            "the MP4 is cut off: the part that describes its content is missing"
        )
    return Facts("mp4")


def avi(data: bytes) -> Facts:
    """Check that an AVI is as long as its header says. A writer that did not know the length left it at 0."""
    (size,) = struct.unpack_from("<I", data, 4)
    if size and size + 8 > len(data):
        raise Broken(f"the AVI is cut off: {len(data):,} of {size + 8:,} bytes")
    return Facts("avi")


def m4a(data: bytes) -> Facts:
    """Check audio in MP4 boxes."""
    mp4(data)
    return Facts("m4a")


def matroska(data: bytes) -> Facts:
    """Check that a Matroska file is as long as its segment says. A live recording has no length."""
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
    """Check a WebM file, which is a Matroska file."""
    matroska(data)
    return Facts("webm")


def _element(data: bytes, at: int) -> tuple[int, int]:
    """Return where the body of an element with a four-byte id begins and ends.

    A body of unknown length ends where it begins.
    """
    first = data[at + 4] if at + 4 < len(data) else 0
    width = (
        9 - first.bit_length()
    )  # The number of leading zero bits plus one is the width in bytes.
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

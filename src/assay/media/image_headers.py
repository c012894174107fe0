"""Headers and end markers of images: PNG, JPEG, GIF, WebP, BMP and TIFF, read without decoding a pixel.

A reader returns `Facts` or raises `Broken`. Each walks the whole file by its block lengths, so that a truncated
file is noticed: Pillow silently opens a PNG that lacks its last bytes.
"""

import re
import struct
from collections.abc import Callable

from .facts import Broken, Facts

_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_BARE = frozenset({0x01, *range(0xD0, 0xD8)})
_JPEG_END = b"\xff\xd9"
_GIF_EXTENSION = 0x21
_GIF_IMAGE = 0x2C
_GIF_TRAILER = 0x3B
_AFTER_SCAN = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")


def png(data: bytes) -> Facts:
    """Return width, height and frames. Raise `Broken` if the file does not end with IEND."""
    if data[12:16] != b"IHDR" or len(data) < 33:
        raise Broken("the PNG has no header chunk")
    width, height = struct.unpack_from(">II", data, 16)
    frames = 1
    offset = 8
    while offset + 12 <= len(data):
        length, name = struct.unpack_from(">I4s", data, offset)
        if name == b"acTL":
            (frames,) = struct.unpack_from(">I", data, offset + 8)
        offset += 12 + length
        if name == b"IEND" and offset <= len(data):
            return Facts("png", width, height, frames)
    raise Broken(f"the PNG is cut off: no end chunk in its {len(data)} bytes")


def jpeg(data: bytes) -> Facts:
    """Return width and height. Raise `Broken` unless the scans end with their own end-of-image marker."""
    size: tuple[int, int] | None = None
    offset = 2
    while offset + 4 <= len(data):
        if data[offset] != 0xFF or data[offset + 1] == 0xFF:
            # Skip stray bytes between segments, as decoders do.
            offset += 1
            continue
        marker = data[offset + 1]
        if marker in _JPEG_BARE:
            offset += 2
            continue
        if marker == 0xD9:
            break
        (length,) = struct.unpack_from(">H", data, offset + 2)
        if marker in _JPEG_FRAMES and offset + 9 <= len(data):
            height, width = struct.unpack_from(">HH", data, offset + 5)
            size = (width, height)
        offset += 2 + length
        if marker == 0xDA:
            # These two bytes cannot occur inside a scan, so this is its own end.
            if size is not None and data.endswith(_JPEG_END):
                return Facts("jpeg", *size, 1)
            following = _AFTER_SCAN.search(data, offset)
            if following is None:
                break
            offset = following.start()
    if size is None:
        raise Broken("the JPEG has no image in it")
    if not data.startswith(_JPEG_END, offset):
        raise Broken(f"the JPEG is cut off: no end marker in its {len(data)} bytes")
    return Facts("jpeg", *size, 1)


def gif(data: bytes) -> Facts:
    """Return width, height and the number of frames. Raise `Broken` if the trailer is missing."""
    if len(data) < 13:
        raise Broken("the GIF ends inside its header")
    width, height, flags = struct.unpack_from("<HHB", data, 6)
    offset = 13 + _color_table_size(flags)
    frames = 0
    while offset < len(data) and data[offset] != _GIF_TRAILER:
        block = data[offset]
        if block == _GIF_EXTENSION:
            offset += 2
        elif block == _GIF_IMAGE and offset + 10 <= len(data):
            flags = data[offset + 9]
            offset += 11 + _color_table_size(flags)
            frames += 1
        else:
            raise Broken(f"the GIF has no block at byte {offset}")
        # Pieces of data follow, each with its length before it; one of length 0 is the last.
        while offset < len(data) and data[offset]:
            offset += 1 + data[offset]
        offset += 1
    if offset >= len(data):
        raise Broken(f"the GIF is cut off: no trailer in its {len(data)} bytes")
    return Facts("gif", width, height, frames)


def _color_table_size(flags: int) -> int:
    """Return the bytes of a GIF's color table, three for each color; 0 if the flags name none."""
    if not flags & 0x80:
        return 0
    colors = 2 << (flags & 7)
    return 3 * colors


def webp(data: bytes) -> Facts:
    """Return width and height, and more than one frame for an animation. Raise `Broken` if the file is too short."""
    riff_size(data, "WebP")
    chunk = data[12:16]
    body = data[20:]
    if chunk == b"VP8X" and len(body) >= 10:
        width = 1 + int.from_bytes(body[4:7], "little")
        height = 1 + int.from_bytes(body[7:10], "little")
        is_animated = body[0] & 2
        frames = max(data.count(b"ANMF"), 2) if is_animated else 1
        return Facts("webp", width, height, frames)
    if chunk == b"VP8L" and len(body) >= 5:
        bits = int.from_bytes(body[1:5], "little")
        width = 1 + (bits & 0x3FFF)
        height = 1 + (bits >> 14 & 0x3FFF)
        return Facts("webp", width, height, 1)
    if chunk == b"VP8 " and len(body) >= 10:
        width, height = struct.unpack_from("<HH", body, 6)
        width &= 0x3FFF
        height &= 0x3FFF
        return Facts("webp", width, height, 1)
    raise Broken("the WebP has no image chunk")


def bmp(data: bytes) -> Facts:
    """Return width and height. Raise `Broken` if the file is shorter than its header says."""
    if len(data) < 26:
        raise Broken("the BMP ends inside its header")
    (declared,) = struct.unpack_from("<I", data, 2)
    (header_size,) = struct.unpack_from("<I", data, 14)
    if declared > len(data):
        raise Broken(f"the BMP is cut off: {len(data)} bytes of {declared}")
    if header_size == 12:
        width, height = struct.unpack_from("<HH", data, 18)
        return Facts("bmp", width, height, 1)
    # A negative height means that the rows are stored from top to bottom.
    width, height = struct.unpack_from("<ii", data, 18)
    return Facts("bmp", abs(width), abs(height), 1)


def tiff(data: bytes) -> Facts:
    """Return width and height of the first page. The decoder counts the pages."""
    order = "<" if data[:2] == b"II" else ">"
    sizes: dict[int, int] = {}
    try:
        (offset,) = struct.unpack_from(order + "I", data, 4)
        (count,) = struct.unpack_from(order + "H", data, offset)
        for index in range(count):
            entry = offset + 2 + 12 * index
            tag, kind = struct.unpack_from(order + "HH", data, entry)
            if tag in (256, 257):
                code = "H" if kind == 3 else "I"
                (sizes[tag],) = struct.unpack_from(order + code, data, entry + 8)
    except struct.error as error:
        raise Broken("the TIFF is cut off inside its directory") from error
    if len(sizes) < 2:
        raise Broken("the TIFF does not say how large it is")
    return Facts("tiff", sizes[256], sizes[257])


def riff_size(data: bytes, what: str) -> None:
    """Raise if a RIFF file is shorter than it says. A size of 0 or -1 means a stream of unknown length."""
    (declared,) = struct.unpack_from("<I", data, 4)
    if declared in (0, 0xFFFFFFFF):
        return
    size = declared + 8
    if size > len(data):
        raise Broken(f"the {what} is cut off: {len(data)} bytes of {size}")


READERS: dict[str, Callable[[bytes], Facts]] = {
    read.__name__: read for read in (png, jpeg, gif, webp, bmp, tiff)
}
"""Readers by format; each is named after its format."""

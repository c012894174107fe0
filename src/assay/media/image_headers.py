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
        length = struct.unpack(">H", data[offset + 2 : offset + 4])[0]
        if marker in _JPEG_FRAMES and offset + 9 <= len(data):
            height, width = struct.unpack(">HH", data[offset + 5 : offset + 9])
            size = (width, height)
        offset += 2 + length
        if marker == 0xDA:
            if size is not None and data.endswith(b"\xff\xd9"):
                return Facts(
                    "jpeg", *size, 1
                )  # These two bytes cannot occur inside a scan, so this is its own end.
            following = _AFTER_SCAN.search(data, offset)
            if following is None:
                break
            offset = following.start()
    if size is None:
        raise Broken("the JPEG has no image in it")
    if data[offset : offset + 2] != b"\xff\xd9":
        raise Broken(f"the JPEG is cut off: no end marker in its {len(data)} bytes")
    return Facts("jpeg", *size, 1)


def gif(data: bytes) -> Facts:
    """Return width, height and the number of frames. Raise `Broken` if the trailer is missing."""
    if len(data) < 13:
        raise Broken("the GIF ends inside its header")
    width, height, flags = struct.unpack("<HHB", data[6:11])
    offset = 13 + (3 << ((flags & 7) + 1) if flags & 0x80 else 0)
    frames = 0
    while offset < len(data) and data[offset] != 0x3B:
        if data[offset] == 0x21:
            offset += 2
        elif data[offset] == 0x2C and offset + 10 <= len(data):
            local = data[offset + 9]
            offset += 11 + (3 << ((local & 7) + 1) if local & 0x80 else 0)
            frames += 1
        else:
            raise Broken(f"the GIF has no block at byte {offset}")
        while offset < len(data) and data[offset]:
            offset += 1 + data[offset]
        offset += 1
    if offset >= len(data):
        raise Broken(f"the GIF is cut off: no trailer in its {len(data)} bytes")
    return Facts("gif", width, height, frames)


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
    declared, header = (
        struct.unpack("<I", data[2:6])[0],
        struct.unpack("<I", data[14:18])[0],
    )
    if declared > len(data):
        raise Broken(f"the BMP is cut off: {len(data)} bytes of {declared}")
    if header == 12:
        width, height = struct.unpack("<HH", data[18:22])
        return Facts("bmp", width, height, 1)
    width, height = struct.unpack("<ii", data[18:26])
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
    declared = struct.unpack("<I", data[4:8])[0]
    if declared not in (0, 0xFFFFFFFF) and declared + 8 > len(data):
        raise Broken(f"the {what} is cut off: {len(data)} bytes of {declared + 8}")


READERS: dict[str, Callable[[bytes], Facts]] = {
    read.__name__: read for read in (png, jpeg, gif, webp, bmp, tiff)
}
"""Readers by format; each is named after its format."""

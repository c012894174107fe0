"""Headers and end markers of images: PNG, JPEG, GIF, WebP, BMP and TIFF, read without decoding a pixel.

A reader returns `Facts` or raises `Broken`. Each walks the whole file by its block lengths, so that a file that was cut
anywhere is noticed: Pillow opens a PNG that lacks its last bytes without a word.
"""

import re
import struct
from collections.abc import Callable

from .facts import Broken, Facts

_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_BARE = frozenset({0x01, *range(0xD0, 0xD8)})
_AFTER_SCAN = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")


def png(data: bytes) -> Facts:
    """Width, height and frames; the file must end with IEND."""
    if data[12:16] != b"IHDR" or len(data) < 33:
        raise Broken("the PNG has no header chunk")
    width, height = struct.unpack(">II", data[16:24])
    frames, at = 1, 8
    while at + 12 <= len(data):
        length, name = struct.unpack(">I4s", data[at : at + 8])
        if name == b"acTL" and at + 12 <= len(data):
            frames = struct.unpack(">I", data[at + 8 : at + 12])[0]
        at += 12 + length
        if name == b"IEND" and at <= len(data):
            return Facts("png", width, height, frames)
    raise Broken(f"the PNG is cut off: no end chunk in its {len(data)} bytes")


def jpeg(data: bytes) -> Facts:
    """Width and height; the scans must end with an end-of-image marker of their own, not one in a thumbnail."""
    size: tuple[int, int] | None = None
    at = 2
    while at + 4 <= len(data):
        if data[at] != 0xFF or data[at + 1] == 0xFF:
            # Stray bytes between segments are skipped, as decoders do.
            at += 1
            continue
        marker = data[at + 1]
        if marker in _JPEG_BARE:
            at += 2
            continue
        if marker == 0xD9:
            break
        length = struct.unpack(">H", data[at + 2 : at + 4])[0]
        if marker in _JPEG_FRAMES and at + 9 <= len(data):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            size = (width, height)
        at += 2 + length
        if marker == 0xDA:
            if size is not None and data.endswith(b"\xff\xd9"):
                return Facts(
                    "jpeg", *size, 1
                )  # inside a scan these two bytes cannot occur: this is its own end
            following = _AFTER_SCAN.search(data, at)
            if following is None:
                break
            at = following.start()
    if size is None:
        raise Broken("the JPEG has no image in it")
    if data[at : at + 2] != b"\xff\xd9":
        raise Broken(f"the JPEG is cut off: no end marker in its {len(data)} bytes")
    return Facts("jpeg", *size, 1)


def gif(data: bytes) -> Facts:
    """Width, height and the number of frames; the file must end with its trailer."""
    if len(data) < 13:
        raise Broken("the GIF ends inside its header")
    width, height, flags = struct.unpack("<HHB", data[6:11])
    at = 13 + (3 << ((flags & 7) + 1) if flags & 0x80 else 0)
    frames = 0
    while at < len(data) and data[at] != 0x3B:
        if data[at] == 0x21:
            at += 2
        elif data[at] == 0x2C and at + 10 <= len(data):
            local = data[at + 9]
            at += 11 + (3 << ((local & 7) + 1) if local & 0x80 else 0)
            frames += 1
        else:
            raise Broken(f"the GIF has no block at byte {at}")
        while at < len(data) and data[at]:
            at += 1 + data[at]
        at += 1
    if at >= len(data):
        raise Broken(f"the GIF is cut off: no trailer in its {len(data)} bytes")
    return Facts("gif", width, height, frames)


def webp(data: bytes) -> Facts:
    """Width and height, more than one frame for an animation; the RIFF size must fit the file."""
    riff_size(data, "WebP")
    chunk, body = data[12:16], data[20:]
    if chunk == b"VP8X" and len(body) >= 10:
        width = 1 + int.from_bytes(body[4:7], "little")
        height = 1 + int.from_bytes(body[7:10], "little")
        return Facts(
            "webp", width, height, max(data.count(b"ANMF"), 2) if body[0] & 2 else 1
        )
    if chunk == b"VP8L" and len(body) >= 5:
        bits = int.from_bytes(body[1:5], "little")
        return Facts("webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1, 1)
    if chunk == b"VP8 " and len(body) >= 10:
        width, height = struct.unpack("<HH", body[6:10])
        return Facts("webp", width & 0x3FFF, height & 0x3FFF, 1)
    raise Broken("the WebP has no image chunk")


def bmp(data: bytes) -> Facts:
    """Width and height; the size in the header must fit the file."""
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
    """Width and height of the first page; how many pages there are is left to the decoder."""
    order = "<" if data[:2] == b"II" else ">"
    sizes: dict[int, int] = {}
    try:
        at = struct.unpack(order + "I", data[4:8])[0]
        for index in range(struct.unpack(order + "H", data[at : at + 2])[0]):
            entry = data[at + 2 + 12 * index : at + 14 + 12 * index]
            tag, kind = struct.unpack(order + "HH", entry[:4])
            if tag in (256, 257):
                sizes[tag] = struct.unpack(
                    order + ("H" if kind == 3 else "I"),
                    entry[8 : 10 if kind == 3 else 12],
                )[0]
    except struct.error as error:
        raise Broken("the TIFF is cut off inside its directory") from error
    if len(sizes) < 2:
        raise Broken("the TIFF does not say how large it is")
    return Facts("tiff", sizes[256], sizes[257])


def riff_size(data: bytes, what: str) -> None:
    """Raises where a RIFF file is shorter than it says; a size of 0 or -1 is a stream of unknown length."""
    declared = struct.unpack("<I", data[4:8])[0]
    if declared not in (0, 0xFFFFFFFF) and declared + 8 > len(data):
        raise Broken(f"the {what} is cut off: {len(data)} bytes of {declared + 8}")


READERS: dict[str, Callable[[bytes], Facts]] = {
    read.__name__: read for read in (png, jpeg, gif, webp, bmp, tiff)
}
"""By format, which each reader is named after."""

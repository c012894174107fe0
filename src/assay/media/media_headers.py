"""Headers and end markers of audio, image and video files, and the limits that they are checked against.

No pixel is decoded. A reader returns `Facts` or raises `Broken`. Each reader follows
the block lengths through the whole file, so that it notices a truncated file: Pillow
silently opens a PNG that lacks its last bytes.
"""

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

MEGAPIXEL = 1_000_000


@dataclass(frozen=True, slots=True)
class Facts:
    """Properties of a medium, read from the headers of its file. A value is None if the
    format does not contain it.
    """

    format: str
    width: int | None = None
    height: int | None = None
    frames: int | None = None
    """The number of images in an animation, or of samples per channel in an audio clip."""
    rate: int | None = None
    channels: int | None = None

    @property
    def seconds(self) -> float | None:
        """The duration of an audio clip in seconds; None if it is unknown."""
        if self.rate and self.frames is not None:
            return self.frames / self.rate
        return None


@dataclass(frozen=True, slots=True)
class Limits:
    """The maximum size of a medium. A few kilobytes can decompress to gigabytes."""

    pixels: int = 64 * MEGAPIXEL
    side: int = 20_000
    seconds: float = 4 * 3600.0
    samples: int = 4 * 3600 * 48_000
    """Maximum number of samples of all channels together: by default four hours of one channel at 48 kHz."""


DEFAULT_LIMITS = Limits()


class Broken(Exception):
    """Raised if the bytes do not match their format. The caller adds the location of the medium."""


_UNKNOWN_LENGTH = (0, 0xFFFFFFFF)
_ONE_FRAME_A_BLOCK = frozenset({1, 3, 6, 7, 0xFFFE})
"""Codes of WAV formats in which each block is one frame: PCM, floats, A-law, mu-law,
extensible.

In other formats, such as GSM, a block contains many frames.
"""


def wav(data: bytes) -> Facts:
    """Return rate, channels and frames. Raise `Broken` if the file has fewer samples
    than its header declares.

    Programs that write to a pipe leave the declared length at 0 or -1. For such files,
    count the samples.
    """
    layout = _WavFormat()
    offset = 12
    while offset + 8 <= len(data):
        name, length = struct.unpack_from("<4sI", data, offset)
        if name == b"fmt " and offset + 24 <= len(data):
            layout = _WavFormat(*struct.unpack_from("<HHIIH", data, offset + 8))
        if name == b"data":
            present = len(data) - offset - 8
            return _wav_facts(data, layout, length, present)
        padding = length & 1
        offset += 8 + length + padding
    raise Broken("the WAV has a header and no samples")


class _WavFormat(NamedTuple):
    """The format chunk of a WAV file."""

    code: int = 0
    channels: int = 0
    rate: int = 0
    bytes_a_second: int = 0
    block: int = 0
    """The size of a block in bytes. A block has one frame, or many frames in a compressed format."""


def _wav_facts(
    data: bytes,
    layout: _WavFormat,
    length: int,
    present: int,
) -> Facts:
    """Return the properties of a WAV file.

    Its header declares `length` bytes of samples, but the file contains `present` bytes
    of them.
    """
    block = layout.block
    if not block:
        raise Broken("the WAV has samples but no format before them")
    if not layout.channels:
        raise Broken("the WAV has a format of 0 channels")
    if not layout.rate:
        raise Broken("the WAV has a format of 0 Hz")

    if length in _UNKNOWN_LENGTH and present > 0 and _is_streamed(data):
        length = present
    if length > present:
        raise Broken(
            f"the WAV is cut off: {present // block} of {length // block} frames"
        )
    blocks = length // block
    # A block of a codec has many frames, and only the decoder knows how many.
    has_known_length = layout.code in _ONE_FRAME_A_BLOCK or blocks == 0
    return Facts(
        "wav",
        frames=blocks if has_known_length else None,
        rate=layout.rate,
        channels=layout.channels,
    )


def _is_streamed(data: bytes) -> bool:
    (size,) = struct.unpack_from("<I", data, 4)
    return size in _UNKNOWN_LENGTH


def flac(data: bytes) -> Facts:
    """Return rate, channels and frames from the first block of the stream."""
    if len(data) < 42:
        raise Broken("the FLAC ends inside its header")
    packed = int.from_bytes(data[18:26], "big")
    total = packed & 0xFFFFFFFFF
    return Facts(
        "flac",
        frames=total or None,
        rate=packed >> 44,
        channels=(packed >> 41 & 0x7) + 1,
    )


def ogg(data: bytes) -> Facts:
    """Return the format. Raise `Broken` if a page is incomplete.

    A file cut exactly between two pages is not noticed.
    """
    offset = 0
    while data[offset : offset + 4] == b"OggS":
        table = offset + 27
        if table <= len(data):
            segments = data[table - 1]
        else:
            segments = 0
        lengths = data[table : table + segments]
        end = table + segments + sum(lengths)
        if len(lengths) < segments or end > len(data):
            raise Broken(
                f"the Ogg is cut off: its last page needs {end - len(data)} bytes more"
            )
        offset = end
    return Facts("ogg")


def aiff(data: bytes) -> Facts:
    """Return the format. Raise `Broken` if the file is shorter than the length in its first chunk."""
    return _whole("aiff", data, _form_size(data))


def svx(data: bytes) -> Facts:
    """Return the format of an 8SVX file, Amiga's format with the chunks of AIFF. Raise `Broken` if it is cut off."""
    return _whole("svx", data, _form_size(data))


def caf(data: bytes) -> Facts:
    """Return the format of a CAF file, Apple's format.

    Its sample chunk may extend to the end of the file without a length.
    """
    offset = 8
    while offset + 12 <= len(data):
        name, size = struct.unpack_from(">4sq", data, offset)
        if name == b"data" and size < 0:
            break
        offset += 12 + max(size, 0)
        _whole("caf", data, offset)
    return Facts("caf")


def rf64(data: bytes) -> Facts:
    """Return the format of an RF64 file, a WAV beyond 4 GiB whose length is in a separate chunk."""
    if data[12:16] != b"ds64" or len(data) < 28:
        raise Broken("the RF64 does not say how long it is")
    (size,) = struct.unpack_from("<Q", data, 20)
    return _whole("rf64", data, size + 8)


def w64(data: bytes) -> Facts:
    """Return the format of a W64 file, Sony's WAV with 64-bit lengths."""
    if len(data) < 24:
        raise Broken("the W64 ends inside its header")
    (size,) = struct.unpack_from("<Q", data, 16)
    return _whole("w64", data, size)


def au(data: bytes) -> Facts:
    """Return the format of an AU file, Sun's format. A length of -1 means that it was unknown to the writer."""
    if len(data) < 24:
        raise Broken("the AU ends inside its header")
    if data[:4] == b".snd":
        order = ">"
    else:
        order = "<"
    start, size = struct.unpack_from(f"{order}II", data, 4)
    if size == 0xFFFFFFFF:
        return Facts("au")
    return _whole("au", data, start + size)


def sphere(data: bytes) -> Facts:
    """Return rate, channels and frames of a NIST SPHERE file, as in TIMIT and WSJ: a text header, then samples.

    Raise `Broken` for samples that are compressed with shorten.
    """
    stated_size = data[8:16].strip()
    if stated_size.isdigit():
        size = int(stated_size)
    else:
        size = 1024
    header = data[:size].decode("latin-1")
    fields: dict[str, str] = {}
    for line in header.splitlines():
        # "sample_rate -i 16000"
        parts = line.split(" ", 2)
        if len(parts) == 3:
            name, _, value = parts
            fields[name] = value
    coding = fields.get("sample_coding", "")
    if "," in coding:
        raise Broken(
            f"the SPHERE file is packed ({coding}): unpack it, with `w_decode` or `sph2pipe`"
        )
    try:
        frames = int(fields["sample_count"])
        rate = int(fields["sample_rate"])
        channels = int(fields.get("channel_count", 1))
        width = int(fields.get("sample_n_bytes", 2))
    except (KeyError, ValueError) as error:
        raise Broken("the SPHERE header does not say how long the audio is") from error
    _whole("sphere", data, len(header) + frames * channels * width)
    return Facts(
        "sphere",
        frames=frames,
        rate=rate,
        channels=channels,
    )


def _form_size(data: bytes) -> int:
    (size,) = struct.unpack_from(">I", data, 4)
    return int(size) + 8


def _whole(
    name: str,
    data: bytes,
    size: int,
) -> Facts:
    if size > len(data):
        raise Broken(f"the {name.upper()} is cut off: {len(data):,} of {size:,} bytes")
    return Facts(name)


AUDIO_READERS: dict[str, Callable[[bytes], Facts]] = {
    read.__name__: read
    for read in (wav, flac, ogg, aiff, svx, caf, rf64, w64, au, sphere)
}
"""The function that reads the headers of each audio format. A function has the name of its format."""


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
    """Return width and height. Raise `Broken` if no end-of-image marker follows the scans."""
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
    """Return the size of a GIF's color table, three bytes for each color; 0 if the flags declare no table."""
    if not flags & 0x80:
        return 0
    colors = 2 << (flags & 7)
    return 3 * colors


def webp(data: bytes) -> Facts:
    """Return width and height, and for an animation more than one frame. Raise `Broken` if the file is too short."""
    riff_size(data, "WebP")
    chunk = data[12:16]
    body = data[20:]
    if chunk == b"VP8X" and len(body) >= 10:
        width = 1 + int.from_bytes(body[4:7], "little")
        height = 1 + int.from_bytes(body[7:10], "little")
        is_animated = body[0] & 2
        if is_animated:
            frames = max(data.count(b"ANMF"), 2)
        else:
            frames = 1
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
    """Return width and height. Raise `Broken` if the file is shorter than the length in its header."""
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
    if data[:2] == b"II":
        order = "<"
    else:
        order = ">"
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
    """Raise `Broken` if a RIFF file is shorter than its header declares.

    A declared size of 0 or -1 marks a stream of unknown length, which is accepted.
    """
    (declared,) = struct.unpack_from("<I", data, 4)
    if declared in (0, 0xFFFFFFFF):
        return
    size = declared + 8
    if size > len(data):
        raise Broken(f"the {what} is cut off: {len(data)} bytes of {size}")


IMAGE_READERS: dict[str, Callable[[bytes], Facts]] = {
    read.__name__: read for read in (png, jpeg, gif, webp, bmp, tiff)
}
"""The function that reads the headers of each image format. A function has the name of its format."""


def mp4(data: bytes) -> Facts:
    """Check that the boxes of an MP4 are complete and that one describes its content."""
    offset = 0
    names = set()
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
    """Check that an AVI is as long as its header declares. A length of 0 means that it was unknown to the writer."""
    (size,) = struct.unpack_from("<I", data, 4)
    if size and size + 8 > len(data):
        raise Broken(f"the AVI is cut off: {len(data):,} of {size + 8:,} bytes")
    return Facts("avi")


def m4a(data: bytes) -> Facts:
    """Check the boxes of an M4A, which is an MP4 with audio only."""
    mp4(data)
    return Facts("m4a")


def matroska(data: bytes) -> Facts:
    """Check that a Matroska file is as long as its segment declares. A live recording has no length."""
    after_header = _element(data, 0)[1]
    if data.startswith(_SEGMENT, after_header):
        end = _element(data, after_header)[1]
    else:
        end = after_header
    if end > len(data):
        raise Broken(f"the Matroska is cut off: {len(data):,} of {end:,} bytes")
    return Facts("matroska")


def webm(data: bytes) -> Facts:
    """Check a WebM file, which is a Matroska file."""
    matroska(data)
    return Facts("webm")


def _element(data: bytes, at: int) -> tuple[int, int]:
    """Return the start and the end of the body of a Matroska element with a four-byte id.

    If the length of the body is unknown, the end equals the start.
    """
    if at + 4 < len(data):
        first = data[at + 4]
    else:
        first = 0
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
VIDEO_READERS: dict[str, Callable[[bytes], Facts]] = {
    "mp4": mp4,
    "m4a": m4a,
    "avi": avi,
    "matroska": matroska,
    "webm": webm,
}

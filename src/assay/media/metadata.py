"""Remove metadata from media for a judge: comments, EXIF, colour profiles, tags.

A judge must see the image or sound that a model produced, not text that the model wrote
into the file. Pixels and samples are unchanged: pieces of the file are left out, and
nothing is encoded again. Only a photo's rotation is kept, because it affects what is
seen.
"""

import re
import struct
from collections.abc import Callable, Iterator
from zlib import crc32

from ..core import Media, Part, Prompt
from .prompt_media import with_parts

Stripped = tuple[bytes, list[str]]
ORIENTATION = 0x0112
_PNG_HEAD = b"\x89PNG\r\n\x1a\n"
_PNG_KEPT = frozenset(
    {
        b"tRNS",
        b"gAMA",
        b"cHRM",
        b"sRGB",
        b"sBIT",
        b"bKGD",
        b"pHYs",
        b"acTL",
        b"fcTL",
        b"fdAT",
    }
)
_PNG_NAMES = {
    b"tEXt": "text",
    b"zTXt": "text",
    b"iTXt": "text",
    b"eXIf": "exif",
    b"iCCP": "colour profile",
}
_JPEG_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
"""Matches the next marker after compressed pixels. Escaped 0xFF bytes and restart markers do not count."""
_WAV_KEPT = frozenset({b"fmt ", b"fact", b"data"})
_WEBP_DROPPED = {b"EXIF": "exif", b"XMP ": "xmp", b"ICCP": "colour profile"}
_FLAC_KEPT = frozenset({0, 3})
"""Types of the FLAC blocks that a decoder needs: STREAMINFO and the seek table."""


def without_metadata(prompt: Prompt) -> tuple[Prompt, tuple[str, ...]]:
    """Return the prompt with metadata removed from its media, and notes on what was removed from each medium."""
    if not any(
        isinstance(part, Media)
        for message in prompt.messages
        for part in message.parts or ()
    ):
        return prompt, ()
    removed: list[str] = []
    changed = with_parts(prompt, lambda part: _part(part, removed))
    if removed:
        return (changed, tuple(removed))
    return (prompt, ())


def _part(
    part: Part,
    removed: list[str],
) -> Part:
    if not isinstance(part, Media):
        return part
    data, removed_names = strip_metadata(part)
    if removed_names is None:
        removed.append(
            f"{part.kind} {part.digest[:12]}: left as it is ({part.format or 'unknown format'})"
        )
        return part
    if not removed_names:
        return part
    removed.append(
        f"{part.kind} {part.digest[:12]}: {', '.join(sorted(set(removed_names)))}"
    )
    bare = type(part)(data, name=part.name)
    bare.place = part.place
    return bare


def strip_metadata(medium: Media) -> tuple[bytes, list[str] | None]:
    """Return the bytes without metadata, and the names of the removed parts.

    The second value is None for a format without a function here, or a file that does
    not follow its format.
    """
    data = medium.data()
    strip = _STRIPPERS.get(medium.format or "")
    if strip is None:
        return data, None
    try:
        return strip(data)
    except (struct.error, IndexError, ValueError):
        return data, None


def strip_png(data: bytes) -> Stripped:
    """Strip a PNG: chunks that the image does not need, and bytes after its end."""
    pieces = [_PNG_HEAD]
    dropped = []
    offset = len(_PNG_HEAD)
    while offset < len(data):
        size, name = struct.unpack_from(">I4s", data, offset)
        end = offset + 12 + size
        if end > len(data):
            raise ValueError("cut")
        if name[:1].isupper() or name in _PNG_KEPT:
            pieces.append(data[offset:end])
        elif name == b"eXIf" and (orientation := _rotation(data[offset + 8 : end - 4])):
            body = _exif(orientation)
            if body == data[offset + 8 : end - 4]:
                pieces.append(data[offset:end])
            else:
                pieces.append(
                    struct.pack(">I4s", len(body), b"eXIf")
                    + body
                    + struct.pack(">I", crc32(b"eXIf" + body))
                )
                dropped.append("exif")
        else:
            dropped.append(_PNG_NAMES.get(name, name.decode("latin-1")))
        offset = end
        if name == b"IEND":
            break
    if offset < len(data):
        dropped.append("bytes after the end")
    return b"".join(pieces), dropped


def strip_jpeg(data: bytes) -> Stripped:
    """Strip a JPEG: comments and application segments except JFIF and Adobe, which define the colour coding."""
    pieces = [data[:2]]
    dropped = []
    offset = 2
    while True:
        if data[offset] != 0xFF:
            raise ValueError("no marker")
        code = data[offset + 1]
        if code == 0xFF:
            offset += 1
            continue
        if code == 0xD9:
            pieces.append(data[offset : offset + 2])
            if offset + 2 < len(data):
                dropped.append("bytes after the end")
            return b"".join(pieces), dropped
        (size,) = struct.unpack_from(">H", data, offset + 2)
        segment = data[offset : offset + 2 + size]
        if code == 0xDA:  # A scan follows, up to the next marker.
            marker = _JPEG_MARKER.search(data, offset + 2 + size)
            if marker is None:
                raise ValueError("cut")
            pieces.append(data[offset : marker.start()])
            offset = marker.start()
            continue
        name = _jpeg_name(code, segment[4:])
        if name == "exif" and (orientation := _rotation(segment[10:])):
            body = b"Exif\0\0" + _exif(orientation)
            pieces.append(struct.pack(">BBH", 0xFF, 0xE1, len(body) + 2) + body)
            if pieces[-1] != segment:
                dropped.append(name)
        elif name:
            dropped.append(name)
        else:
            pieces.append(segment)
        offset += 2 + size


def _jpeg_name(code: int, body: bytes) -> str:
    """Return the name of a JPEG segment that must be removed; empty for a segment to keep."""
    if code == 0xFE:
        return "comment"
    if (
        not 0xE0 <= code <= 0xEF
        or code == 0xEE
        or (code == 0xE0 and body.startswith(b"JFIF\0"))
    ):
        return ""
    if code == 0xE1:
        return "exif" if body.startswith(b"Exif\0\0") else "xmp"
    if body.startswith(b"ICC_PROFILE\0"):
        return "colour profile"
    return f"app{code - 0xE0}"


def strip_webp(data: bytes) -> Stripped:
    """Strip a WebP: remove XMP, colour profile and EXIF except a rotation, and clear the flags that announce them."""
    pieces = []
    dropped = []
    flags = 0
    for name, body in _riff(data):
        if name == b"EXIF":
            orientation = _rotation(body.removeprefix(b"Exif\0\0"))
        else:
            orientation = 0
        if orientation:
            pieces.append((name, _exif(orientation)))
            flags |= 0x08
            if _exif(orientation) != body:
                dropped.append("exif")
        elif name in _WEBP_DROPPED:
            dropped.append(_WEBP_DROPPED[name])
        else:
            pieces.append((name, body))
    cleaned = [
        (name, bytes([(body[0] & ~0x2C) | flags]) + body[1:])
        if name == b"VP8X"
        else (name, body)
        for name, body in pieces
    ]
    if dropped:
        return (_as_riff(b"WEBP", cleaned), dropped)
    return (data, [])


def strip_wav(data: bytes) -> Stripped:
    """Strip a WAV: everything except the format and the samples."""
    chunks = list(_riff(data))
    dropped = [
        name.decode("latin-1").strip() for name, _ in chunks if name not in _WAV_KEPT
    ]
    pieces = [(name, body) for name, body in chunks if name in _WAV_KEPT]
    if dropped:
        return (_as_riff(b"WAVE", pieces), dropped)
    return (data, [])


def strip_flac(data: bytes) -> Stripped:
    """Strip a FLAC: remove comments, pictures and similar blocks, and set the last-
    block flag on the last one left.
    """
    names = {4: "comments", 6: "picture"}
    blocks = []
    dropped = []
    offset = 4
    is_last = False
    while not is_last:
        head = data[offset]
        is_last = bool(head & 0x80)
        kind = head & 0x7F
        size = int.from_bytes(data[offset + 1 : offset + 4], "big")
        start = offset + 4
        end = start + size
        if end > len(data):
            raise ValueError("cut")
        if kind in _FLAC_KEPT:
            blocks.append((kind, data[start:end]))
        elif kind != 1:
            dropped.append(names.get(kind, f"block {kind}"))
        offset = end
    if not dropped:
        return data, []
    pieces = [data[:4]]
    for number, (kind, body) in enumerate(blocks, 1):
        if number == len(blocks):
            last_flag = 0x80
        else:
            last_flag = 0
        pieces.append(bytes([kind | last_flag]))
        pieces.append(len(body).to_bytes(3, "big"))
        pieces.append(body)
    pieces.append(data[offset:])
    return b"".join(pieces), dropped


def strip_mp3(data: bytes) -> Stripped:
    """Strip an MP3: the ID3 tags before and after the audio."""
    start = 0
    end = len(data)
    dropped = []
    if data.startswith(b"ID3"):
        size = 0
        for seven_bits in data[6:10]:
            size = size << 7 | seven_bits & 0x7F
        start = 10 + size + (10 if data[5] & 0x10 else 0)
        dropped.append("id3")
    if data[-128:-125] == b"TAG":
        end -= 128
        dropped.append("id3")
    if start < end:
        return (data[start:end], dropped)
    return (data, [])


def _riff(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    offset = 12
    while offset + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, offset)
        start = offset + 8
        end = start + size
        if end > len(data):
            raise ValueError("cut")
        yield name, data[start:end]
        padding = size & 1
        offset = end + padding


def _as_riff(
    form: bytes,
    chunks: list[tuple[bytes, bytes]],
) -> bytes:
    body = b"".join(
        struct.pack("<4sI", name, len(part)) + part + b"\0" * (len(part) & 1)
        for name, part in chunks
    )
    return struct.pack("<4sI4s", b"RIFF", 4 + len(body), form) + body


def _rotation(exif: bytes) -> int:
    """Return the orientation in an EXIF block, 2 to 8; 0 if it has none."""
    order = {b"II": "<", b"MM": ">"}.get(exif[:2])
    if order is None or len(exif) < 8:
        return 0
    (first,) = struct.unpack_from(f"{order}I", exif, 4)
    (count,) = struct.unpack_from(f"{order}H", exif, first)
    for index in range(min(count, 200)):
        tag, _, _, value = struct.unpack_from(
            f"{order}HHIH",
            exif,
            first + 2 + 12 * index,
        )
        if tag == ORIENTATION:
            return value if 2 <= value <= 8 else 0
    return 0


def _exif(orientation: int) -> bytes:
    """Return an EXIF block that contains only the orientation."""
    return struct.pack(
        "<2sHIHHHIHHI",
        b"II",
        42,
        8,
        1,
        ORIENTATION,
        3,
        1,
        orientation,
        0,
        0,
    )


_STRIPPERS: dict[str, Callable[[bytes], Stripped]] = {
    "png": strip_png,
    "jpeg": strip_jpeg,
    "webp": strip_webp,
    "wav": strip_wav,
    "flac": strip_flac,
    "mp3": strip_mp3,
}

"""Videos that are only passed on: whole ones are, cut ones are said with their place."""

import struct

import pytest

from assay.core import DataError, Video
from assay.media import check_media


def box(name: bytes, body: bytes, *, large: bool = False) -> bytes:
    if large:
        return struct.pack(">I4sQ", 1, name, len(body) + 16) + body
    return struct.pack(">I4s", len(body) + 8, name) + body


HEAD = box(b"ftyp", b"isom\0\0\0\0isom")
WHOLE = HEAD + box(b"mdat", bytes(600)) + box(b"moov", bytes(40))
EBML = b"\x1aE\xdf\xa3\x84webm"
MATROSKA = EBML + b"\x18\x53\x80\x67\x40\xc8" + bytes(200)
LIVE = EBML + b"\x18\x53\x80\x67\x01" + b"\xff" * 7 + bytes(200)
AVI = b"RIFF" + struct.pack("<I", 104) + b"AVI " + bytes(100)


@pytest.mark.parametrize(
    "data",
    [
        WHOLE,
        HEAD + box(b"moov", bytes(40)) + box(b"mdat", bytes(600), large=True),
        HEAD + box(b"moov", bytes(40)) + struct.pack(">I4s", 0, b"mdat") + bytes(99),
        AVI,
        b"RIFF\0\0\0\0AVI " + bytes(100),
        MATROSKA,
        LIVE,
        LIVE[:100],
    ],
    ids=[
        "moov last",
        "large box",
        "box to the end",
        "avi",
        "avi of unknown length",
        "webm",
        "live webm",
        "cut live webm",
    ],
)
def test_a_whole_video_is_passed_on(data: bytes) -> None:
    assert check_media(Video(data)).format in ("mp4", "avi", "webm")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (WHOLE[:300], "the MP4 is cut off: 300 bytes, and a part goes on to 628"),
        (WHOLE[: len(HEAD) + 608], "the part that describes its content is missing"),
        (AVI[:50], "the AVI is cut off: 50 of 112 bytes"),
        (MATROSKA[:-1], "the Matroska is cut off: 214 of 215 bytes"),
        (MATROSKA[:14], "the Matroska is cut off: 14 of"),
        (EBML[:6], "the Matroska is cut off: 6 of 9 bytes"),
    ],
)
def test_a_truncated_video_is_reported(data: bytes, said: str) -> None:
    with pytest.raises(DataError, match=said):
        check_media(Video(data))

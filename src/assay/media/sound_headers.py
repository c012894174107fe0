"""Headers of sounds: WAV, FLAC and the pages of Ogg; how long an MP3 or an Ogg is, only a decoder can tell."""

import struct
from collections.abc import Callable

from .facts import Broken, Facts

_UNKNOWN_LENGTH = (0, 0xFFFFFFFF)


def wav(data: bytes) -> Facts:
    """Rate, channels and frames; the samples that the header promises must be there.

    A program that writes to a pipe leaves the lengths at 0 or -1; then what is there counts.
    """
    at, block, rate, channels = 12, 0, 0, 0
    while at + 8 <= len(data):
        name, length = struct.unpack("<4sI", data[at : at + 8])
        if name == b"fmt " and at + 24 <= len(data):
            channels, rate, _, block = struct.unpack("<HIIH", data[at + 10 : at + 22])
        if name == b"data":
            if not (block and rate and channels):
                zero = " of 0 Hz" if block and channels else " of 0 channels" if block else ""
                what = f"the WAV has a format{zero}" if zero else "the WAV has samples but no format before them"
                raise Broken(what)
            present = len(data) - at - 8
            streamed = length in _UNKNOWN_LENGTH and present > 0 and _is_streamed(data)
            if not streamed and length > present:
                raise Broken(f"the WAV is cut off: {present // block} of {length // block} frames")
            return Facts("wav", frames=(present if streamed else length) // block, rate=rate, channels=channels)
        at += 8 + length + (length & 1)
    raise Broken("the WAV has a header and no samples")


def _is_streamed(data: bytes) -> bool:
    return struct.unpack("<I", data[4:8])[0] in _UNKNOWN_LENGTH


def flac(data: bytes) -> Facts:
    """Rate, channels and frames of the stream's first block."""
    if len(data) < 42:
        raise Broken("the FLAC ends inside its header")
    packed = int.from_bytes(data[18:26], "big")
    total = packed & 0xFFFFFFFFF
    return Facts("flac", frames=total or None, rate=packed >> 44, channels=(packed >> 41 & 0x7) + 1)


def ogg(data: bytes) -> Facts:
    """The format alone; every page must be whole. A file cut exactly between two pages is not noticed."""
    at = 0
    while data[at : at + 4] == b"OggS":
        segments = data[at + 26] if at + 27 <= len(data) else 0
        lengths = data[at + 27 : at + 27 + segments]
        end = at + 27 + segments + sum(lengths)
        if len(lengths) < segments or end > len(data):
            raise Broken(f"the Ogg is cut off: its last page needs {end - len(data)} bytes more")
        at = end
    return Facts("ogg")


READERS: dict[str, Callable[[bytes], Facts]] = {"wav": wav, "flac": flac, "ogg": ogg}

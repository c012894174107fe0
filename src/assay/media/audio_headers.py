"""Headers of audio files: WAV and its variants, FLAC, Ogg pages. Only a decoder knows the length of an MP3 or Ogg."""

import struct
from collections.abc import Callable
from typing import NamedTuple

from .facts import Broken, Facts

_UNKNOWN_LENGTH = (0, 0xFFFFFFFF)
_ONE_FRAME_A_BLOCK = frozenset({1, 3, 6, 7, 0xFFFE})
"""Codes of WAVs whose blocks are frames: PCM, floats, A-law, mu-law and the extensible format. GSM packs hundreds."""


def wav(data: bytes) -> Facts:
    """Return rate, channels and frames. Raise `Broken` if samples that the header promises are missing.

    A program that writes to a pipe leaves the lengths at 0 or -1; then the samples in the file count.
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
    """The format chunk of a WAV."""

    code: int = 0
    channels: int = 0
    rate: int = 0
    bytes_a_second: int = 0
    block: int = 0
    """Bytes of one block: one frame, or many of a codec."""


def _wav_facts(data: bytes, layout: _WavFormat, length: int, present: int) -> Facts:
    """Return the facts of a WAV whose header promises `length` bytes of samples, of which `present` are there."""
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
    """Return rate, channels and frames from the stream's first block."""
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
    """Return the format. Raise `Broken` if a page is incomplete. A cut exactly between two pages is not noticed."""
    offset = 0
    while data[offset : offset + 4] == b"OggS":
        table = offset + 27
        segments = data[table - 1] if table <= len(data) else 0
        lengths = data[table : table + segments]
        end = table + segments + sum(lengths)
        if len(lengths) < segments or end > len(data):
            raise Broken(
                f"the Ogg is cut off: its last page needs {end - len(data)} bytes more"
            )
        offset = end
    return Facts("ogg")


def aiff(data: bytes) -> Facts:
    """Return the format. Raise `Broken` if the file is shorter than its first chunk says."""
    return _whole("aiff", data, _form_size(data))


def svx(data: bytes) -> Facts:
    """Read Amiga's format, which has the same chunks as AIFF."""
    return _whole("svx", data, _form_size(data))


def caf(data: bytes) -> Facts:
    """Read Apple's format. Its sample chunk may extend to the end of the file without a length."""
    offset = 8
    while offset + 12 <= len(data):
        name, size = struct.unpack_from(">4sq", data, offset)
        if name == b"data" and size < 0:
            break
        offset += 12 + max(size, 0)
        _whole("caf", data, offset)
    return Facts("caf")


def rf64(data: bytes) -> Facts:
    """Read a WAV beyond 4 GiB, whose length is in a separate chunk."""
    if data[12:16] != b"ds64" or len(data) < 28:
        raise Broken("the RF64 does not say how long it is")
    (size,) = struct.unpack_from("<Q", data, 20)
    return _whole("rf64", data, size + 8)


def w64(data: bytes) -> Facts:
    """Read Sony's WAV with 64-bit lengths."""
    if len(data) < 24:
        raise Broken("the W64 ends inside its header")
    (size,) = struct.unpack_from("<Q", data, 16)
    return _whole("w64", data, size)


def au(data: bytes) -> Facts:
    """Read Sun's format. A writer that did not know the length left it at -1."""
    if len(data) < 24:
        raise Broken("the AU ends inside its header")
    order = ">" if data[:4] == b".snd" else "<"
    start, size = struct.unpack_from(f"{order}II", data, 4)
    if size == 0xFFFFFFFF:
        return Facts("au")
    return _whole("au", data, start + size)


def sphere(data: bytes) -> Facts:
    """Read NIST SPHERE, as in TIMIT and WSJ: a text header, then samples. Compressed ones (shorten) are refused."""
    stated_size = data[8:16].strip()
    size = int(stated_size) if stated_size.isdigit() else 1024
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
    return Facts("sphere", frames=frames, rate=rate, channels=channels)


def _form_size(data: bytes) -> int:
    (size,) = struct.unpack_from(">I", data, 4)
    return int(size) + 8


def _whole(name: str, data: bytes, size: int) -> Facts:
    if size > len(data):
        raise Broken(f"the {name.upper()} is cut off: {len(data):,} of {size:,} bytes")
    return Facts(name)


READERS: dict[str, Callable[[bytes], Facts]] = {
    read.__name__: read
    for read in (wav, flac, ogg, aiff, svx, caf, rf64, w64, au, sphere)
}
"""Readers by format; each is named after its format."""

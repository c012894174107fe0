"""Headers of audio files: WAV and its variants, FLAC, Ogg pages. Only a decoder knows the length of an MP3 or Ogg."""

import struct
from collections.abc import Callable

from .facts import Broken, Facts

_UNKNOWN_LENGTH = (0, 0xFFFFFFFF)
_ONE_FRAME_A_BLOCK = frozenset({1, 3, 6, 7, 0xFFFE})
"""Codes of WAVs whose blocks are frames: PCM, floats, A-law, mu-law and the extensible format. GSM packs hundreds."""


def wav(data: bytes) -> Facts:
    """Return rate, channels and frames. Raise `Broken` if samples that the header promises are missing.

    A program that writes to a pipe leaves the lengths at 0 or -1; then the samples in the file count.
    """
    offset, block, rate, channels, code = 12, 0, 0, 0, 0
    while offset + 8 <= len(data):
        name, length = struct.unpack("<4sI", data[offset : offset + 8])
        if name == b"fmt " and offset + 24 <= len(data):
            code, channels, rate, _, block = struct.unpack(
                "<HHIIH", data[offset + 8 : offset + 22]
            )
        if name == b"data":
            if not (block and rate and channels):
                zero = (
                    " of 0 Hz"
                    if block and channels
                    else " of 0 channels"
                    if block
                    else ""
                )
                reason = (
                    f"the WAV has a format{zero}"
                    if zero
                    else "the WAV has samples but no format before them"
                )
                raise Broken(reason)
            present = len(data) - offset - 8
            is_stream = length in _UNKNOWN_LENGTH and present > 0 and _is_streamed(data)
            if not is_stream and length > present:
                raise Broken(
                    f"the WAV is cut off: {present // block} of {length // block} frames"
                )
            blocks = (present if is_stream else length) // block
            # A block of a codec has many frames, and only the decoder knows how many.
            frames = blocks if code in _ONE_FRAME_A_BLOCK or blocks == 0 else None
            return Facts("wav", frames=frames, rate=rate, channels=channels)
        offset += 8 + length + (length & 1)
    raise Broken("the WAV has a header and no samples")


def _is_streamed(data: bytes) -> bool:
    return struct.unpack("<I", data[4:8])[0] in _UNKNOWN_LENGTH


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
        segments = data[offset + 26] if offset + 27 <= len(data) else 0
        lengths = data[offset + 27 : offset + 27 + segments]
        end = offset + 27 + segments + sum(lengths)
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
    return Facts("au") if size == 0xFFFFFFFF else _whole("au", data, start + size)


def sphere(data: bytes) -> Facts:
    """Read NIST SPHERE, as in TIMIT and WSJ: a text header, then samples. Compressed ones (shorten) are refused."""
    size = data[8:16].strip()
    header = data[: int(size) if size.isdigit() else 1024].decode("latin-1")
    fields = {
        line.split(" ", 2)[0]: line.split(" ", 2)[2]
        for line in header.splitlines()
        if line.count(" ") >= 2
    }
    if "," in fields.get("sample_coding", ""):
        raise Broken(
            f"the SPHERE file is packed ({fields['sample_coding']}): unpack it, with `w_decode` or `sph2pipe`"
        )
    try:
        frames, rate = int(fields["sample_count"]), int(fields["sample_rate"])
        channels, width = (
            int(fields.get("channel_count", 1)),
            int(fields.get("sample_n_bytes", 2)),
        )
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

"""Packed private cases of LiveCodeBench: base64 of zlib of a pickled text of JSON, read without unpickling.

A pickle may name any function to be called, so none is loaded: its bytes are read here as the one thing they may be, a
single text. Anything else is refused, and so is what would unpack to more than a bound.
"""

import base64
import binascii
import zlib

LARGEST = 256 << 20
"""Bytes that the cases of one problem may unpack to."""
_PROTOCOL, _FRAME, _STOP = 0x80, 0x95, 0x2E
_TEXTS = {0x8C: 1, 0x58: 4, 0x8D: 8}
"""Operations that push a text, with the bytes of its length."""
_NOTES = {0x94: 0, 0x71: 1, 0x72: 4}
"""Operations that only remember what was pushed, with the bytes of their argument."""


def unpacked(cell: str) -> str:
    """The text of JSON in a packed cell; `ValueError` where it is anything else."""
    try:
        data = base64.b64decode("".join(cell.split()), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("they are neither JSON nor packed by base64") from None
    return pickled_text(_inflated(data))


def _inflated(data: bytes) -> bytes:
    stream = zlib.decompressobj()
    try:
        plain = stream.decompress(data, LARGEST)
    except zlib.error as error:
        raise ValueError(f"they are not packed by zlib ({error})") from None
    if not stream.eof:
        too_large = len(plain) >= LARGEST
        raise ValueError(
            f"they unpack to more than {LARGEST >> 20} MB"
            if too_large
            else "they are cut short"
        )
    return plain


def pickled_text(data: bytes) -> str:
    """The single text that a pickle holds."""
    place, text = 0, None
    try:
        while data[place] != _STOP:
            code = data[place]
            place += 1
            if code == _PROTOCOL:
                place += 1
            elif code == _FRAME:
                place += 8
            elif code in _NOTES:
                place += _NOTES[code]
            elif code in _TEXTS and text is None:
                size = int.from_bytes(data[place : place + _TEXTS[code]], "little")
                place += _TEXTS[code]
                text = data[place : place + size].decode("utf-8", "surrogatepass")
                place += size
            else:
                raise ValueError(
                    "they are a pickle of something else than one text, which is not loaded"
                )
    except (IndexError, UnicodeDecodeError):
        raise ValueError("they are a pickle that is cut short") from None
    if text is None or place != len(data) - 1:
        raise ValueError(
            "they are a pickle of something else than one text, which is not loaded"
        )
    return text

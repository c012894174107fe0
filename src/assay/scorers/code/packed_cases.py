"""Packed private cases of LiveCodeBench: base64 of zlib of a pickled JSON text, read without unpickling.

A pickle may call any function, so none is loaded. Its bytes are parsed here as a single text. Anything else is
refused, and so is data that would unpack to more than a limit.
"""

import base64
import binascii
import zlib

LARGEST = 256 << 20
"""Most bytes to which the cases of one problem may unpack."""
_PROTOCOL, _FRAME, _STOP = 0x80, 0x95, 0x2E
_TEXTS = {0x8C: 1, 0x58: 4, 0x8D: 8}
"""Opcodes that push a text, with the number of bytes of its length."""
_NOTES = {0x94: 0, 0x71: 1, 0x72: 4}
"""Opcodes that only memoize the pushed text, with the number of bytes of their argument."""


def unpacked(cell: str) -> str:
    """Return the JSON text in a packed cell. Raise `ValueError` if it is anything else."""
    try:
        data = base64.b64decode("".join(cell.split()), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("they are neither JSON nor packed by base64") from None
    return pickled_text(_inflated(data))


def _inflated(data: bytes) -> bytes:
    """Return the decompressed data. Raise `ValueError` if it is not zlib, cut short or too large."""
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
    """Return the single text in a pickle. Raise `ValueError` if it contains anything else."""
    offset, text = 0, None
    try:
        while data[offset] != _STOP:
            opcode = data[offset]
            offset += 1
            if opcode == _PROTOCOL:
                offset += 1
            elif opcode == _FRAME:
                offset += 8
            elif opcode in _NOTES:
                offset += _NOTES[opcode]
            elif opcode in _TEXTS and text is None:
                size = int.from_bytes(data[offset : offset + _TEXTS[opcode]], "little")
                offset += _TEXTS[opcode]
                text = data[offset : offset + size].decode("utf-8", "surrogatepass")
                offset += size
            else:
                raise ValueError(
                    "they are a pickle of something other than one text, which is not loaded"
                )
    except (IndexError, UnicodeDecodeError):
        raise ValueError("they are a pickle that is cut short") from None
    if text is None or offset != len(data) - 1:
        raise ValueError(
            "they are a pickle of something other than one text, which is not loaded"
        )
    return text

"""JSON that every browser can read: no NaN, no lone surrogates, no numbers that are too large."""

import math
from collections.abc import Mapping

import msgspec

LARGEST = 2**53
_encode = msgspec.json.Encoder(enc_hook=str).encode


def json_bytes(value: object) -> bytes:
    """Return a value as JSON. Unreadable text becomes the replacement character, unreadable numbers become null."""
    try:
        return _encode(value)
    except (UnicodeEncodeError, OverflowError, TypeError, ValueError):
        return _encode(_cleaned(value))


def _cleaned(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        return {_cleaned(str(name)): _cleaned(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_cleaned(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) <= LARGEST:
            return value
        return str(value)
    return value

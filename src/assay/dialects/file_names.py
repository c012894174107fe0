"""Convert the name of a dataset, model or task to a safe file name. Letters of every script are kept."""

import hashlib
import re
import unicodedata

BYTES = 100
"""Maximum length of one name in bytes. Two names and a suffix stay below the 255 bytes that file systems allow."""

_UNSAFE = re.compile(r"[^\w.-]+")


def file_name(name: str, limit: int = 80) -> str:
    """Return `name` with only letters, digits, `.`, `_` and `-`. If nothing is left, return `run-` and a hash."""
    composed = unicodedata.normalize("NFC", name)
    cut = (
        _UNSAFE.sub("-", composed)
        .strip("-.")[:limit]
        .encode("utf-8", "ignore")[:BYTES]
        .decode("utf-8", "ignore")
    )
    return (
        cut
        or f"run-{hashlib.sha256(name.encode('utf-8', 'backslashreplace')).hexdigest()[:8]}"
    )

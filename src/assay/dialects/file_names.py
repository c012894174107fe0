"""Turn a toolkit's name for a dataset, a model or a task, in any writing system, into a part of a file name."""

import hashlib
import re
import unicodedata

BYTES = 100
"""Maximum bytes of one name, so that two names and a suffix stay below the 255 bytes that file systems allow."""

_UNSAFE = re.compile(r"[^\w.-]+")


def file_name(name: str, limit: int = 80) -> str:
    """Return `name` reduced to letters, digits, `.`, `_` and `-`; `run-` with a hash of it if no character is left."""
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

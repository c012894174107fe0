"""File names: a guest's own name for a dataset, a model or a task as part of a file's, in whatever script it is."""

import hashlib
import re
import unicodedata

BYTES = 100
"""Of one name; two of them and a suffix stay below the 255 bytes a file system takes."""

_UNSAFE = re.compile(r"[^\w.-]+")


def file_name(name: str, limit: int = 80) -> str:
    """A name with only letters, digits, `.`, `_` and `-`; one of which nothing is left is known by its hash."""
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

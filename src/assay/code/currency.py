"""Detect scores that are outdated because their sample changed.

A scorer may read all of a sample. So a corrected answer, tag or reference column makes the old score outdated,
although the question, and hence the model's answer, stays the same. A score line has the scorer's digest followed
by the sample's.
"""

import os
from collections.abc import Sequence
from hashlib import blake2b, sha256
from typing import Any

import msgspec

from ..core import AssayError, Sample
from ..core.media import Media

DIGEST_BYTES = 6
LONGEST_NAME = 4096
"""Maximum length of a file name or URL.

A longer text is the medium itself, whose digest was computed for the request key.
"""


def _plain(value: Any) -> object:
    """Convert a value JSON does not know. Large values are replaced by their digest, to avoid a copy as text."""
    if isinstance(value, Media):
        source = value.source
        if isinstance(source, (str, os.PathLike)) and len(str(source)) < LONGEST_NAME:
            # By name, because the request key already covers the bytes that the model sees.
            return [
                value.kind,
                source if isinstance(source, str) else os.path.abspath(source),
            ]
        return [value.kind, value.digest]
    if hasattr(value, "tobytes"):
        facts = [
            str(getattr(value, name, "")) for name in ("dtype", "shape", "mode", "size")
        ]
        return [facts, blake2b(value.tobytes(), digest_size=DIGEST_BYTES).hexdigest()]
    if hasattr(type(value), "row_digest"):
        return value.row_digest  # For rows that are looked up cell by cell.
    if hasattr(value, "items"):
        return dict(value.items())
    if not {"__str__", "__repr__"} & {
        name for base in type(value).__mro__[:-1] for name in vars(base)
    }:
        return [type(value).__qualname__, getattr(value, "__dict__", None)]
    return str(value)


_encode = msgspec.json.Encoder(enc_hook=_plain, order="deterministic").encode


def _encoded(value: object) -> bytes:
    try:
        return _encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError, AssayError):
        return repr(
            value
        ).encode()  # Lone surrogates, huge integers and unreadable media.


def rows_digest(rows: Sequence[Any]) -> str:
    """Return the digest of rows that a user's function listed, because it may have read anything to build them."""
    digest = blake2b(digest_size=DIGEST_BYTES)
    for row in rows:
        digest.update(_encoded(row))
    return digest.hexdigest()


def judged_digest(sample: Sample) -> str:
    """Return the digest of everything a scorer may read of a sample, and of what its score line contains."""
    fields: Any = sample.fields
    if sample.media and isinstance(fields, dict):
        # An image in a cell is hashed once, as a medium.
        sources = {id(medium.source) for medium in sample.media}
        fields = {
            name: None if id(cell) in sources else cell for name, cell in fields.items()
        }
    read = (
        sample.input,
        sample.target,
        sample.choices,
        fields,
        sample.turns,
        sample.media,
    )
    # An empty mapping view would take the slow path of the encoder.
    parts: tuple[Any, ...] = (read, sample.tags or {}, sample.group, sample.cluster)
    if sample.weight is not None:
        parts = (*parts, sample.weight)
    return sha256(_encoded(parts)).hexdigest()[: 2 * DIGEST_BYTES]

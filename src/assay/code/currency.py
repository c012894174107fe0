"""Currency: whether a score still stands for the sample it was given to.

A scorer may read all of a sample, so a corrected answer, tag or reference column makes the old score stale, though the
question, and hence the model's answer, stays. The digest of a score line is the scorer's followed by the sample's.
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
"""Of a file or a URL; a longer text is the medium itself, whose digest the request's key has asked for already."""


def _plain(value: Any) -> Any:
    """What JSON does not know; large things by their digest, so that no copy of them is made as text."""
    if isinstance(value, Media):
        source = value.source
        if isinstance(source, (str, os.PathLike)) and len(str(source)) < LONGEST_NAME:
            # By name: the bytes of what is shown to the model are part of the request's key.
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
        return value.row_digest  # of rows that are looked up cell by cell
    if hasattr(value, "items"):
        return dict(value.items())
    if not {"__str__", "__repr__"} & {
        name for base in type(value).__mro__[:-1] for name in vars(base)
    }:
        return [type(value).__qualname__, getattr(value, "__dict__", None)]
    return str(value)


_encode = msgspec.json.Encoder(enc_hook=_plain, order="deterministic").encode


def _encoded(value: Any) -> bytes:
    try:
        return _encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError, AssayError):
        return repr(
            value
        ).encode()  # lone surrogates, huge integers and media that cannot be read


def rows_digest(rows: Sequence[Any]) -> str:
    """Digest of rows that a user's function listed: it may have read anything to make them."""
    digest = blake2b(digest_size=DIGEST_BYTES)
    for row in rows:
        digest.update(_encoded(row))
    return digest.hexdigest()


def judged_digest(sample: Sample) -> str:
    """Digest of what a scorer may read of a sample, and of what the line of its score says of it."""
    fields: Any = sample.fields
    if sample.media and isinstance(fields, dict):
        # An image that stands in a cell is looked at once, as a medium.
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
    parts = (
        read,
        sample.tags or {},
        sample.group,
        sample.cluster,
    )  # an empty view would take the slow way to text
    return sha256(_encoded(parts)).hexdigest()[: 2 * DIGEST_BYTES]

"""Integrity: check whether a run folder still has the content that its run wrote.

At its end a run records in `run.json` the digests of journal and summary, and whether it has media; media are named
by their digest. Runs of the first version recorded none of this: they are readable, and reported as unverified.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ..core import StoreError
from .blobs import Blobs
from .index import Index
from .layout import Layout

READERS = 4
"""Number of media read at once. Digests are computed without Python's global lock."""
NAMED = 3
"""Most samples that a line names."""


def file_digest(path: Path) -> str:
    """Return the sha256 of a file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise StoreError(f"cannot read: {error.strerror}", where=str(path)) from error


def journal_note(layout: Layout) -> dict[str, Any]:
    """Return what `run.json` records about a finished journal."""
    return {
        "bytes": layout.journal.stat().st_size,
        "sha256": file_digest(layout.journal),
    }


def is_vouched(manifest: Mapping[str, Any]) -> bool:
    """Return True if a run ended and recorded the digests of its files."""
    return isinstance(manifest.get("journal"), Mapping) and isinstance(
        manifest.get("summary"), Mapping
    )


def journal_damage(layout: Layout, manifest: Mapping[str, Any]) -> str:
    """Return in one line how the journal differs from its state at the end of the run; empty if it does not."""
    noted = manifest["journal"]
    if not layout.journal.exists():
        return "records.jsonl is missing"
    size = layout.journal.stat().st_size
    if size != noted.get("bytes"):
        return f"records.jsonl has {size} bytes, and {noted.get('bytes')} when the run ended"
    if file_digest(layout.journal) != noted.get("sha256"):
        return "records.jsonl has changed since the run ended"
    return ""


def summary_damage(layout: Layout, manifest: Mapping[str, Any]) -> str:
    """Return in one line how the summary differs from what the run wrote; empty if it does not."""
    if not layout.summary.exists():
        return "summary.json is missing"
    if file_digest(layout.summary) != manifest["summary"].get("sha256"):
        return (
            "summary.json has changed since the run wrote it: its numbers are not used"
        )
    return ""


def broken_media(index: Index, blobs: Blobs) -> dict[str, str]:
    """Return `missing` or `changed` by digest, for the media that answers name."""
    named = [digest for digest, places in index.media.items() if places]
    with ThreadPoolExecutor(READERS) as readers:
        states = list(readers.map(blobs.state, named))
    broken = {}
    for digest, state in zip(named, states, strict=True):
        if state != "whole":
            broken[digest] = state
    return broken


def media_damage(index: Index, broken: Mapping[str, str]) -> str:
    """Return in one line what is wrong with the media; empty if nothing is."""
    if not broken:
        return ""
    ids: dict[str, None] = {}
    for digest in broken:
        for _, id, _, _ in sorted(index.media[digest]):
            ids[id] = None

    counts = Counter(broken.values())
    words = []
    for state in ("missing", "changed"):
        if counts[state]:
            words.append(f"{counts[state]} {state}")
    return f"media: {' and '.join(words)}, of {_samples(ids)}"


def _samples(ids: Iterable[str]) -> str:
    listed = list(ids)
    named = ", ".join(repr(id) for id in listed[:NAMED])
    if len(listed) > NAMED:
        named += ", …"
    if len(listed) == 1:
        return f"sample {named}"
    return f"{len(listed)} samples: {named}"

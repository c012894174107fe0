"""Integrity: whether a run folder still holds what its run wrote.

At its end a run notes in `run.json` the digests of journal and summary, and how many media its answers name; media are
named by their digest. Runs of the first version noted none of it: they are read, and called unverified.
"""

import hashlib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ..core import StoreError
from .blobs import Blobs
from .index import Index
from .layout import Layout

READERS = 4
"""Media read at once: digests are computed outside of Python's lock."""
NAMED = 3
"""Samples that are named in a line."""


def file_digest(path: Path) -> str:
    """sha256 of a file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise StoreError(f"cannot read: {error.strerror}", where=str(path)) from error


def journal_note(layout: Layout) -> dict[str, Any]:
    """What `run.json` says of a journal that is finished."""
    return {
        "bytes": layout.journal.stat().st_size,
        "sha256": file_digest(layout.journal),
    }


def is_vouched(manifest: Mapping[str, Any]) -> bool:
    """Whether a run ended, and noted what it left."""
    return isinstance(manifest.get("journal"), Mapping) and isinstance(
        manifest.get("summary"), Mapping
    )


def journal_damage(layout: Layout, manifest: Mapping[str, Any]) -> str:
    """How the journal differs from what the run left, in one line; empty if it does not."""
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
    """How the summary differs from what the run wrote, in one line; empty if it does not."""
    if not layout.summary.exists():
        return "summary.json is missing"
    if file_digest(layout.summary) != manifest["summary"].get("sha256"):
        return (
            "summary.json has changed since the run wrote it: its numbers are not used"
        )
    return ""


def broken_media(index: Index, blobs: Blobs) -> dict[str, str]:
    """By digest: `missing` or `changed`, of the media that answers name."""
    named = [digest for digest, places in index.media.items() if places]
    with ThreadPoolExecutor(READERS) as readers:
        states = readers.map(blobs.state, named)
        return {
            digest: state
            for digest, state in zip(named, states, strict=True)
            if state != "whole"
        }


def media_damage(index: Index, broken: Mapping[str, str]) -> str:
    """What is wrong with the media, in one line; empty if nothing is."""
    if not broken:
        return ""
    ids = dict.fromkeys(
        id for digest in broken for _, id, _, _ in sorted(index.media[digest])
    )
    counts = {
        state: sum(found == state for found in broken.values())
        for state in ("missing", "changed")
    }
    words = " and ".join(f"{count} {state}" for state, count in counts.items() if count)
    return f"media: {words}, of {_samples(ids)}"


def _samples(ids: Iterable[str]) -> str:
    listed = list(ids)
    named = ", ".join(repr(id) for id in listed[:NAMED]) + (
        ", …" if len(listed) > NAMED else ""
    )
    return f"sample {named}" if len(listed) == 1 else f"{len(listed)} samples: {named}"

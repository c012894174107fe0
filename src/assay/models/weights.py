"""Weights on disk: their digest, remembered so that a file of many gigabytes is hashed once."""

import hashlib
import os
from pathlib import Path

from ..userfiles import file_digest


def weights_digest(path: Path) -> str:
    """sha256 of a file; kept in the user's cache under path, size and time of change."""
    file = path.resolve()
    stat = file.stat()
    name = hashlib.sha256(f"{file}\0{stat.st_size}\0{stat.st_mtime_ns}".encode()).hexdigest()
    note = cache_folder() / "digests" / name
    try:
        known = note.read_text("ascii").strip()
        if len(known) == 64:
            return known
    except (OSError, UnicodeDecodeError):
        pass
    digest = file_digest(file)
    _remember(note, digest)
    return digest


def cache_folder() -> Path:
    """Where assay keeps what can be made again."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "assay"


def _remember(note: Path, digest: str) -> None:
    """A cache that cannot be written costs time, not the run."""
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        draft = note.with_suffix(f".{os.getpid()}")
        draft.write_text(digest, "ascii")
        draft.replace(note)
    except OSError:
        return

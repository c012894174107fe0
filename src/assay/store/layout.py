"""The run folder: which file is where, and how derived files are written whole or not at all.

run.json        what was run: options, versions, digests
records.jsonl   the journal: what was answered and scored; the truth
summary.json    the numbers, derived from the journal
media/          images and audio by content hash
batches.jsonl   which batches were sent to a batch API; written before each step
labels.jsonl    what people said of answers, line by line; never overwritten
view.index      what pages need of a long journal, derived from it; may be removed
.lock           who writes here
"""

import errno
import os
import re
import secrets
from pathlib import Path

from ..core import DiskFull, StoreError, UnusablePath

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class Layout:
    """The paths of one run folder. The module docstring explains each file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = folder / "run.json"
        self.journal = folder / "records.jsonl"
        self.summary = folder / "summary.json"
        self.media = folder / "media"
        self.batches = folder / "batches.jsonl"
        self.labels = folder / "labels.jsonl"
        self.view_index = folder / "view.index"
        self.lock = folder / ".lock"


def safe_name(name: str, limit: int = 40) -> str:
    """Return a name that is safe as part of a file name: letters, digits, `.`, `_`, `-`."""
    return _UNSAFE.sub("-", name).strip("-.")[:limit] or "run"


def write_whole(path: Path, data: bytes) -> None:
    """Write a derived file so that a reader sees the old one or the new one, never half of it."""
    try:
        handle, temporary = new_draft(path)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
        sync_folder(path.parent)
    except OSError as error:
        raise disk_error(error, path) from error


def new_draft(path: Path) -> tuple[int, Path]:
    """Open an empty temporary file for a derived file. The umask sets its permissions, as for the journal.

    `tempfile` would create a file that only its owner may read.
    """
    draft = path.parent / f".{path.name}.{secrets.token_hex(8)}"
    return os.open(
        draft,
        os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0),
        0o666,
    ), draft


def sync_folder(folder: Path) -> None:
    """Make a rename in `folder` survive a power loss."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def disk_error(error: OSError, path: Path) -> StoreError:
    """Turn an `OSError` into an error a user can act on."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG):
        first = "check the disk" if error.errno == errno.EIO else "free some space"
        return DiskFull(
            f"cannot write: {error.strerror}",
            where=str(path),
            fix=f"{first} and rerun the command",
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return UnusablePath(
            f"cannot write: {error.strerror}",
            where=str(path),
            fix="choose another folder with -o",
        )
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        return UnusablePath(
            "a run needs a folder, and this is a file",
            where=str(path),
            fix="choose a folder with -o",
        )
    if error.errno in (errno.ENOENT, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL):
        return UnusablePath(
            f"cannot write: {error.strerror}",
            where=str(path),
            fix="choose another folder with -o",
        )
    return StoreError(f"cannot write: {error.strerror or error}", where=str(path))

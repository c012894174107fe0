"""One writer per run folder: an advisory lock that says who has it."""

import fcntl
import json
import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from ..core import FolderInUse
from .layout import disk_error, new_draft

NOTE_BYTES = 192


class FolderLock:
    """Held while a process writes to a run folder. The kernel releases it when the process dies."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None

    def __enter__(self) -> "FolderLock":
        try:
            if not self.path.exists():
                _make(self.path)
            handle = os.open(self.path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            raise disk_error(error, self.path) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = _owner(handle)
            os.close(handle)
            raise FolderInUse(
                f"another run writes here: {owner}",
                where=str(self.path.parent),
                fix="wait for it, or choose another folder with -o",
            ) from error
        self._handle = handle
        try:
            os.pwrite(handle, _note(), 0)
            os.ftruncate(handle, NOTE_BYTES)
        except OSError as error:
            self.__exit__(None, None, None)
            raise disk_error(error, self.path) from error
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def is_locked(path: Path) -> bool:
    """Return True if a process writes to the lock's folder now. A lock held on another machine may look free."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def _note() -> bytes:
    """Return a note about the writing process. It has a fixed length, so that one write replaces it completely."""
    note = {
        "pid": os.getpid(),
        "host": socket.gethostname()[:80],
        "started": time.strftime("%Y-%m-%dT%H:%M:%S"),
    }
    return json.dumps(note).encode().ljust(NOTE_BYTES - 1) + b"\n"


def _make(path: Path) -> None:
    """Create the lock file with its note, because an empty file has no owner. Keep the file of a faster process."""
    handle, draft = new_draft(path)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_note())
        try:
            os.link(draft, path)
        except FileExistsError:
            return
        except OSError:  # A file system without links.
            with suppress(FileExistsError), path.open("xb") as file:
                file.write(_note())
    finally:
        draft.unlink(missing_ok=True)


def _owner(handle: int) -> str:
    try:
        note = json.loads(os.pread(handle, 4096, 0))
        return f"process {note['pid']} on {note['host']} since {note['started']}"
    except (ValueError, KeyError, OSError):
        return "an unknown process"

"""One writer per run folder: an advisory lock that says who holds it."""

import fcntl
import json
import os
import socket
import time
from pathlib import Path
from types import TracebackType

from ..core import FolderInUse
from .layout import disk_error


class FolderLock:
    """Held while a process writes to a run folder; the kernel lets go of it when the process dies."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None

    def __enter__(self) -> "FolderLock":
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
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
        note = {"pid": os.getpid(), "host": socket.gethostname(), "started": time.strftime("%Y-%m-%dT%H:%M:%S")}
        try:
            os.ftruncate(handle, 0)
            os.pwrite(handle, json.dumps(note).encode(), 0)
        except OSError as error:
            self.__exit__(None, None, None)
            raise disk_error(error, self.path) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _owner(handle: int) -> str:
    try:
        note = json.loads(os.pread(handle, 4096, 0))
        return f"process {note['pid']} on {note['host']} since {note['started']}"
    except (ValueError, KeyError, OSError):
        return "an unknown process"

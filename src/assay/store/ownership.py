"""Ownership: where a run may be written, which files in a folder are assay's, and the
lock that allows only one writer.

A run is written to a folder that is new, empty, or already a run; any other is refused
before work begins. Whether a file is assay's is decided by its content, never by its
name alone: the format number in `run.json`, the checksums of journal lines, the mention
of a medium in the journal. Other files are never opened for writing or removed.
"""

import fcntl
import json
import os
import re
import socket
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from ..core import FolderInUse, UsageError
from .journal import is_whole
from .layout import Layout, disk_error, new_draft

FORMAT = 2
"""The format number in `run.json`. Format 1, that of the first version, has no digests."""
NEW_RUN: Mapping[str, Any] = {"format": FORMAT, "status": "new"}
"""The first `run.json` of a run. It is written before anything else, so that the folder
of a killed run is recognised.
"""
FINISHED = ("complete", "partial", "failed", "interrupted")
STATUSES = (*FINISHED, "running")
VIEW_INDEX = b"assay view index "
"""The first bytes of the viewer's index, before the version."""
_DRAFT = re.compile(r"\.(run\.json|summary\.json|\.lock|view\.index)\.[0-9a-f]{16}")
_DRAFT_BEGINS = {
    "run.json": b'{\n  "format":',
    "summary.json": b'{\n  "status":',
    ".lock": b'{"pid":',
}
_DRAFT_BEGINS["view.index"] = VIEW_INDEX
_LINE_BEGINS = (b'{"kind":"output","task":', b'{"kind":"score","task":')
_SEARCHED_BYTES = 1 << 20


def refuse_foreign(folder: Path) -> None:
    """Raise if a run may not be written to a folder, because it has files that assay did not write."""
    try:
        if not folder.exists() or not folder.is_dir():
            return  # The caller that creates the folder refuses a file.
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise disk_error(error, folder) from error
    if not names:
        return
    layout = Layout(folder)
    for path in (
        layout.manifest,
        layout.journal,
        layout.summary,
        layout.lock,
        layout.media,
    ):
        _refuse_special(path, is_folder=path == layout.media)
    if not _holds_run(layout, names):
        first_names = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        raise UsageError(
            f"the folder holds files that are not an assay run: {first_names}",
            where=str(folder),
            fix="choose a new or empty folder with -o",
        )
    if layout.journal.exists() and not is_journal(layout.journal):
        raise _foreign(layout.journal)
    if layout.summary.exists() and not _is_summary(layout):
        raise _foreign(layout.summary)
    if layout.lock.exists() and not is_lock(
        layout.lock, may_be_empty=layout.manifest.exists()
    ):
        raise _foreign(layout.lock)


def _refuse_special(path: Path, *, is_folder: bool) -> None:
    """Raise for a link, which may point to other people's files, and for other special
    files that a run never writes.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if is_folder:
        is_of_kind = stat.S_ISDIR
    else:
        is_of_kind = stat.S_ISREG
    if not is_of_kind(mode):
        if stat.S_ISLNK(mode):
            description = "a link"
        elif is_folder:
            description = "not a folder"
        else:
            description = "not a file"
        raise UsageError(
            f"{path.name} is {description}, and a run would be written through it",
            where=str(path.parent),
            fix="move it away, or choose another folder with -o",
        )


def _foreign(path: Path) -> UsageError:
    return UsageError(
        f"{path.name} here was not written by assay, and a run would replace it",
        where=str(path.parent),
        fix="move it away, or choose another folder with -o",
    )


def _holds_run(
    layout: Layout,
    names: list[str],
) -> bool:
    """Return True if a folder contains a run, or only files that a run writes before its first `run.json`."""
    if layout.manifest.exists():
        problem = manifest_problem(layout.manifest)
        if problem:
            raise UsageError(
                f"run.json {problem}",
                where=str(layout.folder),
                fix="choose another folder with -o; or, if this is a run, move run.json away: its journal is enough",
            )
        return True
    if layout.journal.exists() and layout.journal.stat().st_size:
        return is_journal(layout.journal)
    checks = {
        layout.lock.name: is_lock,
        layout.journal.name: lambda path: layout.lock.name in names,
    }
    return all(checks.get(name, is_draft)(layout.folder / name) for name in names)


def manifest_problem(path: Path) -> str:
    """Return the reason why a file is not a `run.json` of assay; empty if it is one."""
    try:
        plain = json.loads(path.read_bytes())
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    except (ValueError, RecursionError):
        return "is empty" if not path.stat().st_size else "is not valid JSON"
    if not is_manifest_of_ours(plain):
        return "was not written by assay"
    return ""


def is_manifest_of_ours(plain: object) -> bool:
    """Return True if the content of a `run.json` was written by assay."""
    if not isinstance(plain, Mapping) or plain.get("format") not in (1, FORMAT):
        return False
    return plain == NEW_RUN or (
        plain.get("status") in STATUSES
        and {"config", "cells", "started"} <= plain.keys()
    )


def is_journal(path: Path) -> bool:
    """Return True if a file is empty or has a journal line, complete or incomplete."""
    with path.open("rb") as file:
        block = file.read(_SEARCHED_BYTES)
        if not block or any(is_whole(line) for line in block.split(b"\n")):
            return True
        if b"\n" not in block.rstrip(b"\n"):
            return block.startswith(_LINE_BEGINS) or any(
                begin.startswith(block) for begin in _LINE_BEGINS
            )
        return any(is_whole(line.rstrip(b"\n")) for line in file)


def _is_summary(layout: Layout) -> bool:
    """Return True if a run wrote `summary.json`, even if the file was changed later."""
    if layout.manifest.exists():
        manifest = json.loads(layout.manifest.read_bytes())
        if "summary" in manifest or manifest["status"] in FINISHED:
            return True
    try:
        plain = json.loads(layout.summary.read_bytes())
    except (ValueError, RecursionError):
        return False
    return (
        isinstance(plain, dict)
        and {"status", "run", "results", "usage"} <= plain.keys()
    )


def is_lock(path: Path, *, may_be_empty: bool = False) -> bool:
    """Return True if a file is the lock file of a run folder."""
    with path.open("rb") as file:
        text = file.read(4096)
    if not text:
        return may_be_empty
    try:
        note = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return _is_note(note)


def is_draft(path: Path) -> bool:
    """Return True if a file is a draft of a derived file or of `.lock`, or if it was removed meanwhile."""
    named = _DRAFT.fullmatch(path.name)
    if named is None or path.is_symlink():
        return False
    begins = _DRAFT_BEGINS[named[1]]
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    if not begins.startswith(text[: len(begins)]):
        return False
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return True  # Torn while it was written.
    # If it is complete, all of it must be from assay: other files may have the same name and beginning.
    checks = {
        "run.json": is_manifest_of_ours,
        "summary.json": _has_results,
        ".lock": _is_note,
    }
    return checks[named[1]](whole)


def _has_results(plain: object) -> bool:
    return isinstance(plain, Mapping) and {"status", "results"} <= plain.keys()


def _is_note(plain: object) -> bool:
    return isinstance(plain, Mapping) and plain.keys() == {"pid", "host", "started"}


NOTE_BYTES = 192


class FolderLock:
    """A lock that a process has while it writes to a run folder. The kernel releases it when the process ends."""

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
    """Return True if a process is writing to the folder.

    The lock of a process on another machine may not be visible here.
    """
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
    """Return the content of the lock file, which names the writing process.

    It has a fixed length, so that one write replaces it.
    """
    note = {
        "pid": os.getpid(),
        "host": socket.gethostname()[:80],
        "started": time.strftime("%Y-%m-%dT%H:%M:%S"),
    }
    return json.dumps(note).encode().ljust(NOTE_BYTES - 1) + b"\n"


def _make(path: Path) -> None:
    """Create the lock file with its content in one step. If another process was faster, keep its file."""
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

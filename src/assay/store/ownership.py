"""Ownership: which folders a run may be written to, and which files in them are assay's own.

A run is written to a folder that is new, empty, or a run already; anything else is refused before work begins. A file
counts as assay's by what it holds, never by its name alone: `run.json` by its format mark, a journal by the checksums
of its lines, a medium by the journal that names it. What does not count is neither opened for writing nor removed.
"""

import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..core import UsageError
from .journal import is_whole
from .layout import Layout, disk_error

FORMAT = 2
"""The mark of a `run.json` of assay's; that of the first version, 1, has no digests."""
NEW_RUN: Mapping[str, Any] = {"format": FORMAT, "status": "new"}
"""The first `run.json` of a run, written before anything else, so that the folder is known by it after a kill."""
FINISHED = ("complete", "partial", "failed", "interrupted")
STATUSES = (*FINISHED, "running")
VIEW_INDEX = b"assay view index "
"""How the index that pages use begins; its version follows."""
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
    """Raises unless a run may be written to a folder."""
    try:
        if not folder.exists() or not folder.is_dir():
            return  # a file is refused by whoever makes the folder
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
            f"the folder holds files that are not a run of assay's: {first_names}",
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
    """Links lead to files of others; what is neither a file nor a folder is nothing a run writes."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not (stat.S_ISDIR(mode) if is_folder else stat.S_ISREG(mode)):
        what = (
            "a link"
            if stat.S_ISLNK(mode)
            else "not a folder"
            if is_folder
            else "not a file"
        )
        raise UsageError(
            f"{path.name} is {what}, and a run would be written through it",
            where=str(path.parent),
            fix="move it away, or choose another folder with -o",
        )


def _foreign(path: Path) -> UsageError:
    return UsageError(
        f"{path.name} here was not written by assay, and a run would replace it",
        where=str(path.parent),
        fix="move it away, or choose another folder with -o",
    )


def _holds_run(layout: Layout, names: list[str]) -> bool:
    """Whether a folder is a run, or what a run leaves that was killed before its `run.json` was there."""
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
    """Why a file is no `run.json` of assay's; empty if it is one."""
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    except ValueError:
        return "is empty" if not path.stat().st_size else "is not valid JSON"
    if not is_manifest_of_ours(found):
        return "was not written by assay"
    return ""


def is_manifest_of_ours(plain: Any) -> bool:
    """Whether what a `run.json` holds has assay's mark."""
    if not isinstance(plain, Mapping) or plain.get("format") not in (1, FORMAT):
        return False
    return plain == NEW_RUN or (
        plain.get("status") in STATUSES
        and {"config", "cells", "started"} <= plain.keys()
    )


def is_journal(path: Path) -> bool:
    """Whether a file is empty, or has a whole line of a journal; one that was torn while it was written counts too."""
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
    """Whether `summary.json` is what a run wrote: as it is, or as something has left it since."""
    if layout.manifest.exists():
        manifest = json.loads(layout.manifest.read_bytes())
        if "summary" in manifest or manifest["status"] in FINISHED:
            return True
    try:
        found = json.loads(layout.summary.read_bytes())
    except ValueError:
        return False
    return (
        isinstance(found, dict)
        and {"status", "run", "results", "usage"} <= found.keys()
    )


def is_lock(path: Path, *, may_be_empty: bool = False) -> bool:
    """Whether a file is the note of a writer."""
    with path.open("rb") as file:
        text = file.read(4096)
    if not text:
        return may_be_empty
    try:
        note = json.loads(text)
    except ValueError:
        return False
    return _is_note(note)


def is_draft(path: Path) -> bool:
    """Whether a file is an unfinished copy of a derived file or of `.lock`; one that is gone by now was."""
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
    except ValueError:
        return True  # torn while it was written
    # A whole one has to be ours in all it holds: a name and a beginning alone may be anybody's.
    checks = {
        "run.json": is_manifest_of_ours,
        "summary.json": _has_results,
        ".lock": _is_note,
    }
    return checks[named[1]](whole)


def _has_results(plain: Any) -> bool:
    return isinstance(plain, Mapping) and {"status", "results"} <= plain.keys()


def _is_note(plain: Any) -> bool:
    return isinstance(plain, Mapping) and plain.keys() == {"pid", "host", "started"}

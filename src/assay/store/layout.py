"""The run folder: which file is where, and how its JSON files are read and written.

run.json        what was run: options, versions, digests
records.jsonl   the journal: what was answered and scored; the source of all results
summary.json    the metrics, derived from the journal
media/          images and audio by content hash
batches.jsonl   which batches were sent to a batch API; written before each step
labels.jsonl    people's judgements of answers, line by line; never overwritten
view.index      an index of a long journal for `assay view`, derived from it; may be removed
.lock           which process writes here
"""

import errno
import json
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..core import DiskFull, StoreError, UnusablePath, nearest

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class Layout:
    """The paths of one run folder. The docstring of the module describes each file."""

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
    """Return a name with only letters, digits, `.`, `_` and `-`, as part of a file name."""
    return _UNSAFE.sub("-", name).strip("-.")[:limit] or "run"


def write_whole(path: Path, data: bytes) -> None:
    """Write a derived file in such a way that readers see either the old or the new content, never a part of it."""
    try:
        handle, temporary = new_draft(path)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            # An interrupt may arrive after the rename, when the draft is gone.
            temporary.unlink(missing_ok=True)
            raise
        sync_to_disk(path.parent)
    except OSError as error:
        raise disk_error(error, path) from error


def new_draft(path: Path) -> tuple[int, Path]:
    """Open an empty temporary file for a derived file, with permissions from the umask as for the journal.

    A file from `tempfile` could be read only by its owner.
    """
    draft = path.parent / f".{path.name}.{secrets.token_hex(8)}"
    return os.open(
        draft,
        os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0),
        0o666,
    ), draft


def sync_to_disk(path: Path) -> None:
    """Sync a file or a folder to disk, so that it survives a power loss. For a folder,
    the names of its files are synced.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def disk_error(error: OSError, path: Path) -> StoreError:
    """Convert an `OSError` to an error with a fix for the user."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG):
        if error.errno == errno.EIO:
            first = "check the disk"
        else:
            first = "free some space"
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


_MAPPINGS = ("config", "versions")
_TEXTS_OF_CELL = ("task", "model")
_MAPPINGS_OF_CELL = (
    "scorers",
    "digests",
    "options",
    "identity",
    "abilities",
)
_COUNTS_OF_CELL = ("epochs", "n_expected", "num_fewshot")
_LISTS_OF_ABILITIES = ("accepts", "produces")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object from a file."""
    again = "move it away, then `assay run` the same command again: the journal is enough to write it again"
    try:
        value = json.loads(path.read_bytes())
    except OSError as error:
        raise UnusablePath(f"cannot read: {error.strerror}", where=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise UnusablePath(
            f"not valid JSON: {error}",
            where=str(path),
            fix=again,
        ) from error
    if not isinstance(value, dict):
        raise UnusablePath(
            "expected a JSON object",
            where=str(path),
            fix=again,
        )
    return value


def read_run_json(path: Path) -> dict[str, Any]:
    """Read `run.json`. Raise `UnusablePath` if it is not in the form that a run writes."""
    manifest = read_json(path)
    fault = fault_of_manifest(manifest)
    if fault:
        raise UnusablePath(
            f"run.json does not have the form of a run: {fault}",
            where=str(path.parent),
            fix="restore the file, or run the same command again",
        )
    return manifest


def write_json(
    path: Path,
    value: Mapping[str, Any],
) -> None:
    """Write a JSON object to a file so that readers see either the old or the new content."""
    text = json.dumps(
        value,
        indent=2,
        ensure_ascii=False,
        default=str,
    )
    document = f"{text}\n".encode("utf-8", "replace")
    write_whole(path, document)


def fault_of_manifest(manifest: Mapping[str, Any]) -> str:
    """Return a description of what is wrong with a `run.json`; empty if nothing is."""
    for name in _MAPPINGS:
        entry = manifest.get(name, {})
        if not isinstance(entry, Mapping):
            return f"`{name}` is not a mapping"
    cells = manifest.get("cells", [])
    if not isinstance(cells, list):
        return "`cells` is not a list"
    for cell in cells:
        fault = _fault_of_cell(cell)
        if fault:
            return fault
    return ""


def _fault_of_cell(cell: object) -> str:
    """Return a description of what is wrong with an entry of `cells`; empty if nothing is."""
    if not isinstance(cell, Mapping):
        return "an entry of `cells` is not a mapping"
    for name in _TEXTS_OF_CELL:
        if not isinstance(cell.get(name), str):
            return f"an entry of `cells` has no {name}"
    for name in _MAPPINGS_OF_CELL:
        if not isinstance(cell.get(name, {}), Mapping):
            return f"`{name}` of task {cell['task']!r} is not a mapping"
    for name in _COUNTS_OF_CELL:
        if not isinstance(cell.get(name), int | None):
            return f"`{name}` of task {cell['task']!r} is not a number"
    abilities = cell.get("abilities", {})
    for name in _LISTS_OF_ABILITIES:
        kinds = abilities.get(name, [])
        is_list = isinstance(kinds, list)
        if not is_list or not all(isinstance(kind, str) for kind in kinds):
            return f"`abilities` of task {cell['task']!r} have no list {name!r}"
    return ""


MOST_RUNS_NAMED = 5


def list_runs(folder: Path) -> list[str]:
    """Return the names of the run folders directly in a folder."""
    return sorted(path.parent.name for path in folder.glob("*/run.json"))


def why_no_run(folder: Path) -> tuple[str, str]:
    """Return why a path is not a run folder, and the fix."""
    if not folder.exists():
        problem = "not a run folder: it does not exist"
        for parent in (folder.parent, folder.parent / "runs"):
            close = nearest(folder.name, list_runs(parent))
            if close:
                fix = f"did you mean {parent / close}?"
                return problem, fix
        return problem, "check the path; `assay run` makes run folders"
    runs = list_runs(folder)
    if runs:
        names = ", ".join(str(folder / name) for name in runs[:MOST_RUNS_NAMED])
        return "not a run folder, but a folder of runs", f"name one of them: {names}"
    return "not a run folder: no run.json", "`assay run` makes one"

"""Results of other tools as run folders, so that every command can read them.

A converted folder is stored in the user's data folder, because people may have added
labels to it. It is written again when one of its source files changes; its labels are
kept. Nothing is written next to the original files.
"""

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..core import UnusablePath
from .layout import Layout, disk_error, safe_name
from .ownership import is_locked
from .runs import RunReader

CONVERSION = 2
"""The version of the conversion. Folders converted by another version are outdated."""
IMPORTED = "imported"
"""The key in `run.json` of a converted folder that names the tool that wrote the results."""


def open_run(path: str | Path) -> RunReader:
    """Return the reader of a run folder, or of the results of another tool."""
    named = Path(path).expanduser()
    if is_run_folder(named) or not named.exists():
        return RunReader(named)
    return RunReader(imported_folder(named))


def holds_results(path: Path) -> bool:
    """Return True if a path has results of another tool."""
    from ..imports import is_format

    return is_format(path)


def is_run_folder(path: Path) -> bool:
    """Return True if a folder has a run of assay."""
    layout = Layout(path)
    return layout.manifest.is_file() or layout.journal.is_file()


def imported_folder(path: Path) -> Path:
    """Return the run folder for the results at a path. Convert the results if they are new or have changed."""
    from ..imports import format_of
    from ..imports.documents import unusual_values
    from .converting import write_run

    kind = format_of(path)
    stamp = _stamp(kind.files(path))
    folder = _data_folder() / _folder_name(path)
    if folder.is_dir() and _stamp_of(folder) == stamp:
        return folder
    with unusual_values(path):
        run = kind.read(path)
    _remove_drafts(folder)
    draft = folder.with_name(f".{folder.name}.{secrets.token_hex(8)}")
    try:
        with unusual_values(path):
            write_run(run, draft, path, stamp)
        _put_in_place(draft, folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return folder


def _data_folder() -> Path:
    """Return the folder that contains all converted results. Create it if necessary."""
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    folder = Path(base).expanduser() / "assay" / "results"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise disk_error(error, folder) from error
    return folder


def _folder_name(path: Path) -> str:
    digest = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()
    return f"{safe_name(path.name)}-{digest[:12]}"


def _stamp(files: Iterable[Path]) -> str:
    """Return a digest of the names, sizes and times of files. It changes if one of the files changes."""
    digest = hashlib.sha256(str(CONVERSION).encode())
    for file in files:
        stat = file.stat()
        digest.update(f"{file.resolve()}\0{stat.st_size}\0{stat.st_mtime_ns}".encode())
    return digest.hexdigest()


def _stamp_of(folder: Path) -> str:
    """Return the stamp of a converted folder; empty if it cannot be read."""
    try:
        manifest = RunReader(folder).manifest
    except UnusablePath:
        return ""
    imported = manifest.get(IMPORTED)
    if isinstance(imported, Mapping):
        return str(imported.get("stamp"))
    return ""


def _remove_drafts(folder: Path) -> None:
    """Remove the unfinished folders of killed conversions of the same results."""
    for draft in folder.parent.glob(f".{folder.name}.*"):
        if not is_locked(Layout(draft).lock):
            shutil.rmtree(draft, ignore_errors=True)


def _put_in_place(draft: Path, folder: Path) -> None:
    """Replace an earlier conversion by the new one, but keep its labels."""
    if not folder.exists():
        draft.rename(folder)
        return
    labels = Layout(folder).labels
    if labels.is_file():
        shutil.copyfile(labels, Layout(draft).labels)
    outdated = folder.with_name(f".{folder.name}.{secrets.token_hex(8)}")
    folder.rename(outdated)
    draft.rename(folder)
    shutil.rmtree(outdated, ignore_errors=True)

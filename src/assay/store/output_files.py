"""Output files: the files that a user names with `-o`, `--export` or `--charts`.

An existing file is replaced only if assay wrote it: `.assay-files.jsonl` in its folder has the digest of the
content that assay wrote. A file that its user has changed since then belongs to the user. Links are never followed.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from ..code.userfiles import file_digest
from ..core import UsageError
from .file_ledger import FileLedger
from .layout import disk_error, new_draft, sync_folder

T = TypeVar("T")


def check_outputs(paths: Iterable[str | Path]) -> None:
    """Raise for the first file that assay may not write, before any work is done for it."""
    for path in paths:
        check_output(path)


def check_output(path: str | Path) -> Path:
    """Return the absolute path of an output file; raise if assay may not write it."""
    path = Path(path).expanduser().absolute()
    if _is_stream(path):
        return path
    try:
        _check_folder(path.parent)
        _check_file(path)
    except OSError as error:
        raise disk_error(error, path) from error
    return path


def write_output(
    path: str | Path,
    write: Callable[[Path], T],
) -> T:
    """Write an output file completely or not at all. Raise if assay may not write it.

    `write` fills a draft, whose path it receives.
    """
    path = check_output(path)
    try:
        if _is_stream(path):
            return _write_stream(path, write)
        return _write_file(path, write)
    except OSError as error:
        raise disk_error(error, path) from error


def write_output_text(
    path: str | Path,
    text: str,
) -> None:
    """Write an output file of text as UTF-8. Line breaks stay unchanged."""

    def write(draft: Path) -> None:
        draft.write_bytes(text.encode("utf-8", "backslashreplace"))

    write_output(path, write)


def _check_folder(folder: Path) -> None:
    """Raise unless the folder of an output file exists."""
    if not os.path.lexists(folder):
        raise UsageError(
            "there is no such folder",
            where=str(folder),
            fix="make it first",
        )
    if not folder.is_dir():
        raise UsageError(
            "this is not a folder",
            where=str(folder),
            fix="name another file",
        )


def _check_file(path: Path) -> None:
    """Raise if the path exists and assay did not write it."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise UsageError(
            "this is a folder",
            where=str(path),
            fix="name a file",
        )
    if stat.S_ISLNK(mode):
        raise _refused(path, "is a link, and assay writes through none")
    digests = FileLedger(path.parent).digests(path)
    if not digests:
        raise _refused(path, "was not written by assay, and would be replaced")
    if file_digest(path) not in digests:
        raise _refused(path, "has changed since assay wrote it, and would be replaced")


def _refused(path: Path, why: str) -> UsageError:
    return UsageError(
        f"{path.name} {why}",
        where=str(path.parent),
        fix="move it away, or name another file",
    )


def _is_stream(path: Path) -> bool:
    """Return True for a device or a pipe, such as `/dev/stdout` or `/dev/null`."""
    if path.is_relative_to("/dev") or path.is_relative_to("/proc"):
        return path.exists() and not path.is_dir()
    return path.is_fifo()


def _write_stream(
    path: Path,
    write: Callable[[Path], T],
) -> T:
    """Write a draft to a temporary file, and copy it to a device or a pipe."""
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / path.name
        result = write(draft)
        with draft.open("rb") as source, path.open("ab") as target:
            shutil.copyfileobj(source, target)
    return result


def _write_file(
    path: Path,
    write: Callable[[Path], T],
) -> T:
    """Write a draft next to the file, record its digest, then rename the draft."""
    handle, draft = new_draft(path)
    os.close(handle)
    try:
        result = write(draft)
        # Noted first: a kill before the rename leaves a file whose digest was noted earlier, or none.
        FileLedger(path.parent).note(path, digest=file_digest(draft))
        _check_file(path)
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
    return result

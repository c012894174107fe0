"""Files that assay writes into folders of the user, and the ledger that lists them.

Commands of other toolkits, exports, and the options `-o`, `--export` and `--charts`
write next to files of the user. They may add files. They replace an existing file only
if the folder's ledger lists it as written by assay. The ledger has one line with a
checksum for each file, added before the file is written. If the ledger also has the
digest of the content, a file that has changed since then belongs to the user. Links are
never followed.
"""

import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Set
from pathlib import Path
from typing import TypeVar

from ..code.userfiles import file_digest
from ..core import UnusablePath, UsageError
from .journal import is_whole, seal
from .layout import disk_error, new_draft, sync_to_disk

LEDGER = ".assay-files.jsonl"
T = TypeVar("T")


class FileLedger:
    """The ledger of the files that assay wrote in one folder, and of files elsewhere that the same command wrote."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).expanduser().absolute()
        self._path = self.root / LEDGER
        self._noted: dict[str, str] = {}
        """Digest of the content that was written last, by file name; empty if the digest was not recorded."""
        self._digests: dict[str, set[str]] = {}
        """Digests of all contents that were written, by file name."""
        self._read_bytes = 0

    def claim(self, path: str | Path) -> Path:
        """Add a file or link to the ledger before it is written, and create its folder.

        Raise `StoreError` if the file exists and assay did not write it.
        """
        path = Path(path).expanduser().absolute()
        name = self._name(path)
        try:
            if not self._knows(name):
                if os.path.lexists(path):
                    raise _taken(
                        path,
                        "exists, was not written by assay, and would be replaced",
                    )
                self.note(path)
            elif path.is_symlink():
                path.unlink()  # Writing must not follow a link to another file.
            elif digest := self._noted[name]:
                if path.is_file() and file_digest(path) != digest:
                    raise _taken(
                        path, "has changed since assay wrote it, and would be replaced"
                    )
                self.note(
                    path
                )  # Drop the digest first: a kill during the write leaves neither the old nor the new content.
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise disk_error(error, path) from error
        return path

    def note_new(self, there: Set[Path]) -> None:
        """Add files to the ledger that a toolkit's code has created in the folder.

        `there` are the files that already existed before the code ran.
        """
        for path in sorted(set(self.root.iterdir()) - there):
            if path != self._path:
                self.note(path)

    def holds(self, path: str | Path) -> bool:
        """Return True if assay wrote the file."""
        return self._knows(self._name(Path(path).expanduser().absolute()))

    def digests(self, path: str | Path) -> Set[str]:
        """Return the digests of everything that assay wrote to a file; an empty set for a file of the user."""
        name = self._name(Path(path).expanduser().absolute())
        if not self._knows(name):
            return frozenset()
        return self._digests[name]

    def _name(self, path: Path) -> str:
        if path.is_relative_to(self.root):
            return path.relative_to(self.root).as_posix()
        return str(path)

    def _knows(self, name: str) -> bool:
        if (
            name not in self._noted
            and self._path.is_file()
            and self._path.stat().st_size != self._read_bytes
        ):
            text = self._path.read_bytes()
            self._read_bytes = len(text)
            lines = [json.loads(line) for line in text.split(b"\n") if is_whole(line)]
            self._noted = {}
            self._digests = {}
            for line in lines:
                self._remember(line["path"], line.get("sha256", ""))
        return name in self._noted

    def _remember(self, name: str, digest: str) -> None:
        """Add a line of the ledger file, with a path and a digest, to the ledger in memory."""
        self._noted[name] = digest
        digests = self._digests.setdefault(name, set())
        if digest:
            digests.add(digest)

    def note(
        self,
        path: Path,
        *,
        digest: str = "",
    ) -> None:
        """Append a line for a file that assay or a toolkit's code wrote, with its digest if that is known."""
        name = self._name(path.expanduser().absolute())
        content = {"sha256": digest} if digest else {}
        self.root.mkdir(parents=True, exist_ok=True)
        line = seal({"kind": "file", "path": name, **content})
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        handle = os.open(self._path, flags, 0o644)
        try:
            # Write a line break first, because a kill may have left an incomplete line.
            os.write(handle, b"\n" + line)
        finally:
            os.close(handle)
        self._remember(name, digest)


def _taken(path: Path, why: str) -> UnusablePath:
    fix = "move it away, or have the files written to another folder"
    return UnusablePath(
        f"{path.name} {why}",
        where=str(path.parent),
        fix=fix,
    )


def own_file(path: str | Path) -> Path:
    """Return the path if assay may write it, because it is new or the ledger of its folder lists it.

    Otherwise raise.
    """
    return FileLedger(Path(path).expanduser().absolute().parent).claim(path)


def check_outputs(paths: Iterable[str | Path]) -> None:
    """Raise for the first output file that assay may not write, before any results are computed."""
    for path in paths:
        check_output(path)


def check_output(path: str | Path) -> Path:
    """Return the absolute path of an output file. Raise if assay may not write it."""
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

    `write` is a function that gets the path of a draft and writes to it.
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
    """Write an output file of text as UTF-8. Line breaks are not converted."""

    def write(draft: Path) -> None:
        draft.write_bytes(text.encode("utf-8", "backslashreplace"))

    write_output(path, write)


def _check_folder(folder: Path) -> None:
    """Raise if the folder of an output file does not exist."""
    if not os.path.lexists(folder):
        raise UsageError(
            "there is no such folder",
            where=str(folder),
            fix="create it first",
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
        raise _refused(path, "is a link, and assay does not write through links")
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
    """Write the output to a temporary file, and copy that to a device or a pipe."""
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
    """Write the output to a draft next to the file, record its digest, and then rename the draft."""
    handle, draft = new_draft(path)
    os.close(handle)
    try:
        result = write(draft)
        # Record it first: after a kill before the rename, the file has an earlier recorded digest, or does not exist.
        FileLedger(path.parent).note(path, digest=file_digest(draft))
        _check_file(path)
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_to_disk(path.parent)
    return result

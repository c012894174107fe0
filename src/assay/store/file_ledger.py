"""File ledgers: which files assay wrote into folders that are not its own.

Guests' commands and exports write beside files of the user. They may add files; one that is there already is replaced
only where the ledger of the folder says that assay wrote it. The ledger is a journal of its own: a line for each file,
with a checksum, noted before the file is written. Where what was written is noted too, a file that its user has changed
since is the user's.
"""

import json
import os
from collections.abc import Set
from pathlib import Path

from ..code.userfiles import file_digest
from ..core import StoreError
from .journal import is_whole, seal
from .layout import disk_error

LEDGER = ".assay-files.jsonl"


class FileLedger:
    """What assay wrote under one folder, and to where else from there."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).expanduser().absolute()
        self._path = self.root / LEDGER
        self._noted: dict[str, str] = {}
        """By name: the digest of what was written, as far as it was noted."""
        self._read_bytes = 0

    def claim(self, path: str | Path) -> Path:
        """Notes that a file, or a link, is about to be written, and makes its folder.

        Raises where there is one that assay did not write.
        """
        path = Path(path).expanduser().absolute()
        name = self._name(path)
        try:
            if not self._knows(name):
                if os.path.lexists(path):
                    raise _taken(
                        path,
                        "is there, was not written by assay, and would be replaced",
                    )
                self.note(path)
            elif path.is_symlink():
                path.unlink()  # what is written must not go to where a link leads by now
            elif digest := self._noted[name]:
                if path.is_file() and file_digest(path) != digest:
                    raise _taken(
                        path, "has changed since assay wrote it, and would be replaced"
                    )
                self.note(
                    path
                )  # a kill while it is written again leaves what is neither
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise disk_error(error, path) from error
        return path

    def note_new(self, there: Set[Path]) -> None:
        """Notes the files that a guest's code wrote into the folder itself: all but those that were there."""
        for path in sorted(set(self.root.iterdir()) - there):
            if path != self._path:
                self.note(path)

    def holds(self, path: str | Path) -> bool:
        """Whether assay wrote a file."""
        return self._knows(self._name(Path(path).expanduser().absolute()))

    def _name(self, path: Path) -> str:
        return (
            path.relative_to(self.root).as_posix()
            if path.is_relative_to(self.root)
            else str(path)
        )

    def _knows(self, name: str) -> bool:
        if (
            name not in self._noted
            and self._path.is_file()
            and self._path.stat().st_size != self._read_bytes
        ):
            text = self._path.read_bytes()
            self._read_bytes = len(text)
            lines = [json.loads(line) for line in text.split(b"\n") if is_whole(line)]
            self._noted = {line["path"]: line.get("sha256", "") for line in lines}
        return name in self._noted

    def note(self, path: Path, *, with_content: bool = False) -> None:
        """Notes that assay wrote a file, or a guest in its place; and, if asked to, what stands in it now."""
        name = self._name(path.expanduser().absolute())
        digest = {"sha256": file_digest(path.expanduser())} if with_content else {}
        self.root.mkdir(parents=True, exist_ok=True)
        line = seal({"kind": "file", "path": name, **digest})
        handle = os.open(
            self._path,
            os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW,
            0o644,
        )
        try:
            os.write(
                handle, b"\n" + line
            )  # what a kill has left of an earlier line ends here
        finally:
            os.close(handle)
        self._noted[name] = digest.get("sha256", "")


def _taken(path: Path, why: str) -> StoreError:
    fix = "move it away, or have the files written to another folder"
    return StoreError(f"{path.name} {why}", where=str(path.parent), fix=fix)


def own_file(path: str | Path) -> Path:
    """A file that may be written by its full name: it is new, or the ledger of its folder says that assay wrote it."""
    return FileLedger(Path(path).expanduser().absolute().parent).claim(path)

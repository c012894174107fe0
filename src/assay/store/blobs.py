"""The media of a run, such as images and audio clips, as ordinary files named by the hash of their content."""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ..core import Audio, Image, Media, StoreError, Video
from ..core.media import FORMATS
from .layout import disk_error, write_whole

_SUFFIX_KIND = {
    "png": Image, "jpeg": Image, "gif": Image, "bmp": Image, "tiff": Image, "webp": Image,
    "wav": Audio, "flac": Audio, "ogg": Audio, "mp3": Audio,
    "mp4": Video, "webm": Video, "avi": Video,
}  # fmt: skip
_SUFFIXES = FORMATS | {"bin"}
_NAME = re.compile("[0-9a-f]{64}")
_DRAFT = re.compile(r"\.([0-9a-f]{64})\.\w+\.[0-9a-f]{16}")
"""The name of an unfinished file from `new_draft`: `.SHA256.png.0123456789abcdef`."""


class Blobs(Mapping[str, Media]):
    """The media of a run by digest. The same bytes are stored once."""

    def __init__(
        self,
        folder: Path,
        may_replace: Callable[[str], bool] = lambda digest: True,
    ) -> None:
        self.folder = folder
        self._may_replace = may_replace
        """Function that returns True if assay wrote this file, although its bytes do not match its name."""

    def put(self, medium: Media) -> Path:
        """Store a medium and return its file."""
        digest = medium.digest
        path = self.folder / digest[:2] / f"{digest}.{medium.format or 'bin'}"
        if path.is_file() and _digest(path) == digest:
            return path
        if path.exists() and not self._may_replace(digest):
            raise StoreError(
                f"a file that assay did not write has the name of a medium: {path.name}",
                where=str(path.parent),
                fix="move it away and rerun the command",
            )
        if path.parent.is_symlink():
            raise StoreError(
                f"media/{path.parent.name} is a link, and a run does not write through links",
                where=str(self.folder),
                fix="move it away and rerun the command",
            )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise disk_error(error, path) from error
        write_whole(path, medium.data())
        return path

    def __getitem__(self, digest: str) -> Media:
        files = self._files(digest)
        if not files:
            raise StoreError(
                f"the run has no medium {digest[:12]}…", where=str(self.folder)
            )
        return _SUFFIX_KIND.get(files[0].suffix[1:], Image)(files[0])

    def path(self, digest: str) -> Path | None:
        """Return the file of a medium by its digest; None if the run does not have it."""
        files = self._files(digest)
        return files[0] if files else None

    def state(self, digest: str) -> str:
        """Return `missing`, `changed` (the file's content does not have this digest) or `whole`."""
        files = self._files(digest)
        if not files:
            return "missing"
        if _digest(files[0]) == digest:
            return "whole"
        return "changed"

    def remove(self, digest: str) -> None:
        """Delete the medium with this digest, and its folder if that is then empty."""
        for path in self._files(digest):
            path.unlink(missing_ok=True)
        for folder in (self.folder / digest[:2], self.folder):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()

    def remove_drafts(self) -> None:
        """Delete the unfinished files of a writer that was killed.

        Only the process that holds the folder's lock may call this.
        """
        if self.folder.is_symlink() or not self.folder.is_dir():
            return
        for folder in self.folder.iterdir():
            if folder.is_symlink() or not folder.is_dir():
                continue
            for path in folder.iterdir():
                if _is_draft(path) and path.is_file() and not path.is_symlink():
                    path.unlink(missing_ok=True)

    def __iter__(self) -> Iterator[str]:
        return (
            path.stem
            for path in sorted(self.folder.glob("*/*"))
            if not path.name.startswith(".")
        )

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _files(self, digest: str) -> list[Path]:
        if not _NAME.fullmatch(digest):
            return []  # A journal from elsewhere may contain any text here.
        folder = self.folder / digest[:2]
        if folder.is_symlink():
            return []
        files = []
        for path in sorted(folder.glob(f"{digest}.*")):
            suffix = path.suffix.removeprefix(".")
            if path.stem != digest or suffix not in _SUFFIXES:
                continue
            if path.is_file() and not path.is_symlink():
                files.append(path)
        return files


def _is_draft(path: Path) -> bool:
    """Return True if a path is that of an unfinished file, in the folder for its digest."""
    match = _DRAFT.fullmatch(path.name)
    if match is None:
        return False
    digest = match[1]
    return digest.startswith(path.parent.name)


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""

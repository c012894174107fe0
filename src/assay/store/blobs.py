"""Blobs: the images and audio clips of a run, as ordinary files named by the hash of their content."""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ..core import Audio, Image, Media, StoreError, Video
from ..core.media import FORMATS
from .layout import disk_error, write_whole

_SUFFIX_KIND = {
    "png": Image,
    "jpeg": Image,
    "gif": Image,
    "bmp": Image,
    "tiff": Image,
    "webp": Image,
    "wav": Audio,
    "flac": Audio,
    "ogg": Audio,
    "mp3": Audio,
    "mp4": Video,
    "webm": Video,
    "avi": Video,
}
_SUFFIXES = FORMATS | {"bin"}
_NAME = re.compile("[0-9a-f]{64}")


class Blobs(Mapping[str, Media]):
    """Media by digest; putting the same bytes twice stores them once."""

    def __init__(
        self, folder: Path, may_replace: Callable[[str], bool] = lambda digest: True
    ) -> None:
        self.folder = folder
        self._may_replace = may_replace
        """Whether a file that has the name of a medium and not its bytes is one of ours that was damaged."""

    def put(self, medium: Media) -> Path:
        """Stores a medium and returns its file."""
        digest = medium.digest
        path = self.folder / digest[:2] / f"{digest}.{medium.format or 'bin'}"
        if path.is_file() and _digest(path) == digest:
            return path
        if path.exists() and not self._may_replace(digest):
            raise StoreError(
                f"a file that is not assay's has the name of a medium: {path.name}",
                where=str(path.parent),
                fix="move it away, then run the same command again",
            )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise disk_error(error, path) from error
        write_whole(path, medium.data())
        return path

    def __getitem__(self, digest: str) -> Media:
        found = self._files(digest)
        if not found:
            raise StoreError(
                f"the run keeps no medium {digest[:12]}…", where=str(self.folder)
            )
        return _SUFFIX_KIND.get(found[0].suffix[1:], Image)(found[0])

    def path(self, digest: str) -> Path | None:
        """The file of a medium; `None` where the run keeps none."""
        found = self._files(digest)
        return found[0] if found else None

    def state(self, digest: str) -> str:
        """`whole`, `changed` or `missing`."""
        found = self._files(digest)
        if not found:
            return "missing"
        return "whole" if _digest(found[0]) == digest else "changed"

    def remove(self, digest: str) -> None:
        """Deletes a medium, and its folder where it was the last in it."""
        for path in self._files(digest):
            path.unlink(missing_ok=True)
        for folder in (self.folder / digest[:2], self.folder):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()

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
            return []  # a journal that somebody else wrote may say anything
        folder = self.folder / digest[:2]
        if folder.is_symlink():
            return []
        found = (
            path for path in sorted(folder.glob(f"{digest}.*")) if path.stem == digest
        )
        return [
            path
            for path in found
            if path.suffix[1:] in _SUFFIXES and path.is_file() and not path.is_symlink()
        ]


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""

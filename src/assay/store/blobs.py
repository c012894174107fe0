"""Blobs: the pictures and sounds of a run, as ordinary files named by the hash of their content."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from ..core import Audio, Image, Media, StoreError, Video
from .layout import disk_error, write_whole

_SUFFIX_KIND = {
    "png": Image, "jpeg": Image, "gif": Image, "bmp": Image, "tiff": Image, "webp": Image,
    "wav": Audio, "flac": Audio, "ogg": Audio, "mp3": Audio,
    "mp4": Video, "webm": Video, "avi": Video,
}  # fmt: skip


class Blobs(Mapping[str, Media]):
    """Media by digest; putting the same bytes twice stores them once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, medium: Media) -> Path:
        """Stores a medium and returns its file."""
        path = self._path(medium.digest, medium.format or "bin")
        if not path.exists():
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise disk_error(error, path) from error
            write_whole(path, medium.data())
        return path

    def __getitem__(self, digest: str) -> Media:
        found = sorted((self.folder / digest[:2]).glob(f"{digest}.*"))
        if not found:
            raise StoreError(f"the run keeps no medium {digest[:12]}…", where=str(self.folder))
        return _SUFFIX_KIND.get(found[0].suffix[1:], Image)(found[0])

    def __iter__(self) -> Iterator[str]:
        return (path.stem for path in sorted(self.folder.glob("*/*")) if not path.name.startswith("."))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _path(self, digest: str, suffix: str) -> Path:
        return self.folder / digest[:2] / f"{digest}.{suffix}"

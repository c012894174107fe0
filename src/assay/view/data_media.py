"""Media inside data files, as base64 in a TSV or bytes in Parquet, located by their digest.

A run records only the digests of its media. `run.json` names its data files. They are read row by row until the
medium is reached, and its position is remembered. The bytes are returned only if they have the recorded digest.
"""

import hashlib
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core import AssayError
from ..core.media import decode_base64, is_inline, sniff
from ..datasets.files import open_file

LARGEST_FILE = 8 << 30
SHORTEST = 64
"""Shorter base64 text is not examined."""


class DataMedia:
    """The media inside some data files."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = [path for path in files if _is_readable(path)]
        self.folders = list(
            dict.fromkeys(folder for path in files for folder in path.parents)
        )
        """The folders of the files, and those above them."""
        self._places: dict[str, tuple[Path, int]] = {}
        """The file and row of each medium, by digest."""
        self._done = 0
        """Files that were read to the end."""
        self._last: tuple[str, bytes] = ("", b"")
        self._lock = threading.Lock()

    def get(self, digest: str) -> bytes | None:
        """Return the bytes of a medium; `None` if no file contains it."""
        with self._lock:
            if self._last[0] == digest:
                return self._last[1]
            if digest in self._places:
                content = self._again(digest)
            else:
                content = self._onwards(digest)
            if content is not None:
                self._last = digest, content
            return content

    def _again(self, digest: str) -> bytes | None:
        path, index = self._places[digest]
        for number, data in _media_of(path, index):
            if number == index and hashlib.sha256(data).hexdigest() == digest:
                return data
        return None

    def _onwards(self, digest: str) -> bytes | None:
        """Read the files that were not read yet, and note the media in them."""
        content = None
        while self._done < len(self._files) and content is None:
            path = self._files[self._done]
            self._done += 1
            for number, data in _media_of(path):
                met = hashlib.sha256(data).hexdigest()
                self._places.setdefault(met, (path, number))
                if met == digest:
                    content = data
        return content


def data_files(cell: Mapping[str, Any]) -> list[Path]:
    """Return the data files that `run.json` names for a task and model."""
    digests = cell.get("digests")
    data = digests.get("data") if isinstance(digests, Mapping) else None
    files = data.get("files") if isinstance(data, Mapping) else None
    if isinstance(files, list):
        named = [entry.get("path") for entry in files if isinstance(entry, Mapping)]
    else:
        named = []
    return [Path(path) for path in named if isinstance(path, str)]


def _is_readable(path: Path) -> bool:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST_FILE


def _media_of(path: Path, only: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Return the media of a file with their row numbers; of a single row with `only`."""
    try:
        for number, row in enumerate(open_file(path).rows()):
            if only is not None and number < only:
                continue
            for data in _inside(row[2]):
                yield number, data
            if only == number:
                return
    except (AssayError, OSError, ValueError):
        return  # a file that cannot be read to its end holds what it held so far


def _inside(value: object) -> Iterator[bytes]:
    """Yield every value of a row that is an image, audio or video by its first bytes."""
    if isinstance(value, str):
        if len(value) >= SHORTEST and is_inline(value):
            try:
                data = decode_base64(
                    value.partition(",")[2] if value.startswith("data:") else value
                )
            except AssayError:
                return
            if sniff(data[:64]) is not None:
                yield data
    elif isinstance(value, bytes):
        if sniff(value[:64]) is not None:
            yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _inside(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _inside(inner)

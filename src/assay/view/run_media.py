"""Find media for pages by their digest, also inside data files, and check their bytes.

A medium is served only if a record contains its digest, its bytes have that digest, and
browsers show media of its kind without running anything. SVG and HTML are never served.

Media inside data files are base64 in a TSV or bytes in Parquet. A run records only the
digests of its media, and the names of its data files in `run.json`. These files are
read row by row until the medium is reached, and its position is remembered. The bytes
are returned only if they have the recorded digest.
"""

import hashlib
import io
import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core import AssayError, Audio, DataError, Image
from ..core.media import MAX_MEDIA_BYTES, SNIFFED_BYTES, decode_base64, is_inline, sniff
from ..datasets.files import open_file
from ..store import Blobs
from .records import Record

LARGEST_FILE = 8 << 30
SHORTEST = 64
"""The minimum length of a text that may be base64 of a medium."""


class DataMedia:
    """The media inside data files, found by their digest."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = [path for path in files if _is_readable(path)]
        self.folders = list(
            dict.fromkeys(folder for path in files for folder in path.parents)
        )
        """The folders of the files, and their parent folders."""
        self._places: dict[str, tuple[Path, int]] = {}
        """The file and row of each medium, by digest."""
        self._done = 0
        """The number of files that were read to the end."""
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
        """Search the files that have not been read yet for the medium. All media found on the way are remembered."""
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
    if isinstance(digests, Mapping):
        data = digests.get("data")
    else:
        data = None
    if isinstance(data, Mapping):
        files = data.get("files")
    else:
        files = None
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


def _media_of(
    path: Path,
    only: int | None = None,
) -> Iterator[tuple[int, bytes]]:
    """Yield the row number and bytes of each medium in a file. With `only`, read only this row."""
    try:
        for number, row in enumerate(open_file(path).rows()):
            if only is not None and number < only:
                continue
            for data in _inside(row[2]):
                yield number, data
            if only == number:
                return
    except (AssayError, OSError, ValueError):
        return  # keep what was read before the damaged part


def _inside(value: object) -> Iterator[bytes]:
    """Yield the contents of a value that are an image, audio or video, judging by their first bytes."""
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


TYPES = {
    "png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "bmp": "image/bmp", "webp": "image/webp",
    "avif": "image/avif", "wav": "audio/wav", "flac": "audio/flac", "ogg": "audio/ogg", "mp3": "audio/mpeg",
    "aac": "audio/aac", "m4a": "audio/mp4", "mp4": "video/mp4", "webm": "video/webm",
}  # fmt: skip
"""Content types that browsers show, by file format."""
THUMBNAIL_PIXELS = 256
PEAKS = 600
KEPT_BYTES = 24 << 20
"""Maximum memory for thumbnails and waveforms, in bytes."""


@dataclass(frozen=True, slots=True)
class Found:
    """A medium that may be served: a file, or bytes from a data file."""

    source: Path | bytes
    type: str
    digest: str
    kind: str

    def data(self) -> bytes:
        """All bytes of the medium."""
        if isinstance(self.source, bytes):
            return self.source
        return self.source.read_bytes()


class MediaShelf:
    """The media of one run, stored or in its data files."""

    def __init__(
        self,
        blobs: Blobs,
        inside: Callable[[str, str], DataMedia | None] = lambda task, model: None,
    ) -> None:
        """Create the shelf of a run. `blobs` has its stored media; `inside` returns the media in data files."""
        self._blobs = blobs
        self._inside = inside
        self._checked: dict[Path, tuple[int, int, str]] = {}
        self._made: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def find(self, record: Record, digest: str) -> Found:
        """Find the medium with a digest from a record. Raise `DataError` with the reason if it cannot be shown."""
        parts = [part for part in record.media() if part["sha256"] == digest]
        if not parts:
            raise DataError("this sample names no such medium")
        blob = self._blobs.path(digest)
        places = [] if blob is None else [blob]
        data = self._inside(record.task, record.model)
        for part in parts:
            if isinstance(part.get("path"), str):
                places += _possible_paths(Path(part["path"]), data)
        if not places:
            return self._out_of_data(record, digest, str(parts[0]["type"]))
        faults = []
        for path in places:
            try:
                if self._digest(path) == digest:
                    return Found(
                        path,
                        _type_of(_beginning(path)),
                        digest,
                        str(parts[0]["type"]),
                    )
                faults.append("its bytes are not those that the run was given")
            except (
                FileNotFoundError,
                ValueError,
            ):  # a journal may contain names that are not valid file names
                faults.append("its file is no longer there")
            except OSError as error:
                faults.append(f"its file cannot be read: {error.strerror}")
        raise DataError(faults[0])

    def _out_of_data(
        self,
        record: Record,
        digest: str,
        kind: str,
    ) -> Found:
        files = self._inside(record.task, record.model)
        data = None if files is None else files.get(digest)
        if data is None:
            raise DataError(
                "it is inside the dataset, whose files are missing or no longer contain it"
            )
        return Found(data, _type_of(data[:SNIFFED_BYTES]), digest, kind)

    def thumbnail(self, found: Found) -> bytes:
        """Return a small WebP image. It is decoded in a separate process."""
        return self._cached(("small", found.digest), lambda: _small(found.source))

    def waveform(self, found: Found) -> bytes:
        """Return the volume of an audio file over time: one byte for each of `PEAKS` pieces."""
        return self._cached(("wave", found.digest), lambda: _peaks(found.source))

    def _digest(self, path: Path) -> str:
        """Return the SHA-256 of a regular file. It is computed again only if the file has changed."""
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise DataError("it is not a file")
        if status.st_size > MAX_MEDIA_BYTES:
            raise DataError(f"its file is larger than {MAX_MEDIA_BYTES >> 20} MiB")
        mark = status.st_mtime_ns, status.st_size
        entry = self._checked.get(path)
        if entry is None or entry[:2] != mark:
            with path.open("rb") as file:
                entry = self._checked[path] = (
                    *mark,
                    hashlib.file_digest(file, "sha256").hexdigest(),
                )
        return entry[2]

    def _cached(
        self,
        name: tuple[str, str],
        make: Callable[[], bytes],
    ) -> bytes:
        with self._lock:
            if name in self._made:
                self._made.move_to_end(name)
                return self._made[name]
        try:
            data = make()
        except AssayError as error:
            raise DataError(f"it cannot be decoded: {error}") from error
        with self._lock:
            if name not in self._made:
                self._made[name] = data
                self._size += len(data)
            while self._size > KEPT_BYTES:
                self._size -= len(self._made.popitem(last=False)[1])
        return data


def _possible_paths(
    path: Path,
    data: DataMedia | None,
) -> list[Path]:
    """Return the paths where a file may be.

    A relative path starts at the folder in which the run was started. This folder is
    unknown, but it is one of the folders above the data.
    """
    if path.is_absolute() or data is None:
        return [path]
    return [path, *(folder / path for folder in data.folders)]


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(SNIFFED_BYTES)


def _type_of(beginning: bytes) -> str:
    kind = sniff(beginning)
    media_type = TYPES.get(kind or "")
    if media_type is None:
        if kind:
            problem = f"a {kind} file"
        else:
            problem = "not an image, audio or video file by its own bytes"
        raise DataError(f"it is {problem}, which pages do not show")
    return media_type


def _small(source: Path | bytes) -> bytes:
    from ..media import decode_image

    image = decode_image(Image(source))
    image.thumbnail((THUMBNAIL_PIXELS, THUMBNAIL_PIXELS))
    out = io.BytesIO()
    image.save(out, "WEBP", quality=78)
    return out.getvalue()


def _peaks(source: Path | bytes) -> bytes:
    import numpy as np

    from ..media import decode_audio

    samples = np.abs(decode_audio(Audio(source), channels=1).samples)
    if not samples.size:
        return b""
    pieces = np.array_split(samples, min(PEAKS, samples.size))
    heights = np.array([piece.max() for piece in pieces])
    top = float(heights.max()) or 1.0
    return (heights / top * 255).astype(np.uint8).tobytes()

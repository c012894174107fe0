"""Media: a picture, a sound or a film, named by the hash of its content and opened late.

A `Media` is made from a path, bytes, base64 text, a data URL, an http(s) URL, or anything with PIL's `save`. The
dataset's own bytes are passed on as they are; decoding belongs to whoever looks inside.
"""

import base64
import binascii
import hashlib
import io
import os
import stat
from pathlib import Path
from typing import Any, ClassVar

from .errors import DataError, shorten

MAX_MEDIA_BYTES = 256 * 1024 * 1024

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"BM", "bmp"),
    (b"II*\x00", "tiff"),
    (b"MM\x00*", "tiff"),
    (b"fLaC", "flac"),
    (b"OggS", "ogg"),
    (b"ID3", "mp3"),
    (b"\xff\xfb", "mp3"),
    (b"\xff\xf3", "mp3"),
    (b"\xff\xf2", "mp3"),
    (b"\x1aE\xdf\xa3", "webm"),
)


_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def sniff(data: bytes) -> str | None:
    """The format the first bytes say it is (`png`, `jpeg`, `wav`, …), whatever the file is called."""
    if data[:4] == b"RIFF" and len(data) >= 12:
        return {b"WAVE": "wav", b"WEBP": "webp", b"AVI ": "avi"}.get(data[8:12])
    if data[4:8] == b"ftyp":
        return "mp4"
    return next((name for magic, name in _MAGIC if data.startswith(magic)), None)


class Media:
    """One medium; equal to another when the bytes are equal."""

    kind: ClassVar[str] = "media"
    __slots__ = ("_bytes", "_digest", "name", "source")

    def __init__(self, source: Any, *, name: str | None = None) -> None:
        self.source = source
        self.name = name
        self._bytes: bytes | None = source if isinstance(source, bytes) else None
        self._digest: str | None = None

    def data(self) -> bytes:
        """The original bytes, read when first asked for."""
        if self._bytes is not None:
            return self._bytes
        data = self._read()
        if isinstance(self.source, (str, os.PathLike)) and not _is_inline(self.source):
            return data
        self._bytes = data
        return data

    @property
    def digest(self) -> str:
        """sha256 of the bytes: the name of this medium everywhere in assay."""
        if self._digest is None:
            self._digest = hashlib.sha256(self.data()).hexdigest()
        return self._digest

    @property
    def format(self) -> str | None:
        """What the bytes are by their magic number."""
        return sniff(self.data()[:16])

    def data_url(self) -> str:
        """`data:image/png;base64,…`, as endpoints take it."""
        subtype = self.format or "octet-stream"
        return f"data:{self.kind}/{subtype};base64,{base64.b64encode(self.data()).decode('ascii')}"

    def _read(self) -> bytes:
        source = self.source
        if isinstance(source, (bytearray, memoryview)):
            return bytes(source)
        if isinstance(source, os.PathLike):
            return self._read_file(Path(source))
        if isinstance(source, str):
            if source.startswith("data:"):
                return decode_base64(source.partition(",")[2], what=self.kind)
            if source.startswith(("http://", "https://")):
                raise DataError(
                    f"{self.kind} given by URL was not fetched", got=source, fix="let the task declare allow_urls"
                )
            if _is_inline(source):
                return decode_base64(source, what=self.kind)
            return self._read_file(Path(source))
        if hasattr(source, "save"):
            return self._saved(source)
        raise DataError(f"cannot read {self.kind} from a {type(source).__name__}", fix="give a path, bytes or base64")

    def _saved(self, picture: Any) -> bytes:
        buffer = io.BytesIO()
        try:
            picture.save(buffer, format="PNG")
        except (OSError, ValueError, TypeError) as error:
            raise DataError(f"cannot save {self.kind} as PNG: {error}", fix="convert it to RGB first") from error
        return buffer.getvalue()

    def _read_file(self, path: Path) -> bytes:
        try:
            found = path.stat()
            if not stat.S_ISREG(found.st_mode):
                # A pipe would be waited for and a device read for ever.
                raise DataError(f"cannot open {self.kind}: not a regular file", file=str(path))
            if found.st_size > MAX_MEDIA_BYTES:
                raise DataError(f"{self.kind} file is larger than {MAX_MEDIA_BYTES >> 20} MiB", file=str(path))
            return path.read_bytes()
        except OSError as error:
            raise DataError(f"cannot open {self.kind}: {error.strerror}", file=str(path)) from error
        except ValueError as error:  # a NUL in the name
            raise DataError(f"cannot open {self.kind}: {error}", file=shorten(str(path))) from error

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Media) and self.kind == other.kind and self.digest == other.digest

    def __hash__(self) -> int:
        return hash((self.kind, self.digest))

    def __repr__(self) -> str:
        shown = self.name or (str(self.source)[:40] if isinstance(self.source, (str, os.PathLike)) else "")
        return f"{type(self).__name__}({shown!r})"


class Image(Media):
    """A picture."""

    kind = "image"
    __slots__ = ()


class Audio(Media):
    """A sound."""

    kind = "audio"
    __slots__ = ()


class Video(Media):
    """A film; models that see only pictures get sampled frames."""

    kind = "video"
    __slots__ = ()


MEDIA_KINDS: dict[str, type[Media]] = {"image": Image, "audio": Audio, "video": Video}


def decode_base64(text: str, *, what: str = "media") -> bytes:
    """Strict base64: stray characters are a fault, not skipped."""
    try:
        # The strict decoder takes seven times as long as looking for strays first; it is asked for its words only.
        raw = text.encode("ascii")
        strays = raw.translate(None, _BASE64)
        if strays in (b"", b"=", b"==") and raw.endswith(strays) and len(raw) % 4 == 0:
            return binascii.a2b_base64(raw)
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise DataError(f"{what} is not valid base64: {error}", got=text) from error


def _is_inline(source: str | os.PathLike[str]) -> bool:
    """Whether a string carries the bytes itself: a data URL, or base64 too long to be a path."""
    return isinstance(source, str) and (source.startswith("data:") or (len(source) > 255 and "." not in source[:255]))

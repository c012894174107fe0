"""Media: an image, an audio clip or a video, identified by the hash of its content and read lazily.

A `Media` is built from a path, bytes, base64 text, a data URL, an open binary file, or anything with PIL's `save`.
The original bytes are passed on unchanged; decoding is left to the code that needs it. For other sources (a URL that
a task allows, an array) the caller passes a `read` function.
"""

import base64
import binascii
import hashlib
import io
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, ClassVar, Protocol, TypeVar, runtime_checkable

from .errors import DataError, shorten

MAX_MEDIA_BYTES = 256 * 1024 * 1024
LONGEST_PATH = 255
_BASE64_MAGIC = (
    "iVBORw0KGgo",
    "/9j/",
    "R0lGODdh",
    "R0lGODlh",
    "UklGR",
    "SUkqA",
    "TU0AK",
    "ZkxhQ",
    "T2dnU",
    "SUQz",
)
"""First characters of base64-encoded images and audio: PNG, JPEG, GIF, WebP and WAV, TIFF, FLAC, Ogg and MP3."""

_MAGIC: Mapping[str, tuple[bytes, ...]] = {
    "png": (b"\x89PNG\r\n\x1a\n",),
    "jpeg": (b"\xff\xd8\xff",),
    "gif": (b"GIF87a", b"GIF89a"),
    "bmp": (b"BM",),
    "tiff": (b"II*\x00", b"MM\x00*"),
    "flac": (b"fLaC",),
    "ogg": (b"OggS",),
    "mp3": (
        b"ID3",
        b"\xff\xfb",
        b"\xff\xfa",
        b"\xff\xf3",
        b"\xff\xf2",
        b"\xff\xe3",
        b"\xff\xe2",
    ),
    "mp2": (b"\xff\xfd", b"\xff\xfc", b"\xff\xf5", b"\xff\xf4"),
    "aac": (b"\xff\xf1", b"\xff\xf9"),
    "rf64": (b"RF64",),
    "w64": (b"riff\x2e\x91\xcf\x11",),
    "sphere": (b"NIST_1A",),
    "au": (b".snd", b"dns."),
    "caf": (b"caff",),
    "voc": (b"Creative Voice File",),
    "paf": (b" paf", b"fap "),
    "ircam": (b"\x64\xa3",),
    "pvf": (b"PVF1",),
    "avr": (b"2BIT",),
    "wve": (b"ALawSoundFile**",),
    "xi": (b"Extended Instrument: ",),
    "mat5": (b"MATLAB 5.0 MAT-file",),
    "sds": (b"\xf0\x7e\x00\x01",),
    "mpc2k": (b"\x01\x04",),
    "amr": (b"#!AMR",),
    "asf": (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11",),
    "jxl": (b"\x00\x00\x00\x0cJXL \r\n\x87\n", b"\xff\x0a"),
    "jp2": (b"\x00\x00\x00\x0cjP  \r\n\x87\n", b"\xff\x4f\xff\x51"),
    "ico": (b"\x00\x00\x01\x00",),
}
_RIFF = {b"WAVE": "wav", b"WEBP": "webp", b"AVI ": "avi"}
_FORM = {b"AIFF": "aiff", b"AIFC": "aiff", b"8SVX": "svx", b"16SV": "svx"}
_BRANDS: dict[bytes, str] = {
    b"avif": "avif",
    b"avis": "avif",
    b"heic": "heic",
    b"heix": "heic",
    b"heim": "heic",
    b"heis": "heic",
    b"hevc": "heic",
    b"hevx": "heic",
    b"M4A ": "m4a",
    b"M4B ": "m4a",
}
"""Maps the brand in the first box of an ISO media file to a format, such as AVIF, HEIC or M4A."""
_HTK_PERIODS = range(26, 2_501)
"""Accepted sampling periods of HTK waveforms, in units of 100 ns. The range covers
rates from 4 to 384 kHz.

HTK files have no magic number, so the period is used to recognise them.
"""
SNIFFED_BYTES = 64
FORMATS = frozenset(
    {*_MAGIC, *_RIFF.values(), *_FORM.values(), *_BRANDS.values()}
    | {"mp4", "matroska", "webm", "ppm", "mat4", "htk"}
)
"""Every format name that `sniff` can return. The names are used as file extensions in a run folder."""


Place = tuple[str | None, int | None, str | int | None]
"""File, row and column of the cell that contains or names the medium."""

M = TypeVar("M", bound="Media")

_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def sniff(data: bytes) -> str | None:
    """Return the format that the first bytes indicate (`png`, `jpeg`, `wav`, …), ignoring the file name.

    The first `SNIFFED_BYTES` bytes are enough.
    """
    if data[:4] == b"RIFF" and len(data) >= 12:
        return _RIFF.get(data[8:12])
    if data[:4] == b"FORM" and len(data) >= 12:
        return _FORM.get(data[8:12])
    if data[4:8] == b"ftyp":
        end = min(int.from_bytes(data[:4], "big"), SNIFFED_BYTES)
        brands = (
            data[8:12],
            *(data[offset : offset + 4] for offset in range(16, end - 3, 4)),
        )
        return next((_BRANDS[brand] for brand in brands if brand in _BRANDS), "mp4")
    if data[:4] == b"\x1aE\xdf\xa3":
        if b"matroska" in data[:SNIFFED_BYTES]:
            return "matroska"
        return "webm"
    if data[:1] == b"P" and data[1:2] in b"123456" and data[2:3].isspace():
        return "ppm"
    if (
        data[20:31] == b"samplerate\0"
    ):  # MATLAB 4 names its first matrix, and libsndfile writes this one first
        return "mat4"
    if data[8:12] == b"\0\2\0\0" and int.from_bytes(data[4:8], "big") in _HTK_PERIODS:
        return "htk"
    return next(
        (name for name, begins in _MAGIC.items() if data.startswith(begins)), None
    )


def _refuse(source: object) -> bytes:
    raise DataError(
        f"the file {shorten(str(source))} is named by data, and no folder holds it",
        fix="name it in a column of the data, or give assay.Image(path), assay.Audio(path) or assay.Video(path)",
    )


@runtime_checkable
class SavableImage(Protocol):
    """An image that can write itself to a file, such as a Pillow image."""

    def save(
        self,
        fp: IO[bytes],
        format: str,
    ) -> None:
        """Write the image in the given format."""


class Media:
    """One medium. Two media are equal if their bytes are equal."""

    kind: ClassVar[str] = "media"
    __slots__ = ("_bytes", "_digest", "_reader", "facts", "name", "place", "source")

    def __init__(
        self,
        source: object,
        *,
        name: str | None = None,
        read: Callable[[Any], bytes] | None = None,
    ) -> None:
        """Store the source. If `read` is given, it returns the bytes of the source and is called once."""
        self.source: Any = source
        self.name = name
        self.place: Place | None = None
        """Location of the row that names this medium. The dataset reader sets it."""
        self.facts: Mapping[str, Any] = {}
        """Known properties of the content, as written in the journal: bytes, width and
        height, seconds, sample rate.
        """
        self._reader = read
        self._bytes: bytes | None = source if isinstance(source, bytes) else None
        self._digest: str | None = None

    def data(self) -> bytes:
        """Return the original bytes, reading them on first use."""
        if self._bytes is not None:
            return self._bytes
        if self._reader is not None:
            self._bytes = self._given(self._reader)
            return self._bytes
        data = self._read()
        is_file = isinstance(self.source, os.PathLike) or (
            isinstance(self.source, str) and not is_inline(self.source)
        )
        if not is_file:
            self._bytes = data
        return data

    @property
    def is_unheld(self) -> bool:
        """True if the medium is a file named in the data that may not be opened yet,
        because no folder containing it was allowed.
        """
        return self._reader is _refuse

    def hold(self) -> None:
        """Read the bytes now. The code that made the medium may later overwrite its file or draw on it."""
        if self._bytes is None:
            self._bytes = self.data()
            self._digest = None

    @property
    def digest(self) -> str:
        """SHA-256 of the bytes, which identifies the medium everywhere in assay."""
        if self._digest is None:
            self._digest = hashlib.sha256(self.data()).hexdigest()
        return self._digest

    @property
    def format(self) -> str | None:
        """The format that the first bytes indicate."""
        return sniff(self.data()[:SNIFFED_BYTES])

    @property
    def sent_format(self) -> str:
        """The format to declare when the medium is sent. Raise `DataError` if it is not a known media format."""
        media_format = self.format
        if media_format is None:
            raise self.fault(
                f"the {self.kind} is not sent: its bytes are not those of an image, audio or video file"
            )
        return media_format

    def data_url(self) -> str:
        """Return the content as a data URL, the format that endpoints expect: `data:image/png;base64,…`."""
        return f"data:{self.kind}/{self.sent_format};base64,{base64.b64encode(self.data()).decode('ascii')}"

    def fault(
        self,
        what: str,
        *,
        got: object = None,
        fix: str | None = None,
    ) -> DataError:
        """Return a `DataError` with the message `what`. Its location is the medium's
        row, or its file if the row is unknown.
        """
        source_file = self._own_file()
        if self.place is None:
            return DataError(
                what,
                file=source_file,
                got=got,
                fix=fix,
            )
        file, row, column = self.place
        if source_file is not None:
            named = f"{what} ({source_file})"
        else:
            named = what
        return DataError(
            named,
            file=file,
            row=row,
            column=column,
            got=got,
            fix=fix,
        )

    def _own_file(self) -> str | None:
        source = self.source
        if isinstance(source, os.PathLike):
            return str(source)
        if self.name:
            return self.name
        if not isinstance(source, str) or is_inline(source):
            return None
        # Do not shorten paths: the end of a path is what distinguishes it.
        if len(source) <= LONGEST_PATH:
            return repr(source)[1:-1]
        return shorten(source)[1:-1]

    def _given(self, read: Callable[[Any], bytes]) -> bytes:
        try:
            return read(self.source)
        except DataError as error:
            if self.place is None or error.row is not None:
                raise
            raise self.fault(error.what, fix=error.fix) from error

    def _read(self) -> bytes:
        source = self.source
        if isinstance(source, (bytearray, memoryview)):
            return bytes(source)
        if isinstance(source, os.PathLike):
            return self._read_file(Path(source))
        if isinstance(source, str):
            if source.startswith("data:"):
                return self._given(
                    lambda text: decode_base64(text.partition(",")[2], what=self.kind)
                )
            if source.startswith(("http://", "https://")):
                raise self.fault(
                    f"{self.kind} given by URL was not fetched",
                    fix="let the task declare allow_urls",
                )
            if is_inline(source):
                return self._given(lambda text: decode_base64(text, what=self.kind))
            return self._read_file(Path(source))
        if isinstance(source, SavableImage):
            return self._saved(source)
        if callable(getattr(source, "read", None)):
            return self._read_open(source)
        raise self.fault(
            f"cannot read {self.kind} from a {type(source).__name__}",
            fix="give a path, bytes, base64 or an open file",
        )

    def _saved(self, image: "SavableImage") -> bytes:
        buffer = io.BytesIO()
        try:
            image.save(buffer, format="PNG")
        except (OSError, ValueError, TypeError) as error:
            raise self.fault(
                f"cannot save {self.kind} as PNG: {error}",
                fix="convert it to RGB first",
            ) from error
        return buffer.getvalue()

    def _read_open(self, stream: IO[Any]) -> bytes:
        data = stream.read(MAX_MEDIA_BYTES + 1)
        if not isinstance(data, bytes):
            raise self.fault(
                f"the {self.kind} is a file opened as text", fix='open it with "rb"'
            )
        if len(data) > MAX_MEDIA_BYTES:
            raise self._too_large()
        return data

    def _too_large(self) -> DataError:
        return self.fault(
            f"{self.kind} file is larger than {MAX_MEDIA_BYTES >> 20} MiB"
        )

    def _read_file(self, path: Path) -> bytes:
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                # Reading a pipe or a device could block forever.
                raise self.fault(f"cannot open {self.kind}: not a regular file")
            if status.st_size > MAX_MEDIA_BYTES:
                raise self._too_large()
            return path.read_bytes()
        except OSError as error:
            raise self.fault(f"cannot open {self.kind}: {error.strerror}") from error
        except ValueError as error:  # a NUL in the name
            raise self.fault(f"cannot open {self.kind}: {error}") from error

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Media)
            and self.kind == other.kind
            and self.digest == other.digest
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.digest))

    def __repr__(self) -> str:
        text = self.name or (
            str(self.source)[:40] if isinstance(self.source, (str, os.PathLike)) else ""
        )
        return f"{type(self).__name__}({text!r})"


class Image(Media):
    """An image."""

    kind = "image"
    __slots__ = ()


class Audio(Media):
    """An audio clip."""

    kind = "audio"
    __slots__ = ()


class Video(Media):
    """A video, for models that accept one."""

    kind = "video"
    __slots__ = ()


def named_by_data(kind: "type[M]", source: object) -> "M":
    """Build a medium from a value in the data.

    If the value is a file path, the file is not opened until its folder is allowed.
    """
    is_file = isinstance(source, os.PathLike) or (
        isinstance(source, str)
        and not is_inline(source)
        and not source.startswith(("http://", "https://"))
    )
    if is_file:
        return kind(source, read=_refuse)
    return kind(source)


MEDIA_KINDS: dict[str, type[Media]] = {"image": Image, "audio": Audio, "video": Video}


def decode_base64(text: str, *, what: str = "media") -> bytes:
    """Decode base64 strictly: stray characters raise `DataError` instead of being skipped."""
    try:
        # Checking for stray characters first is seven times faster than the strict decoder, which
        # is only used for its message.
        raw = text.encode("ascii")
        strays = raw.translate(None, _BASE64)
        if strays in (b"", b"=", b"==") and raw.endswith(strays) and len(raw) % 4 == 0:
            return binascii.a2b_base64(raw)
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise DataError(f"{what} is not valid base64: {error}", got=text) from error


def is_inline(text: str) -> bool:
    """Return True if the text holds the content itself, as a data URL or base64, and is not a path."""
    if text.startswith("data:"):
        return True
    if "." in text[:LONGEST_PATH]:
        return False
    return len(text) > LONGEST_PATH or (
        len(text) >= 32 and text.startswith(_BASE64_MAGIC)
    )

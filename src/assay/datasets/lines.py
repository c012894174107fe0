"""Lines: the bytes of a plain, gzip or zstd file, one line at a time.

This module has at most one row in memory, and does not decode text.
"""

import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ..core import DataError
from . import faults

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


BUFFER_BYTES = 256 * 1024
SEEK_BUFFER_BYTES = 16 * 1024
UTF8_BOM = b"\xef\xbb\xbf"
ZSTD_MAGIC = 0xFD2FB528
ZSTD_SKIPPED = 0x184D2A50
"""Start of a frame that decompressors must skip. The last four bits of this number vary."""
COMPRESSED = (".gz", ".zst")

Line = tuple[int, int, bytes | None]
"""A line with its number from 1 and its byte offset. The bytes are None if the line exceeds the row limit."""


def is_compressed(path: Path) -> bool:
    """Return True if a file is compressed, judging by its name. Such files cannot be read from the middle."""
    return path.suffix.lower() in COMPRESSED


class Witness(io.RawIOBase):
    """Reads an uncompressed file and computes its digest at the same time, which saves a second pass."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = path.open("rb", buffering=0)
        self._hash = hashlib.sha256()
        self.is_whole = False

    def readable(self) -> bool:
        """Return True: the interface of Python's raw files requires this method."""
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        """Read bytes into `buffer` and add them to the digest. Remember if the file has ended."""
        count = self._file.readinto(buffer) or 0
        if count:
            self._hash.update(memoryview(buffer)[:count])
        else:
            self.is_whole = True
        return count

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()

    def digest(self) -> str | None:
        """Return the sha256 of the file. Return None if the file was not read to its end."""
        if self.is_whole:
            return self._hash.hexdigest()
        return None


@contextmanager
def open_bytes(
    path: Path,
    offset: int = 0,
    witness: Witness | None = None,
) -> Iterator[IO[bytes]]:
    """Open the decompressed bytes of a file. Raise a `DataError` with the file's name if the archive is damaged."""
    try:
        with (
            _open(path, offset)
            if witness is None
            else io.BufferedReader(witness, BUFFER_BYTES) as stream
        ):
            yield stream
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(
            f"the gzip file is damaged or cut: {error}",
            file=str(path),
            fix="fetch it again",
        ) from error
    except OSError as error:
        raise DataError(
            f"cannot read: {error.strerror or error}", file=str(path)
        ) from error


@contextmanager
def _open(path: Path, offset: int) -> Iterator[IO[bytes]]:
    suffix = path.suffix.lower()
    if suffix == ".gz":
        with gzip.open(path, "rb") as unpacked:
            yield io.BufferedReader(unpacked, BUFFER_BYTES)
    elif suffix == ".zst":
        import zstandard

        if is_zstd_cut(path):
            raise DataError(
                "the zstd file is cut",
                file=str(path),
                fix="fetch it again",
            )
        with path.open("rb") as packed:
            reader: Any = zstandard.ZstdDecompressor().stream_reader(
                packed, read_across_frames=True
            )
            try:
                yield io.BufferedReader(reader, BUFFER_BYTES)
            except zstandard.ZstdError as error:
                raise DataError(
                    f"the zstd file is damaged: {error}",
                    file=str(path),
                    fix="fetch it again",
                ) from error
    else:
        with path.open(
            "rb", buffering=SEEK_BUFFER_BYTES if offset else BUFFER_BYTES
        ) as stream:
            if offset:
                stream.seek(offset)
            yield stream


def is_zstd_cut(path: Path) -> bool:
    """Return True if a zstd file ends in the middle of a frame, which the decompressor
    does not report.

    Only the headers of frames and blocks are read. Data that are not zstd are reported
    by the decompressor instead.
    """
    import zstandard

    size = path.stat().st_size
    with path.open("rb", buffering=0) as file:
        position = 0
        while position < size:
            file.seek(position)
            head = file.read(18)
            magic = int.from_bytes(head[:4], "little")
            if magic & ~0xF == ZSTD_SKIPPED:
                position += 8 + int.from_bytes(head[4:8], "little")
                continue
            if magic != ZSTD_MAGIC:
                return len(head) < 4
            try:
                frame = zstandard.get_frame_parameters(head)
            except zstandard.ZstdError:
                return True
            position += zstandard.frame_header_size(head)
            is_last = False
            while not is_last:
                file.seek(position)
                block = int.from_bytes(file.read(3), "little")
                is_last = bool(block & 1)
                is_one_byte_repeated = (block >> 1) & 3 == 1
                position += 3 + (1 if is_one_byte_repeated else block >> 3)
                if position > size:
                    return True
            if frame.has_checksum:
                position += 4
    return position > size


def check_text(head: bytes, path: Path) -> None:
    """Raise if a file is UTF-16 or UTF-32, recognised by its byte order mark or its zero bytes."""
    marked = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    start = head[:64]
    halves = (start[0::2], start[1::2])
    if marked or (
        len(start) >= 8 and any(half.count(0) >= len(half) - 1 for half in halves)
    ):
        raise DataError(
            "the file is UTF-16, not UTF-8",
            file=str(path),
            row=1,
            column=1,
            got=head[:8],
            fix=f"iconv -f UTF-16 -t UTF-8 {path.name} > utf8-{path.name}",
        )


def read_lines(
    path: Path,
    number: int = 1,
    offset: int = 0,
    witness: Witness | None = None,
) -> Iterator[Line]:
    """Yield the lines of a file, beginning with line `number` at byte `offset`, without a UTF-8 byte order mark."""
    with open_bytes(path, offset, witness) as stream:
        limit = faults.ROW_LIMIT
        readline = stream.readline
        line = readline(limit + 1)
        if offset == 0:
            check_text(line[:64], path)
        while line:
            size = len(line)
            if offset == 0 and line.startswith(UTF8_BOM):
                line = line[len(UTF8_BOM) :]
            if size > limit:
                size += _skip_line(stream) if not line.endswith(b"\n") else 0
                yield number, offset, None
            else:
                yield number, offset, line
            number += 1
            offset += size
            line = readline(limit + 1)


def _skip_line(stream: IO[bytes]) -> int:
    skipped = 0
    while piece := stream.readline(BUFFER_BYTES):
        skipped += len(piece)
        if piece.endswith(b"\n"):
            break
    return skipped

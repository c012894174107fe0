"""The journal: append-only lines of JSON, each with a checksum; the source of truth of a run.

A line is a JSON object whose last member is `"crc"`: CRC-32 of the object without it.
Each write is one checked `write` of whole lines. A separate thread groups `fdatasync`
calls (every 200 ms or 64 lines). So a killed process loses nothing that was written,
and a power cut at most the last group. When the file is opened, an incomplete last line
is cut off.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_type_hints
from zlib import crc32

import msgspec

from ..core import DiskFull, OutputRecord, ScoreRecord
from ..core.errors import plural
from ..core.record import is_whole as is_whole
from .layout import disk_error
from .stored_secrets import Redactor

SYNC_SECONDS = 0.2
SYNC_LINES = 64
_TAIL_BYTES = 1 << 20

_R = TypeVar("_R")


def as_plain(value: object) -> object:
    """Convert a value that JSON does not support: numpy numbers to numbers, arrays to lists, anything else to text."""
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, float):
        return float(value)
    if isinstance(value, int):
        return int(value)
    return str(value)


_encode = msgspec.json.Encoder(enc_hook=as_plain).encode


def seal(
    record: object,
    redactor: Redactor | None = None,
) -> bytes:
    """Return a record as one journal line: JSON with a checksum, and a newline."""
    try:
        body = _encode(record)
    except (UnicodeEncodeError, OverflowError, TypeError):
        # The slower encoder writes lone surrogates and huge integers as plain JSON.
        if isinstance(record, Mapping):
            plain = record
        else:
            plain = _members(cast(msgspec.Struct, record))
        body = json.dumps(
            plain,
            ensure_ascii=True,
            default=as_plain,
            skipkeys=True,
            separators=(",", ":"),
        ).encode()
    if redactor is not None:
        body = redactor.line(body)
    return b'%b,"crc":"%08x"}\n' % (body[:-1], crc32(body))


def _members(line: msgspec.Struct) -> dict[str, Any]:
    """Return the fields of a record as a dictionary, for a record that the fast encoder cannot encode."""
    kind = type(line)
    members = msgspec.structs.asdict(line)
    required = len(kind.__struct_fields__) - len(kind.__struct_defaults__)
    defaults = dict(
        zip(kind.__struct_fields__[required:], kind.__struct_defaults__, strict=True)
    )
    nondefault = {
        name: value
        for name, value in members.items()
        if name not in defaults or value is not defaults[name]
    }
    return {"kind": kind.__struct_config__.tag, **nondefault}


@dataclass(frozen=True, slots=True)
class Repair:
    """The damage found when a journal was opened: an incomplete last line that was cut off, and damaged lines."""

    torn_bytes: int = 0
    damaged_lines: int = 0
    damaged_range: tuple[int, int] | None = None

    def __str__(self) -> str:
        parts = []
        if self.torn_bytes:
            parts.append(f"a torn last line of {self.torn_bytes} bytes was cut off")
        if self.damaged_lines:
            if self.damaged_range:
                where = " (bytes {} to {})".format(*self.damaged_range)
            else:
                where = ""
            part = f"{plural(self.damaged_lines, 'damaged line')} passed over{where}"
            parts.append(part)
        return "; ".join(parts)


class Journal:
    """Appends lines to `records.jsonl`. No other code writes to this file."""

    def __init__(
        self,
        path: Path,
        redactor: Redactor | None = None,
    ) -> None:
        self.path = path
        self._redactor = redactor
        # Several threads write here: each line must be at the offset that was returned, and none may be lost.
        self._turn = threading.Lock()
        self._buffer: list[bytes] = []
        self._unsynced = 0
        self._last_sync = time.monotonic()
        try:
            self._handle = os.open(
                path,
                os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW,
                0o644,
            )
        except OSError as error:
            raise disk_error(error, path) from error
        self._end = os.fstat(self._handle).st_size
        self._syncer: threading.Thread | None = None
        self._sync_error: OSError | None = None

    @property
    def end(self) -> int:
        """The offset of the next line."""
        return self._end

    def append(self, record: object) -> int:
        """Add a record to the lines that the next `flush` will write. Return the offset of its line."""
        line = seal(record, self._redactor)
        with self._turn:
            self._buffer.append(line)
            offset = self._end
            self._end += len(line)
        return offset

    def flush(self) -> None:
        """Write the appended records. After that, killing the process cannot lose them."""
        with self._turn:
            self._flush()

    def _flush(self) -> None:
        if self._buffer:
            block = b"".join(self._buffer)
            lines = len(self._buffer)
            self._buffer.clear()
            self._write(block)
            self._unsynced += lines
        if self._unsynced and (
            self._unsynced >= SYNC_LINES
            or time.monotonic() - self._last_sync >= SYNC_SECONDS
        ):
            self._sync_in_background()

    def close(self) -> None:
        """Write and sync all lines, and close the file."""
        try:
            self.flush()
            if self._syncer is not None:
                self._syncer.join()
            self._raise_sync_error()
            os.fdatasync(self._handle)
        except OSError as error:
            raise disk_error(error, self.path) from error
        finally:
            if self._syncer is not None:
                self._syncer.join()  # It must not sync a handle that has been reused for another file.
            os.close(self._handle)

    def _write(self, block: bytes) -> None:
        start = os.fstat(self._handle).st_size
        try:
            size = os.write(self._handle, block)
            if size != len(block):
                # A full disk may accept part of a block without an error: leave no incomplete line behind.
                os.ftruncate(self._handle, start + block.rfind(b"\n", 0, size) + 1)
                raise DiskFull(
                    "the disk is full",
                    where=str(self.path),
                    fix="free some space and rerun the command",
                )
        except OSError as error:
            raise disk_error(error, self.path) from error

    def _sync_in_background(self) -> None:
        if self._syncer is not None and self._syncer.is_alive():
            return
        self._raise_sync_error()
        self._unsynced = 0
        self._last_sync = time.monotonic()
        self._syncer = threading.Thread(
            target=self._sync,
            name="journal-sync",
            daemon=True,
        )
        self._syncer.start()

    def _sync(self) -> None:
        try:
            os.fdatasync(self._handle)
        except OSError as error:
            self._sync_error = error

    def _raise_sync_error(self) -> None:
        if self._sync_error is not None:
            raise disk_error(self._sync_error, self.path) from self._sync_error


def open_journal(
    path: Path,
    redactor: Redactor | None = None,
) -> tuple[Journal, Repair]:
    """Open the journal for appending, cut off an incomplete last line, and return what was repaired."""
    try:
        if path.exists():
            torn = _cut_torn_tail(path)
        else:
            torn = 0
    except OSError as error:
        raise disk_error(error, path) from error
    return Journal(path, redactor), Repair(torn_bytes=torn)


def _cut_torn_tail(path: Path) -> int:
    """Cut off an incomplete last line. Damaged lines before it are kept; readers skip them."""
    size = path.stat().st_size
    if size == 0:
        return 0
    with open(os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW), "rb+") as file:
        keep = size
        while keep:
            start = max(0, keep - _TAIL_BYTES)
            file.seek(start)
            end = file.read(keep - start).rfind(b"\n")
            keep = start + end + 1
            if end >= 0:
                break
        if keep < size:
            file.truncate(keep)
            os.fsync(file.fileno())
        return size - keep


def read_lines(path: Path) -> Iterator[tuple[int, bytes | None]]:
    """Yield each line with its offset; None instead of a damaged line."""
    with open(path, "rb") as file:
        offset = 0
        for line in file:
            if line[-1] == 10:
                body = line[:-1]
            else:
                body = line
            # Written inline, because it takes most of the time of reading a long journal.
            sealed = body[-18:-10] == b',"crc":"' and body[-2:] == b'"}'
            yield (
                offset,
                body
                if sealed and b"%08x" % crc32(b"}", crc32(body[:-18])) == body[-10:-2]
                else None,
            )
            offset += len(line)


def part_of(
    record: type[Any],
    *names: str,
    **others: type,
) -> type[Any]:
    """Create a class for decoding only some fields of a record. `others` are additional fields, with their types."""
    hints = get_type_hints(record)
    declared = {field.name: field for field in fields(record)}
    members: list[Any] = [
        (name, hints[name], *_default(declared[name])) for name in names
    ]
    members += [
        (name, kind, msgspec.field(default_factory=kind))
        for name, kind in others.items()
    ]
    return msgspec.defstruct(f"PartOf{record.__name__}", members, gc=False)


def _line_of(record: type[Any]) -> object:
    """Return the class of journal lines for a record class.

    Fields with their default value are left out of the line.
    """
    members = [
        (field.name, Any, *_default(field))
        for field in fields(record)
        if field.name != "kind"
    ]
    kind = next(field.default for field in fields(record) if field.name == "kind")
    return msgspec.defstruct(
        f"{record.__name__}Line",
        members,
        tag_field="kind",
        tag=str(kind),
        omit_defaults=True,
        gc=False,
    )


def _default(field: "Field[Any]") -> tuple[Any, ...]:
    if field.default_factory is not MISSING:
        return (field.default_factory(),)
    if field.default is MISSING:
        return ()
    return (field.default,)


if TYPE_CHECKING:
    OutputLine = OutputRecord
    ScoreLine = ScoreRecord
else:
    OutputLine = _line_of(OutputRecord)
    ScoreLine = _line_of(ScoreRecord)
"""Classes of the records that are written. An object costs a third of the frozen one that is read."""


_decode_output = msgspec.json.Decoder(OutputRecord).decode
_decode_score = msgspec.json.Decoder(ScoreRecord).decode


def decode_output(line: bytes) -> OutputRecord:
    """Return the output record of a journal line."""
    return _decode(line, _decode_output, OutputRecord)


def decode_score(line: bytes) -> ScoreRecord:
    """Return the score record of a journal line."""
    return _decode(line, _decode_score, ScoreRecord)


def _decode(
    line: bytes,
    fast: Callable[[bytes], _R],
    kind: type[_R],
) -> _R:
    try:
        return fast(line)  # type: ignore[no-any-return]
    except msgspec.DecodeError:
        plain = json.loads(line)
        plain.pop("crc", None)
        return kind(**plain)

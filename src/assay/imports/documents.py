"""Read JSON files and zip archives from unknown sources, with limits and with errors that name the file."""

import json
import math
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from ..core import DataError, shorten
from ..core.errors import UnusablePath
from ..datasets.lines import open_bytes, read_lines

LARGEST_DOCUMENT = 64 << 20
"""Maximum bytes of a JSON file that is read at once."""
HEAD_BYTES = 64 << 10
UNUSUAL = (
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)
"""Exceptions that occur when a value in a file has the wrong type."""


def read_document(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file. Raise if the file is too large, incomplete, or not a JSON object."""
    try:
        size = path.stat().st_size
        if size > LARGEST_DOCUMENT:
            limit = f"{LARGEST_DOCUMENT >> 20} MiB"
            raise unreadable(
                path,
                f"one JSON object of {size >> 20} MiB, and at most {limit} are read",
                "have the tool write one file per task",
            )
        data = path.read_bytes()
    except OSError as error:
        raise unreadable(path, str(error.strerror), "check the path") from error
    return _decode(data, path, "")


def unreadable(
    path: Path,
    reason: str,
    fix: str | None = None,
) -> UnusablePath:
    """Return the error for a file that looks like results but cannot be read."""
    return UnusablePath(
        f"cannot read these results: {reason}",
        where=str(path),
        fix=fix or "copy the file again from where it was written",
    )


@contextmanager
def unusual_values(path: Path) -> Iterator[None]:
    """Context manager that raises `UnusablePath` if a value has an unexpected type.

    An example is a number instead of a list.
    """
    try:
        yield
    except UNUSUAL as error:
        text = shorten(f"{type(error).__name__}: {error}", 120)
        raise unreadable(
            path, f"a value is not what the format has there: {text}"
        ) from error


def read_objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line number and the object of each line of a JSONL file. Raise at a line that is not an object."""
    for number, _, line in read_lines(path):
        if line is None:
            raise unreadable(path, f"line {number} is too long")
        if not line.isspace():
            yield number, _decode(line, path, f"line {number}: ")


def _decode(
    data: bytes,
    path: Path,
    place: str,
) -> dict[str, Any]:
    """Return a JSON object. NaN and infinities, which other tools write, are accepted."""
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        document = _decode_slowly(data, path, place)
    if not isinstance(document, dict):
        raise unreadable(path, f"{place}expected a JSON object")
    return document


def _decode_slowly(
    data: bytes,
    path: Path,
    place: str,
) -> object:
    try:
        return json.loads(data)
    except RecursionError as error:
        raise unreadable(path, f"{place}nested too deeply") from error
    except ValueError as error:
        raise unreadable(path, f"{place}not valid JSON: {error}") from error


def first_object(path: Path) -> dict[str, Any]:
    """Return the first object of a JSONL file; empty if there is none."""
    try:
        for _, row in read_objects(path):
            return row
    except (UnusablePath, DataError, OSError):
        pass
    return {}


def head_of(path: Path) -> bytes:
    """Return the first bytes of a file, decompressed; empty if it cannot be read."""
    try:
        with open_bytes(path) as stream:
            return stream.read(HEAD_BYTES)
    except (OSError, DataError):
        return b""


def mapping(value: object) -> Mapping[str, Any]:
    """Return the value if it is a JSON object, otherwise an empty mapping."""
    return value if isinstance(value, Mapping) else {}


def number_of(value: object) -> float | None:
    """Return a value as a finite number: a number, a boolean or a text such as "0.5"; None for anything else."""
    if not isinstance(value, (bool, int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def moment_of(seconds: object) -> str | None:
    """Convert a time from seconds since 1970 to the text format of `run.json`. Return None if it is not a number."""
    number = number_of(seconds)
    if number is None:
        return None
    return datetime.fromtimestamp(number, UTC).isoformat(timespec="seconds")


LARGEST_ENTRY = 1 << 30
"""Maximum bytes of one unpacked entry of an archive."""
MOST_EXPANSION = 300
"""Maximum ratio between the total unpacked size of an archive and its own size."""
SPARE_BYTES = 64 << 20
"""Archives that unpack to at most this size are accepted, whatever their compression ratio."""
MOST_ENTRIES = 4_000_000


def check_archive(
    path: Path,
    largest: int = LARGEST_ENTRY,
) -> None:
    """Raise if a zip file is cut off or damaged, or would unpack to more than the limits."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except FileNotFoundError:
        raise
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        reason = f"the zip file is cut off or damaged ({error})"
        raise unreadable(path, reason) from error
    sizes = [entry.file_size for entry in entries]
    limit = MOST_EXPANSION * path.stat().st_size + SPARE_BYTES
    if len(entries) > MOST_ENTRIES:
        raise _bomb(path, f"it has {len(entries)} entries")
    if sizes and max(sizes) > largest:
        name = max(entries, key=lambda entry: entry.file_size).filename
        raise _bomb(path, f"{name!r} has {max(sizes) >> 20} MiB")
    if sum(sizes) > limit:
        raise _bomb(path, f"its entries have {sum(sizes) >> 20} MiB together")


def _bomb(path: Path, reason: str) -> UnusablePath:
    return unreadable(
        path,
        f"it would decompress to more than is read: {reason}",
        "check where the file comes from",
    )

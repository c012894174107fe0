"""Zip archives that anybody may have made: checked by their directory before anything is decompressed."""

import zipfile
from pathlib import Path

from ..core.errors import UnusablePath
from .documents import unreadable

LARGEST_ENTRY = 1 << 30
"""Bytes of one entry after decompression."""
MOST_EXPANSION = 300
"""How many times larger than the file all entries may be together."""
SPARE_BYTES = 64 << 20
"""What a small file may hold whatever its expansion."""
MOST_ENTRIES = 4_000_000


def check_archive(path: Path, largest: int = LARGEST_ENTRY) -> None:
    """Raise if a zip file is cut off or damaged, or if it would grow beyond all measure."""
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

"""Zip archives from unknown sources, checked by their directory before anything is decompressed."""

import zipfile
from pathlib import Path

from ..core.errors import UnusablePath
from .documents import unreadable

LARGEST_ENTRY = 1 << 30
"""Bytes of one entry after decompression."""
MOST_EXPANSION = 300
"""Largest ratio between the size of all entries together and the size of the file."""
SPARE_BYTES = 64 << 20
"""Bytes that an archive may always unpack to, whatever the ratio."""
MOST_ENTRIES = 4_000_000


def check_archive(path: Path, largest: int = LARGEST_ENTRY) -> None:
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

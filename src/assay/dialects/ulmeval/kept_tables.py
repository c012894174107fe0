"""Copies of dataset tables in a run folder, so that the folder alone is enough to evaluate it."""

import shutil
from pathlib import Path

from ...store.file_ledger import FileLedger
from ..file_names import file_name
from .ulmeval_rows import GuestData
from .ulmeval_tables import TABLE

TABLES = "tables"


def keep_table(data: GuestData, folder: Path) -> None:
    """Copy the table of a dataset into a run folder, unless it is there. Rows from user code have no table."""
    table: Path | None = vars(data.dataset).get(TABLE)
    if table is None or not table.is_file():
        return
    suffix = "".join(table.suffixes)
    copy = folder / TABLES / f"{file_name(data.name)}{suffix}"
    if copy.exists():
        is_same = copy.samefile(table) or _size_and_time(copy) == _size_and_time(table)
        if is_same:
            return
    shutil.copy2(table, FileLedger(folder).claim(copy))


def kept_table(
    folder: str | None,
    name: str,
) -> Path | None:
    """Return the copy of a dataset's table in a run folder; None if there is none."""
    if folder:
        home = Path(folder).expanduser() / TABLES
    else:
        home = None
    if home is None or not home.is_dir():
        return None
    stem = file_name(name)
    return next(
        (file for file in sorted(home.iterdir()) if file.name.startswith(f"{stem}.")),
        None,
    )


def _size_and_time(file: Path) -> tuple[int, int]:
    status = file.stat()
    return status.st_size, status.st_mtime_ns

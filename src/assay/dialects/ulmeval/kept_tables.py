"""Kept tables: the table of a dataset in the folder of a run, so that the folder alone is enough to evaluate it."""

import shutil
from pathlib import Path

from ...store.file_ledger import FileLedger
from ..file_names import file_name
from .rows import GuestData
from .tables import TABLE

TABLES = "tables"


def keep_table(data: GuestData, folder: Path) -> None:
    """Copies the table a dataset was read from into a run folder, unless it is there; rows of user code have none."""
    table: Path | None = vars(data.dataset).get(TABLE)
    if table is None or not table.is_file():
        return
    home = folder / TABLES
    copy = home / f"{file_name(data.name)}{''.join(table.suffixes)}"
    if copy.exists() and (copy.samefile(table) or _looks(copy) == _looks(table)):
        return
    shutil.copy2(table, FileLedger(folder).claim(copy))


def kept_table(folder: str | None, name: str) -> Path | None:
    """The table of a dataset in a run folder; `None` where none was kept."""
    home = Path(folder).expanduser() / TABLES if folder else None
    if home is None or not home.is_dir():
        return None
    stem = file_name(name)
    return next(
        (file for file in sorted(home.iterdir()) if file.name.startswith(f"{stem}.")),
        None,
    )


def _looks(file: Path) -> tuple[int, int]:
    found = file.stat()
    return found.st_size, found.st_mtime_ns

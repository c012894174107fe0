"""Recognise folders that are tasks of Harbor. No file in them is run."""

import os
from pathlib import Path

NAMES: dict[str, str] = {}
"""Modules that assay provides to files of Harbor. There are none, because its tasks import nothing from it."""
CONFIG = "task.toml"
INSTRUCTION = "instruction.md"
MAX_SUBFOLDERS = 200
"""Maximum number of subfolders that are searched for Harbor tasks."""


def claims(
    path: Path,
    imports: frozenset[str],
) -> str | None:
    """Return why a folder is, or contains, a task of Harbor; None if it does not."""
    if not path.is_dir():
        return None
    if is_task_folder(path):
        return f"it has a file {CONFIG}"
    with os.scandir(path) as entries:
        for number, entry in enumerate(entries):
            if number >= MAX_SUBFOLDERS:
                return None
            if entry.is_dir() and is_task_folder(Path(entry.path)):
                return f"its folder {entry.name} has a file {CONFIG}"
    return None


def is_task_folder(path: Path) -> bool:
    """Return True if a folder is a task of Harbor."""
    return (path / CONFIG).is_file()

"""Recognise folders that contain Harbor tasks. No file in them is run."""

import os
from pathlib import Path

NAMES: dict[str, str] = {}
"""Modules that assay provides to Harbor files. There are none, because Harbor tasks import nothing from Harbor."""
CONFIG = "task.toml"
INSTRUCTION = "instruction.md"
MAX_SUBFOLDERS = 200
"""Maximum number of subfolders that are searched for Harbor tasks."""


def claims(
    path: Path,
    imports: frozenset[str],
) -> str | None:
    """Return a reason if a folder is a Harbor task or contains Harbor tasks, otherwise None."""
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
    """Return True if a folder is a Harbor task."""
    return (path / CONFIG).is_file()

"""Locating data: where a shipped benchmark's rows are on this machine."""

import os
from pathlib import Path

from ..core import DataSource, Task, UsageError
from ..datasets.files import why_no_data

MINI = "mini"
FOLDERS = ("ASSAY_DATA", "LMUData")
"""Environment variables that name a folder of data files; the second is the one VLMEvalKit's users have set."""
PACKAGE = Path(__file__).parent.parent


def find_data(task: Task, data: str | None) -> str | Path:
    """`--data` first (`mini` is the shipped mini-set), then the package, then `$ASSAY_DATA` and `$LMUData`, the hub."""
    source = task.dataset
    assert isinstance(source, DataSource)
    if data == MINI and (source.mini or source.package or not Path(data).exists()):
        return _mini_set(source, task)
    if data is not None:
        return _inside(Path(data).expanduser(), source, task)
    if source.package:
        return PACKAGE / source.package
    for variable in FOLDERS:
        root = os.environ.get(variable)
        found = _first_existing(Path(root).expanduser(), source) if root else None
        if found is not None:
            return found
    if source.hub:
        config = f"@{source.config}" if source.config else ""
        return f"hub:{source.hub}{config}#{source.split}"
    raise UsageError(f"no data for task {task.name!r}", fix=f"--data PATH ({task.data_hint or 'a data file'})")


def _mini_set(source: DataSource, task: Task) -> Path:
    if not (source.mini or source.package):
        raise UsageError(
            f"task {task.name!r} has no mini-set",
            where="--data mini",
            fix=f"--data PATH ({task.data_hint or 'a file'})",
        )
    return PACKAGE / (source.mini or source.package)


def _inside(path: Path, source: DataSource, task: Task) -> Path:
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        what, fix = why_no_data(path)
        raise UsageError(what, where=str(path), fix=f"--data: {fix}")
    if path.is_file():
        return path
    found = _first_existing(path, source)
    if found is not None:
        return found
    if source.local:
        raise UsageError(
            f"none of {', '.join(source.local)} is there",
            where=str(path),
            fix=f"--data: {task.data_hint or 'a data file'}",
        )
    return path


def _first_existing(root: Path, source: DataSource) -> Path | None:
    names = [*source.local, *(Path(name).name for name in source.local)]
    return next((root / name for name in names if (root / name).exists()), None)

"""Locating data: where a shipped benchmark's rows are on this machine."""

import os
from pathlib import Path

from ..core import DataSource, Task, UsageError


def find_data(task: Task, data: str | None) -> str | Path:
    """`--data` first, then the package itself, then `$ASSAY_DATA`, then the hub."""
    source = task.dataset
    assert isinstance(source, DataSource)
    if data is not None:
        return _inside(Path(data).expanduser(), source, task)
    if source.package:
        return Path(__file__).parent.parent / source.package
    root = os.environ.get("ASSAY_DATA")
    if root:
        found = _first_existing(Path(root).expanduser(), source)
        if found is not None:
            return found
    if source.hub:
        config = f"@{source.config}" if source.config else ""
        return f"hub:{source.hub}{config}#{source.split}"
    raise UsageError(f"no data for task {task.name!r}", fix=f"--data PATH ({task.data_hint or 'a data file'})")


def _inside(path: Path, source: DataSource, task: Task) -> Path:
    if not path.exists():
        raise UsageError("no such file or folder", where=str(path), fix="check --data")
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

"""Find the data of a shipped benchmark on this machine."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...core import AssayError, DataSource, Task, UsageError
from ...datasets.files import why_no_data
from ...datasets.hub import refuse_url

MINI = "mini"
FOLDERS = ("ASSAY_DATA", "LMUData")
"""Environment variables that name folders with data files. VLMEvalKit uses the second one."""
PACKAGE = Path(__file__).parents[2]


def find_data(
    task: Task,
    data: str | None,
) -> str | Path:
    """Find the data of a task.

    The places are searched in this order: `--data` (`mini` is the shipped mini-set),
    the package, `$ASSAY_DATA`, `$LMUData`, and the hub.
    """
    source = task.dataset
    assert isinstance(source, DataSource)
    if data == MINI and (source.mini or source.package or not Path(data).exists()):
        return _mini_set(source, task)
    if data is not None:
        refuse_url(data, where="--data")
        return _inside(Path(data).expanduser(), source, task)
    if source.package:
        return PACKAGE / source.package
    for variable in FOLDERS:
        root = os.environ.get(variable)
        if root:
            path = _first_existing(Path(root).expanduser(), source)
        else:
            path = None
        if path is not None:
            return path
    if source.hub:
        if source.config:
            config = f"@{source.config}"
        else:
            config = ""
        return f"hub:{source.hub}{config}#{source.split}"
    raise UsageError(
        f"no data for task {task.name!r}",
        fix=f"--data PATH ({task.data_hint or 'a data file'})",
    )


@contextmanager
def adding_searched_folders(
    task: Task,
    data: str | None,
) -> Iterator[None]:
    """If the hub has no data, add the file name and the local folders searched before to the error."""
    try:
        yield
    except AssayError as error:
        source = task.dataset
        if (
            isinstance(source, DataSource)
            and source.hub
            and source.local
            and data is None
        ):
            looked = [
                line
                for variable in FOLDERS
                if (line := _search_result(variable, source))
            ]
            if looked:
                error.fix = "; ".join(
                    [*looked, "or pass --data PATH with a local copy"]
                )
            else:
                error.fix = error.fix
        raise


def _search_result(variable: str, source: DataSource) -> str:
    """Return the reason why the folder in an environment variable has no data; empty if the variable is not set."""
    root = os.environ.get(variable)
    if not root:
        return ""
    if not Path(root).expanduser().is_dir():
        return f"${variable} is {root}, which is not a folder; it is to hold {source.local[0]}"
    return f"${variable} is {root}, which holds none of {', '.join(source.local)}; put it there"


def _mini_set(source: DataSource, task: Task) -> Path:
    """Return the path of the shipped mini-set."""
    if not (source.mini or source.package):
        raise UsageError(
            f"task {task.name!r} has no mini-set",
            where="--data mini",
            fix=f"--data PATH ({task.data_hint or 'a file'})",
        )
    return PACKAGE / (source.mini or source.package)


def _inside(
    path: Path,
    source: DataSource,
    task: Task,
) -> Path:
    """Return the data file that `--data` names. If it names a folder, return the task's file in it."""
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        problem, fix = why_no_data(path)
        raise UsageError(
            problem,
            where=str(path),
            fix=f"--data: {fix}",
        )
    if path.is_file():
        return path
    file = _first_existing(path, source)
    if file is not None:
        return file
    if source.local:
        raise UsageError(
            f"none of {', '.join(source.local)} exists",
            where=str(path),
            fix=f"--data: {task.data_hint or 'a data file'}",
        )
    return path


def _first_existing(root: Path, source: DataSource) -> Path | None:
    """Return the first of a source's files that a folder contains; None if it contains none."""
    names = [*source.local, *(Path(name).name for name in source.local)]
    return next((root / name for name in names if (root / name).exists()), None)

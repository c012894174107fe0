"""Resolving tasks: from what a user typed to `Task`s.

A reference is a shipped name (`gsm8k`, `gsm8k|5` for five shots, `mmlu_pro@cot` for a protocol), a data file, a folder
of shards, a YAML task, or a Python file. Other kinds of files are offered to the recognisers that other rooms register.
"""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ... import registry
from ...code.userfiles import (
    is_reference,
    keyword_fix,
    load_attribute,
    load_file,
    split_reference,
)
from ...core import (
    AssayError,
    ComponentError,
    Suite,
    Task,
    UnknownName,
    UsageError,
    blamed,
    shorten,
)
from ...datasets import is_data_path
from ...datasets.files import why_no_data
from ...datasets.hub import is_hub_name
from ..options import PartlyRead, RunOptions
from .conventions import from_conventions
from .overrides import with_overrides, with_shots
from .subsets import find_subset
from .task_yaml import read_task_file


def resolve_tasks(reference: Any, run: RunOptions) -> list[Task]:
    """The tasks a reference stands for, with the run's own template and scorers put in."""
    try:
        found = _find(reference, run)
    except PartlyRead as error:
        raise PartlyRead(
            error.faults, [with_overrides(task, run) for task in error.made]
        ) from error
    return [with_overrides(task, run) for task in found]


def _find(reference: Any, run: RunOptions) -> list[Task]:
    if isinstance(reference, (Task, Suite)) or not isinstance(reference, str):
        return _expand(reference, "a task", run)
    name, shots = _split_shots(reference)
    task_name = registry.tasks.resolve(name)
    if task_name is not None and not _may_mean_another(reference, run):
        return [
            with_shots(task, shots)
            for task in _expand(registry.tasks.get(task_name), task_name, run)
        ]
    for recognise in registry.recognisers():
        tasks = recognise(name, run)
        if tasks is not None:
            return list(tasks)
    if task_name is not None:
        return [
            with_shots(task, shots)
            for task in _expand(registry.tasks.get(task_name), task_name, run)
        ]
    if is_reference(name):
        return [with_shots(task, shots) for task in _from_python(name, run)]
    path = Path(name).expanduser()
    if path.suffix in (".yaml", ".yml") and path.is_file():
        return [with_shots(read_task_file(path), shots)]
    if is_data_path(path):
        by_columns = Task(
            name=_stem(path), dataset=path, description=f"by the columns of {path.name}"
        )
        return [with_shots(by_columns, shots)]
    if is_hub_name(name):
        last = re.split("[@?#]", name)[0].rpartition("/")[2]
        return [
            with_shots(
                Task(name=last, dataset=name, description=f"by the columns of {name}"),
                shots,
            )
        ]
    if path.suffix or "/" in name or path.exists() or path.is_symlink():
        what, fix = why_no_data(path)
        raise UsageError(what, where=name, fix=fix)
    part = find_subset(name)
    if part is not None:
        return [with_shots(part, shots)]
    raise UnknownName("task", name, registry.tasks.names())


def _may_mean_another(reference: str, run: RunOptions) -> bool:
    """Whether a shipped name may be that of a guest's task: a dialect was asked for, or a folder stands beside it."""
    others = (
        task.partition("@")[0]
        for task in run.tasks
        if isinstance(task, str) and task != reference
    )
    return run.dialect is not None or any(
        Path(other).expanduser().is_dir() for other in others
    )


def _split_shots(reference: str) -> tuple[str, int | None]:
    name, bar, number = reference.rpartition("|")
    if bar and number.isdigit():
        return name, int(number)
    return reference, None


def _stem(path: Path) -> str:
    return path.name.split(".")[0] or path.resolve().name


def _expand(thing: Any, where: str, run: RunOptions) -> list[Task]:
    """Tasks from a task, a suite, or a function that makes one."""
    if isinstance(thing, Task):
        return [thing]
    if isinstance(thing, Suite):
        return [task for part in thing.tasks for task in _find(part, run)]
    if callable(thing) and not inspect.isclass(thing):
        return _expand(_made(thing, where), where, run)
    if isinstance(thing, (list, tuple)):
        return [task for part in thing for task in _expand(part, where, run)]
    raise UsageError(f"expected a Task, got {shorten(thing)}", where=where)


def _made(function: Callable[[], Any], where: str) -> Any:
    """What a function of tasks returns; anything it raises is said of the file it stands in."""
    try:
        return function()
    except AssayError:
        raise
    except (Exception, SystemExit) as error:
        described = blamed(ComponentError, error, where)
        fix = (
            keyword_fix(error)
            or "a function that makes a task takes no arguments and returns a Task"
        )
        raise UsageError(described.what, where=where, fix=fix) from error


def _from_python(reference: str, run: RunOptions) -> list[Task]:
    path, attribute = split_reference(reference)
    if attribute is not None:
        return _expand(load_attribute(reference), reference, run)
    module = load_file(path)
    tasks = [
        value for value in vars(module).values() if isinstance(value, (Task, Suite))
    ]
    marked = [
        value
        for value in vars(module).values()
        if getattr(value, "is_assay_task", False)
    ]
    if tasks or marked:
        return [
            task for thing in (*tasks, *marked) for task in _expand(thing, path, run)
        ]
    return [from_conventions(module, Path(path))]

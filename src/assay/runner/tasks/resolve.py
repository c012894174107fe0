"""Convert task references from users to `Task` objects.

A task reference is a shipped name (`gsm8k`, `gsm8k|5` for five shots, `mmlu_pro@cot`
for a protocol), a data file, a folder of shards, a YAML task, or a Python file. Other
files are passed to the recognisers that other packages register.

A subset of a shipped benchmark is a separate task, such as `mmlu_anatomy`,
`bbh_navigate` or `mmlu_pro_law`. It has the samples with that value in one of their
tags. The subset is part of the task's name and protocol id, so that its score is never
mistaken for that of the whole benchmark.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from glob import escape
from pathlib import Path
from typing import TypeVar

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
    Sample,
    Suite,
    Task,
    UnknownName,
    UsageError,
    blamed,
    nearest,
    shorten,
)
from ...datasets import Samples, is_data_path
from ...datasets.files import why_no_data
from ...datasets.hub import is_hub_name, refuse_url
from ...datasets.samples import folded_value
from ..option_fields import PartlyRead
from ..options import RunOptions
from .conventions import from_conventions
from .overrides import with_overrides, with_shots
from .task_yaml import read_task_file

T = TypeVar("T")

OTHER_NAMES: Mapping[str, str] = {
    "bbh_cot_fewshot": "bbh",
    "bbh_zeroshot": "bbh_direct",
}
"""Shipped tasks with subsets, by the names that lm-eval uses for them."""
MOST_LISTED = 8


def find_subset(name: str) -> Task | None:
    """Return the task for a subset of a shipped task, such as `mmlu_anatomy`; None if the name means no subset.

    If several shipped names fit the beginning, the longest name of a task with tags is
    used.
    """
    folded = folded_value(name)
    for alias, task_name in OTHER_NAMES.items():
        prefix = f"{alias}_"
        if folded.startswith(prefix):
            folded = f"{task_name}_{folded.removeprefix(prefix)}"

    heads = {}
    for task_name in registry.tasks.names():
        head = folded_value(task_name)
        if folded.startswith(f"{head}_"):
            heads[head] = task_name
    for head in sorted(heads, key=len, reverse=True):
        task = registry.tasks.get(heads[head])
        if isinstance(task, Task) and task.tags and task.driver is None:
            return _subset_of(task, folded.removeprefix(f"{head}_"))
    return None


def _subset_of(
    task: Task,
    subset: str,
) -> Task:
    """Return the task for one subset: a copy with the subset in its name and protocol id."""
    head, sign, tail = task.protocol.partition("@")
    description = (
        f"{subset.replace('_', ' ')}, a part of {task.name}: {task.description}"
    )
    protocol = f"{head}_{subset}{sign}{tail}"
    return task.but(
        name=f"{task.name}_{subset}",
        subset=subset,
        protocol=protocol,
        description=description,
    )


def part_of(
    samples: Samples,
    task: Task,
) -> Samples:
    """Return the samples of the task's subset; all samples if the task has no subset.

    If no sample belongs to the subset, raise an error with the nearest name.
    """
    if not task.subset:
        return samples
    samples.subset = folded_value(task.subset)
    if any(isinstance(sample, Sample) for sample in samples):
        return samples
    samples.subset = ""
    values = set()
    for s in samples:
        if isinstance(s, Sample):
            for value in s.tags.values():
                values.add(folded_value(str(value)))
    whole = task.name.removesuffix(f"_{task.subset}")
    close = nearest(task.subset, values)
    if close:
        fix = f"did you mean {whole}_{close}?"
    else:
        listed = ", ".join(sorted(values)[:MOST_LISTED])
        fix = f"its data has {listed}"
        if len(values) > MOST_LISTED:
            fix += ", …"
    raise UsageError(f"task {whole!r} has no subset {task.subset!r}", fix=fix)


def resolve_tasks(
    reference: object,
    run: RunOptions,
) -> list[Task]:
    """Return the tasks that a task reference names, such as `mmlu` or `tasks.py:name`.

    The template and the scorers of the run's options replace those of the tasks.
    """
    try:
        tasks = _find(reference, run)
    except PartlyRead as error:
        raise PartlyRead(
            error.faults, [with_overrides(task, run) for task in error.made]
        ) from error
    _refuse_arguments(tasks, run)
    return [with_overrides(task, run) for task in tasks]


def _refuse_arguments(
    tasks: Sequence[Task],
    run: RunOptions,
) -> None:
    """Raise if the run has task arguments (`-T`) but one of its tasks accepts none."""
    if not run.task_args:
        return
    for task in tasks:
        if not getattr(task.driver, "takes_arguments", False):
            raise UsageError(
                f"-T: task {task.name!r} has no arguments",
                fix="--limit, --num_fewshot, --template, --split, … change it (`assay run --help`)",
            )


def _find(
    reference: object,
    run: RunOptions,
) -> list[Task]:
    """Return the tasks that a task reference names, before the changes by the run."""
    if isinstance(reference, (Task, Suite)) or not isinstance(reference, str):
        return _expand(reference, "a task", run)
    name, shots = _split_shots(reference)
    task_name = registry.tasks.resolve(name)
    if task_name is not None and not _may_mean_another(reference, run):
        return _registered(task_name, shots, run)
    with_own_shots = run
    if shots is not None and run.num_fewshot is None:
        with_own_shots = run.but(num_fewshot=shots)
    for recognise in registry.recognisers():
        tasks = recognise(name, with_own_shots)
        if tasks is not None:
            return list(tasks)
    if task_name is not None:
        return _registered(task_name, shots, run)
    if is_reference(name):
        return [with_shots(task, shots) for task in _from_python(name, run)]
    refuse_url(name)
    task = _from_file(name)
    if task is not None:
        return [with_shots(task, shots)]
    path = Path(name).expanduser()
    if path.exists() or path.is_symlink():
        problem, fix = why_no_data(path)
        raise UsageError(problem, where=name, fix=fix)
    part = find_subset(name)
    if part is not None:
        return [with_shots(part, shots)]
    _refuse_name_of_another_tool(name)
    advice = _find_slip(name)
    if advice:
        raise UsageError(f"unknown task {name!r}", fix=advice)
    if path.suffix or "/" in name:
        problem, fix = why_no_data(path)
        raise UsageError(problem, where=name, fix=fix)
    raise UnknownName("task", name, registry.tasks.names())


def _find_slip(name: str) -> str:
    """Return the fix for a file named without its suffix, or for a model; empty if the name is neither."""
    path = Path(name).expanduser()
    if not path.suffix:
        files = sorted(path.parent.glob(f"{escape(path.name)}.*"))
        if files:
            return f"did you mean {files[0]}?"
    model = name.removeprefix("model=")
    if model != name or model.partition("/")[0] in registry.models:
        return f"--model {model} names a model"
    return ""


def _registered(
    task_name: str,
    shots: int | None,
    run: RunOptions,
) -> list[Task]:
    """Return the tasks of a registered name."""
    tasks = _expand(registry.tasks.get(task_name), task_name, run)
    return [with_shots(task, shots) for task in tasks]


def _from_file(name: str) -> Task | None:
    """Return the task of a YAML file, a data file or a hub dataset; None if the task reference is none of these."""
    path = Path(name).expanduser()
    if path.suffix in (".yaml", ".yml") and path.is_file():
        _refuse_name_of_another_tool(name)
        return read_task_file(path)
    if is_data_path(path):
        description = f"by the columns of {path.name}"
        return Task(
            name=_stem(path),
            dataset=path,
            description=description,
        )
    if is_hub_name(name):
        last = re.split("[@?#]", name)[0].rpartition("/")[2]
        description = f"by the columns of {name}"
        return Task(
            name=last,
            dataset=name,
            description=description,
        )
    return None


def _refuse_name_of_another_tool(name: str) -> None:
    """Raise an error with advice if a name or a file belongs to another tool."""
    for signpost in registry.signposts():
        answer = signpost(name)
        if answer is not None:
            raise answer


def _may_mean_another(
    reference: str,
    run: RunOptions,
) -> bool:
    """Return True if a shipped name may stand for a toolkit's task with the same name.

    That is possible with `--dialect`, or if the run's tasks include a folder.
    """
    others = (
        task.partition("@")[0]
        for task in run.tasks
        if isinstance(task, str) and task != reference
    )
    return run.dialect is not None or any(
        Path(other).expanduser().is_dir() for other in others
    )


def _split_shots(reference: str) -> tuple[str, int | None]:
    """Split `name|5` into the name and the number of shots."""
    name, bar, number = reference.rpartition("|")
    if bar and number.isdigit():
        return name, int(number)
    return reference, None


def _stem(path: Path) -> str:
    """Return the task name for a data file."""
    return path.name.split(".")[0] or path.resolve().name


def _expand(
    thing: object,
    where: str,
    run: RunOptions,
) -> list[Task]:
    """Return the tasks of an object: a task, a suite, or a function that returns one."""
    if isinstance(thing, Task):
        return [thing]
    tasks: list[Task] = []
    if isinstance(thing, Suite):
        for part in thing.tasks:
            tasks += _find(part, run)
        return tasks
    if callable(thing) and not inspect.isclass(thing):
        return _expand(_call(thing, where), where, run)
    if isinstance(thing, (list, tuple)):
        for part in thing:
            tasks += _expand(part, where, run)
        return tasks
    raise UsageError(f"expected a Task, got {shorten(thing)}", where=where)


def _call(
    function: Callable[[], T],
    where: str,
) -> T:
    """Call a user's function that returns tasks. Convert its exceptions to errors with `where`, its file."""
    try:
        return function()
    except AssayError:
        raise
    except (Exception, SystemExit) as error:
        described = blamed(ComponentError, error, where)
        usual_fix = (
            "a function that makes a task takes no arguments and returns a Task;"
            " each model needs its own --model"
        )
        fix = keyword_fix(error) or usual_fix
        raise UsageError(
            described.what,
            where=where,
            fix=fix,
        ) from error


def _from_python(
    reference: str,
    run: RunOptions,
) -> list[Task]:
    """Return the tasks of a Python file."""
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
        expanded = []
        for thing in (*tasks, *marked):
            for task in _expand(thing, path, run):
                expanded.append(task)
        return expanded
    return [from_conventions(module, Path(path))]

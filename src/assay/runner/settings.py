"""Settings: what is wrong with the options of a run and with those of a task, all of it, before anything is asked."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from ..core import DEFAULT_OPTIONS, AssayError, PlanError, Task, UsageError, shorten
from ..datasets.views import parse_limit, parse_shard
from ..summarizers.statistics import reduce_repeats
from .budget import ErrorBudget
from .components import build_scorer
from .options import RunOptions

COUNTS = {"batch_size": 1, "concurrency": 1, "replicas": 1, "epochs": 1, "num_fewshot": 0}
"""Options that are whole numbers, and the least of each."""


def gather(faults: list[AssayError], action: Callable[[], Any]) -> Any:
    """What an action returns; `None` where it has a fault, which is then listed."""
    try:
        return action()
    except PlanError as error:
        faults.extend(error.faults)
    except AssayError as error:
        faults.append(error)
    return None


def raise_all(faults: list[AssayError]) -> None:
    """Raises the faults, each said once; nothing where there are none."""
    unique = list({str(fault): fault for fault in faults}.values())
    if unique:
        raise unique[0] if len(unique) == 1 else PlanError(unique)


def run_faults(run: RunOptions) -> list[AssayError]:
    """Options that make no sense, whatever the task."""
    faults: list[AssayError] = [*_wrong_counts(run)]
    gather(faults, lambda: parse_limit(run.limit))
    if run.shard is not None:
        gather(faults, lambda: parse_shard(str(run.shard)))
    for name, value in run.generation.items():
        gather(faults, lambda name=name, value=value: DEFAULT_OPTIONS.set(**{name: value}))  # type: ignore[misc]
    if run.reducer is not None and not re.fullmatch(r"pass[@^]\d+", str(run.reducer)):
        gather(faults, lambda: _check_reducer(str(run.reducer), 1, "--reducer"))
    gather(faults, lambda: ErrorBudget(str(run.on_error)))
    return faults


def scorer_faults(run: RunOptions) -> list[AssayError]:
    """What is wrong with the scorers of a run that has no task to score."""
    faults: list[AssayError] = []
    for entry in run.scorers:
        gather(faults, lambda entry=entry: build_scorer(entry, "--scorer"))  # type: ignore[misc]
    return faults


def task_faults(task: Task, run: RunOptions) -> list[AssayError]:
    """What is wrong with how often a task asks and how it takes the answers together; the run's own faults aside."""
    faults: list[AssayError] = []
    where = f"task {task.name!r}"
    if task.epochs < 1:
        if run.epochs is None:
            faults.append(UsageError(f"epochs is {task.epochs}", where=where, fix="ask each sample at least once"))
        return faults
    n = gather([], lambda: task.options.set(**run.generation).n)
    if n is not None:
        place = where if run.reducer is None else "--reducer"
        gather(faults, lambda: _check_reducer(str(task.reducer), task.epochs * n, place))
    return faults


def _wrong_counts(run: RunOptions) -> Iterator[UsageError]:
    for name, least in COUNTS.items():
        value = getattr(run, name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int):
            yield UsageError(f"--{name} is {shorten(value)}", fix=f"a whole number, at least {least}")
        elif value < least:
            yield UsageError(f"--{name} is {value}", fix=f"at least {least}")


def _check_reducer(reducer: str, repeats: int, where: str) -> None:
    """Raises for a reducer that does not exist, and for one that wants more answers to a sample than are asked for."""
    wanted = re.fullmatch(r"pass[@^](\d+)", reducer)
    if wanted is not None and int(wanted[1]) > repeats:
        raise UsageError(
            f"{reducer} is of {wanted[1]} answers to each sample and {repeats} will be asked for",
            where=where,
            fix=f"--epochs {wanted[1]}",
        )
    try:
        reduce_repeats([0.0] * max(repeats, 1), reducer)
    except ValueError as error:
        what, _, fix = str(error).partition(": ")
        raise UsageError(what, where=where, fix=fix or None) from error

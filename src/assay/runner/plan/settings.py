"""Settings: what is wrong with the options of a run and with those of a task, all of it, before anything is asked."""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args, get_type_hints

from ...code.userfiles import is_reference, split_reference
from ...core import (
    DEFAULT_OPTIONS,
    AssayError,
    PlanError,
    Task,
    UsageError,
    shorten,
    suggest,
)
from ...datasets.views import parse_limit, parse_shard
from ...summarizers.statistics import reduce_repeats
from ..counts.budget import ErrorBudget
from ..counts.spending_limit import parse_budget
from ..counts.until import parse_until
from ..options import RunOptions
from ..scoring.scoring import Scoring
from ..tasks.components import build_scorer

LEAST = {
    "batch_size": 1,
    "concurrency": 1,
    "replicas": 1,
    "epochs": 1,
    "num_fewshot": 0,
    "gpus_per_replica": 0,
    "scorer_seconds": 0,
}
"""The least that options can be; what kind each is stands in `RunOptions`."""


def gather(faults: list[AssayError], action: Callable[[], Any]) -> Any:
    """What an action returns; `None` where it has a fault, which is then listed."""
    try:
        return action()
    except PlanError as error:
        faults.extend(error.faults)
    except AssayError as error:
        faults.append(error)
    return None


def run_faults(run: RunOptions) -> list[AssayError]:
    """Options that make no sense, whatever the task."""
    faults: list[AssayError] = [*_wrong_values(run)]
    gather(faults, lambda: parse_limit(run.limit))
    if run.shard is not None:
        gather(faults, lambda: parse_shard(str(run.shard)))
    for name, value in run.generation.items():
        gather(
            faults, lambda name=name, value=value: DEFAULT_OPTIONS.set(**{name: value})
        )  # type: ignore[misc]
    if run.reducer is not None and not re.fullmatch(r"pass[@^]\d+", str(run.reducer)):
        gather(faults, lambda: _check_reducer(str(run.reducer), 1, "--reducer"))
    gather(faults, lambda: ErrorBudget(str(run.on_error)))
    if run.until is not None:
        gather(faults, lambda: parse_until(str(run.until)))
    if run.budget is not None:
        gather(faults, lambda: parse_budget(str(run.budget)))
    seconds = run.give_up_after
    if (
        isinstance(seconds, bool)
        or not isinstance(seconds, (int, float))
        or not seconds >= 0
    ):
        faults.append(
            UsageError(
                f"--give_up_after {shorten(seconds)} is not a number of seconds",
                fix="30, or 0",
            )
        )
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
            faults.append(
                UsageError(
                    f"epochs is {task.epochs}",
                    where=where,
                    fix="ask each sample at least once",
                )
            )
        return faults
    n = gather([], lambda: task.options.set(**run.generation).n)
    if n is not None:
        place = where if run.reducer is None else "--reducer"
        gather(
            faults, lambda: _check_reducer(str(task.reducer), task.epochs * n, place)
        )
    return faults


def unused_faults(run: RunOptions, tasks: Sequence[Task]) -> list[AssayError]:
    """Settings that nothing in the run takes: whoever gave them would believe that they counted.

    Code of guests reads the settings of a run in its own way, so nothing is said where there is some.
    """
    if run.dialect is not None or any(task.driver is not None for task in tasks):
        return []
    return [*_unused_shots(run, tasks), *_missing_guests(run)]


def unused_judges(
    run: RunOptions, tasks: Sequence[Task], scorings: Sequence[Scoring]
) -> Iterator[str]:
    """Judges that nobody asks, as when one command is given to many tasks: no fault, but worth a line."""
    if has_guests(run, tasks):
        return
    roles = {role for scoring in scorings for role in scoring.roles}
    names = ", ".join(dict.fromkeys(scoring.name for scoring in scorings)) or "none"
    for role, model in run.judges.items():
        if role not in roles:
            flag = model if role == "judge" else f"{role}={model}"
            yield f"--judge {flag} was not asked: no scorer of this run takes a {role} (they are {names})"
    if run.judge_args and not run.judges:
        yield f"--judge_args {', '.join(run.judge_args)}: there is no judge to take them (--judge MODEL)"


def has_guests(run: RunOptions, tasks: Sequence[Task]) -> bool:
    """Whether code written for another system takes part: it reads the settings of a run in its own way."""
    return run.dialect is not None or any(
        task.foreign or task.driver is not None for task in tasks
    )


def _unused_shots(run: RunOptions, tasks: Sequence[Task]) -> Iterator[UsageError]:
    if run.fewshot_data is None or run.num_fewshot:
        return
    if run.num_fewshot == 0 or not any(task.fewshot.num for task in tasks):
        what = f"--fewshot_data {run.fewshot_data}: no task of this run shows shots"
        yield UsageError(what, fix="--num_fewshot N, or leave it out")


def _missing_guests(run: RunOptions) -> Iterator[UsageError]:
    for entry in run.register:
        file = split_reference(entry)[0] if is_reference(entry) else entry
        if not Path(file).expanduser().exists():
            yield UsageError(
                f"--register {entry}: no such file",
                fix="name a Python file, or a folder of them",
            )


def _wrong_values(run: RunOptions) -> Iterator[UsageError]:
    """Options whose value is of another kind than their field, is not one of its words, or is out of range."""
    for name, hint in get_type_hints(RunOptions).items():
        value = getattr(run, name)
        if value is None:
            continue
        kinds = {
            one
            for kind in (get_args(hint) or (hint,))
            for one in (get_args(kind) or (kind,))
        }
        words = sorted(one for one in kinds if isinstance(one, str))
        if isinstance(value, str) and words and value not in words and str not in kinds:
            yield UsageError(
                f"--{name} cannot be {shorten(value)}",
                fix=suggest(value, words, "one of"),
            )
        elif bool in kinds and not isinstance(value, bool):
            yield UsageError(f"--{name} is {shorten(value)}", fix="true or false")
        elif (
            str not in kinds and (int in kinds or float in kinds) and value not in words
        ):
            yield from _wrong_number(name, value, is_whole=float not in kinds)


def _wrong_number(name: str, value: Any, *, is_whole: bool) -> Iterator[UsageError]:
    least = LEAST.get(name)
    numbers = int if is_whole else (int, float)
    if (
        isinstance(value, bool)
        or not isinstance(value, numbers)
        or not math.isfinite(value)
    ):
        at_least = "" if least is None else f", at least {least}"
        yield UsageError(
            f"--{name} is {shorten(value)}",
            fix=f"a {'whole ' * is_whole}number{at_least}",
        )
    elif least is not None and value < least:
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

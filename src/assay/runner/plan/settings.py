"""Checks of the options of a run and of a task, before a request is sent. All errors are returned at once."""

import math
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
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
from ..counts.spending import parse_budget
from ..options import RunOptions
from ..scoring.scoring import Scoring
from ..tasks.components import build_scorer
from .stopping import parse_until

LEAST = {
    "batch_size": 1,
    "concurrency": 1,
    "replicas": 1,
    "epochs": 1,
    "num_fewshot": 0,
    "gpus_per_replica": 0,
    "scorer_seconds": 0,
}
"""Smallest valid value of each numeric option. An option's type is declared in `RunOptions`."""


@contextmanager
def collecting(errors: list[AssayError]) -> Iterator[None]:
    """Append an error raised in the `with` block to a list, and continue after the block.

    A `PlanError` is a list of errors: each of them is appended.

    Example:
        limit = None
        with collecting(errors):
            limit = parse_limit(text)
    """
    try:
        yield
    except PlanError as error:
        errors.extend(error.faults)
    except AssayError as error:
        errors.append(error)


def run_faults(run: RunOptions) -> list[AssayError]:
    """Return the errors in the options of a run that do not depend on the task."""
    faults: list[AssayError] = [*_wrong_values(run)]
    with collecting(faults):
        parse_limit(run.limit)
    if run.shard is not None:
        with collecting(faults):
            parse_shard(str(run.shard))
    for name, value in run.generation.items():
        with collecting(faults):
            DEFAULT_OPTIONS.set(**{name: value})
    if run.reducer is not None and not re.fullmatch(r"pass[@^]\d+", str(run.reducer)):
        with collecting(faults):
            _check_reducer(str(run.reducer), 1, "--reducer")
    with collecting(faults):
        ErrorBudget(str(run.on_error))
    if run.until is not None:
        with collecting(faults):
            parse_until(str(run.until))
    if run.budget is not None:
        with collecting(faults):
            parse_budget(str(run.budget))
    seconds = run.give_up_after
    if (
        isinstance(seconds, bool)
        or not isinstance(seconds, (int, float))
        or not seconds >= 0
    ):
        fault = UsageError(
            f"--give_up_after {shorten(seconds)} is not a number of seconds",
            fix="30, or 0",
        )
        faults.append(fault)
    return faults


def scorer_faults(run: RunOptions) -> list[AssayError]:
    """Return the errors in the scorers of a run without tasks."""
    faults: list[AssayError] = []
    for entry in run.scorers:
        with collecting(faults):
            build_scorer(entry, "--scorer")
    return faults


def task_faults(task: Task, run: RunOptions) -> list[AssayError]:
    """Return the errors in a task's epochs and reducer. `run_faults` checks the options of the run."""
    faults: list[AssayError] = []
    where = f"task {task.name!r}"
    if task.epochs < 1:
        if run.epochs is None:
            fault = UsageError(
                f"epochs is {task.epochs}",
                where=where,
                fix="ask each sample at least once",
            )
            faults.append(fault)
        return faults
    try:
        n = task.options.set(**run.generation).n
    except AssayError:
        return faults  # `run_faults` reports the generation options
    if run.reducer is None:
        setting = where
    else:
        setting = "--reducer"
    with collecting(faults):
        _check_reducer(str(task.reducer), task.epochs * n, setting)
    return faults


def unused_faults(
    run: RunOptions,
    tasks: Sequence[Task],
) -> list[AssayError]:
    """Return errors for settings that have no effect in the run, because the user would expect an effect.

    Nothing is reported if code written for another system takes part, because that code
    may read the settings.
    """
    if run.dialect is not None or any(task.driver is not None for task in tasks):
        return []
    return [*_unused_shots(run, tasks), *_missing_files(run)]


def unused_judges(
    run: RunOptions,
    tasks: Sequence[Task],
    scorings: Sequence[Scoring],
    needs: Collection[str] = (),
) -> Iterator[str]:
    """Yield a note for each judge that no scorer and no tool uses.

    One command may serve many tasks, so an unused judge is allowed.
    """
    if has_foreign_code(run, tasks):
        return
    roles = {role for scoring in scorings for role in scoring.roles}
    names = ", ".join(dict.fromkeys(scoring.name for scoring in scorings)) or "none"
    for role, model in run.judges.items():
        if role not in roles and role not in needs:
            if role == "judge":
                flag = model
            else:
                flag = f"{role}={model}"
            yield f"--judge {flag} was not asked: no scorer of this run takes a {role} (they are {names})"
    if run.judge_args and not run.judges:
        yield f"--judge_args {', '.join(run.judge_args)}: there is no judge to take them (--judge MODEL)"


def has_foreign_code(
    run: RunOptions,
    tasks: Sequence[Task],
) -> bool:
    """Return True if the run uses code written for another system. Such code reads the run's settings itself."""
    return run.dialect is not None or any(
        task.foreign or task.driver is not None for task in tasks
    )


def _unused_shots(
    run: RunOptions,
    tasks: Sequence[Task],
) -> Iterator[UsageError]:
    """Yield an error if `--fewshot_data` is given and no task shows few-shot examples."""
    if run.fewshot_data is None or run.num_fewshot:
        return
    if run.num_fewshot == 0 or not any(task.fewshot.num for task in tasks):
        yield UsageError(
            f"--fewshot_data {run.fewshot_data}: no task of this run shows shots",
            fix="--num_fewshot N, or leave it out",
        )


def _missing_files(run: RunOptions) -> Iterator[UsageError]:
    """Yield an error for each `--register` path that does not exist."""
    for entry in run.register:
        if is_reference(entry):
            file = split_reference(entry)[0]
        else:
            file = entry
        if not Path(file).expanduser().exists():
            yield UsageError(
                f"--register {entry}: no such file",
                fix="name a Python file, or a folder of them",
            )


def _wrong_values(run: RunOptions) -> Iterator[UsageError]:
    """Yield an error for each option whose value has the wrong type, is not an allowed choice, or is out of range."""
    for name, hint in get_type_hints(RunOptions).items():
        value = getattr(run, name)
        if value is None:
            continue
        kinds = _kinds_in(hint)
        words = sorted(kind for kind in kinds if isinstance(kind, str))
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


def _kinds_in(hint: object) -> set[Any]:
    """Return the types and literal values in a type hint such as `int | Literal["auto"] | None`."""
    kinds: set[Any] = set()
    for member in get_args(hint) or (hint,):
        kinds.update(get_args(member) or (member,))
    return kinds


def _wrong_number(
    name: str,
    value: object,
    *,
    is_whole: bool,
) -> Iterator[UsageError]:
    """Yield an error if the value is not a finite number of the right type, or is below the minimum."""
    least = LEAST.get(name)
    numbers = int if is_whole else (int, float)
    if (
        isinstance(value, bool)
        or not isinstance(value, numbers)
        or not math.isfinite(value)
    ):
        if least is None:
            at_least = ""
        else:
            at_least = f", at least {least}"
        yield UsageError(
            f"--{name} is {shorten(value)}",
            fix=f"a {'whole ' * is_whole}number{at_least}",
        )
    elif least is not None and value < least:
        yield UsageError(f"--{name} is {value}", fix=f"at least {least}")


def _check_reducer(
    reducer: str,
    repeats: int,
    where: str,
) -> None:
    """Raise if a reducer does not exist, or needs more answers per sample than the run requests."""
    match = re.fullmatch(r"pass[@^](\d+)", reducer)
    if match is not None and int(match[1]) > repeats:
        raise UsageError(
            f"{reducer} needs {match[1]} answers to each sample, and {repeats} will be asked for",
            where=where,
            fix=f"--epochs {match[1]}",
        )
    try:
        reduce_repeats([0.0] * max(repeats, 1), reducer)
    except ValueError as error:
        problem, _, fix = str(error).partition(": ")
        raise UsageError(
            problem,
            where=where,
            fix=fix or None,
        ) from error

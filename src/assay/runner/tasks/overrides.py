"""Overrides: what a run changes of a task, each setting in one place, so that what was asked can be compared with what
the task's author wrote."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...code.userfiles import is_reference, load_attribute
from ...core import Fewshot, GenerateOptions, Task, UsageError
from ..options import RunOptions


def with_overrides(task: Task, run: RunOptions) -> Task:
    """The task with the run's own template, scorers, repeats and tags; `origin` keeps it as it was written."""
    changes: dict[str, Any] = {}
    if run.template is not None:
        changes["template"] = _template(run.template)
    if run.scorers:
        changes["scorers"] = run.scorers
        changes["summarizers"] = ()
    if changes:
        changes[
            "measures"
        ] = ()  # whoever says how to ask, or how to score, has chosen the way
    if run.epochs is not None:
        changes["epochs"] = run.epochs
    if run.reducer is not None:
        changes["reducer"] = run.reducer
    if run.tags:
        changes["tags"] = tuple(dict.fromkeys((*task.tags, *run.tags)))
    return changed(task, **changes) if changes else task


def without_scores(task: Task, run: RunOptions) -> Task:
    """The task with nothing but its answers counted under `--predict_only`; else as it is."""
    if not run.predict_only:
        return task
    if task.driver is not None:
        what = f"task {task.name!r} asks and scores in one go, so --predict_only cannot part them"
        raise UsageError(what, fix="leave --predict_only out")
    return changed(task, scorers=("answered",), summarizers=(), reducer="mean")


def with_shots(task: Task, shots: int | None) -> Task:
    """The task with a number of shots that the reference gave: `gsm8k|3`."""
    return (
        task
        if shots is None
        else changed(task, fewshot=replace(task.fewshot, num=shots))
    )


def changed(task: Task, **changes: Any) -> Task:
    """A copy with some fields changed by a run; `origin` stays what the author wrote."""
    return task.but(**changes, origin=original(task))


def original(task: Task) -> Task:
    """The task as its author wrote it."""
    return task if task.origin is None else task.origin


def system_of(task: Task, run: RunOptions) -> str | None:
    """The system text of the prompts; an empty one takes away the task's own."""
    return task.system if run.system is None else run.system or None


def columns_of(task: Task, run: RunOptions) -> Mapping[str, str]:
    """Which column plays which part, as far as somebody said."""
    return {**task.columns, **run.columns}


def generation_of(task: Task, run: RunOptions) -> GenerateOptions:
    """How answers are sampled."""
    options = task.options.set(**run.generation)
    return (
        options.set(seed=run.seed)
        if run.seed is not None and options.seed is None
        else options
    )


def fewshot_of(task: Task, run: RunOptions) -> Fewshot:
    """How many solved examples are shown, and how they are drawn."""
    fewshot = task.fewshot
    return replace(
        fewshot,
        num=fewshot.num if run.num_fewshot is None else run.num_fewshot,
        seed=fewshot.seed if run.seed is None else run.seed,
        multiturn=fewshot.multiturn
        if run.fewshot_as_multiturn is None
        else run.fewshot_as_multiturn,
    )


def _template(text: str) -> str | Callable[..., Any]:
    if is_reference(text):
        template: Callable[..., Any] = load_attribute(text)
        return template
    path = Path(text).expanduser()
    if path.suffix in (".jinja", ".j2", ".txt"):
        if not path.is_file():
            raise UsageError("no such template file", where=text)
        return path.read_text(encoding="utf-8")
    return text

"""Overrides: the settings of a task that a run changes.

Each setting is changed in one function, so that the run can be compared with the task
as its author wrote it.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...code.userfiles import is_reference, load_attribute
from ...core import Fewshot, GenerateOptions, Task, UsageError
from ..options import RunOptions


def with_overrides(task: Task, run: RunOptions) -> Task:
    """Return the task with the run's template, scorers, repeats and tags. `origin` keeps the author's version."""
    changes: dict[str, Any] = {}
    if run.template is not None:
        changes["template"] = _template(run.template)
    if run.scorers:
        changes["scorers"] = run.scorers
        changes["summarizers"] = ()
    if changes:
        # A user who says how to ask or score has chosen the measure.
        changes["measures"] = ()
    if run.epochs is not None:
        changes["epochs"] = run.epochs
    if run.reducer is not None:
        changes["reducer"] = run.reducer
    if run.tags:
        tags = (*task.tags, *run.tags)
        different = dict.fromkeys(tags)
        changes["tags"] = tuple(different)
    if changes:
        return changed(task, **changes)
    return task


def without_scores(task: Task, run: RunOptions) -> Task:
    """With `--predict_only`, replace the task's scorers with one that only counts answers."""
    if not run.predict_only:
        return task
    if task.driver is not None:
        raise UsageError(
            f"the driver of task {task.name!r} asks and scores, so --predict_only cannot skip the scoring",
            fix="leave --predict_only out",
        )
    return changed(
        task,
        scorers=("answered",),
        summarizers=(),
        reducer="mean",
    )


def with_shots(
    task: Task,
    shots: int | None,
) -> Task:
    """Return the task with the number of shots in its task reference, such as 3 in `gsm8k|3`."""
    if shots is None:
        return task
    fewshot = replace(task.fewshot, num=shots)
    return changed(task, fewshot=fewshot)


def changed(task: Task, **changes: object) -> Task:
    """Return a copy with fields changed by the run. Its `origin` is the task as its author wrote it."""
    origin = original(task)
    return task.but(**changes, origin=origin)


def original(task: Task) -> Task:
    """Return the task as its author wrote it."""
    if task.origin is None:
        return task
    return task.origin


def system_of(task: Task, run: RunOptions) -> str | None:
    """Return the system text of the prompts: the run's if it sets one, otherwise the task's.

    If the run sets an empty text, there is none.
    """
    if run.system is None:
        return task.system
    return run.system or None


def columns_of(task: Task, run: RunOptions) -> Mapping[str, str]:
    """Return the columns set by the task and the run, by role such as `target`."""
    return {**task.columns, **run.columns}


def generation_of(task: Task, run: RunOptions) -> GenerateOptions:
    """Return the generation options of the task, overridden by those of the run."""
    options = task.options.set(**run.generation)
    has_no_seed = options.seed is None
    if run.seed is not None and has_no_seed:
        return options.set(seed=run.seed)
    return options


def fewshot_of(task: Task, run: RunOptions) -> Fewshot:
    """Return the few-shot settings of the task, changed by those of the run."""
    changes: dict[str, Any] = {}
    if run.num_fewshot is not None:
        changes["num"] = run.num_fewshot
    if run.seed is not None:
        changes["seed"] = run.seed
    if run.fewshot_as_multiturn is not None:
        changes["multiturn"] = run.fewshot_as_multiturn
    return replace(task.fewshot, **changes)


def _template(text: str) -> str | Callable[..., Any]:
    """Build a template from text, a file or `file.py:function`."""
    if is_reference(text):
        template: Callable[..., Any] = load_attribute(text)
        return template
    path = Path(text).expanduser()
    if path.suffix in (".jinja", ".j2", ".txt"):
        if not path.is_file():
            raise UsageError("no such template file", where=text, fix="check the path")
        return path.read_text(encoding="utf-8")
    return text

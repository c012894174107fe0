"""Check the names in a task, and test a user's task before the model is called.

The functions, metrics and filters of a user's own task are called with a made-up
answer. The correct answer must be one of the choices.
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from ...core import UnknownName, UsageError, nearest, shorten
from ..harness.config_checks import KnownNames
from ..harness.loaded import LibraryGroup, LibraryTask
from ..harness.task_yaml import FUNCTION, merged_yaml
from . import lm_eval_package as package
from .claims import LIBRARY

ANSWER = "1"
"""The made-up answer with which metrics and filters are tested."""
ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "process_docs": ("dataset",),
    "process_results": ("doc", "results"),
    "doc_to_text": ("doc",),
    "doc_to_target": ("doc",),
    "doc_to_choice": ("doc",),
    "doc_to_image": ("doc",),
    "doc_to_audio": ("doc",),
}
"""Keys whose value is a function, each with the arguments that lm-eval passes to it."""
COLUMN_KEYS = ("doc_to_text", "doc_to_target", "doc_to_choice")


def known_names() -> KnownNames:
    """Return the valid configuration keys, filters, metrics and aggregations of the installed lm-eval."""
    registry = package.module("api.registry")
    package.module("filters")
    package.module("api.metrics")
    config = package.module("config.task")
    return KnownNames(
        "lm-eval",
        keys=[field.name for field in fields(config.TaskConfig)],
        fewshot_keys=[field.name for field in fields(config.FewshotConfig)],
        filters=registry.filter_registry,
        metrics=registry.metric_registry,
        aggregations=registry.aggregation_registry,
    )


def check_names(
    task: LibraryTask,
    name: str,
) -> None:
    """Raise for a metric, aggregation or filter that would fail only after the model was called."""
    where = f"task {name!r}"
    functions = getattr(task, "_metric_fn_list", {})
    if task.config.process_results is None and None in functions.values():
        unknown = known_names().fault(task.dump_config(), where)
        if unknown is not None:
            raise unknown
    metrics = getattr(task.config, "metric_list", None)
    unknown = known_names().unknown_aggregation(metrics, where)
    if unknown is not None:
        raise unknown
    _check_filters(task, where)


def _check_filters(
    task: LibraryTask,
    where: str,
) -> None:
    """Raise for a filter whose arguments are wrong."""
    for pipeline in getattr(task, "_filters", ()):
        for make_filter in pipeline.filters:
            try:
                make_filter()
            except Exception as error:
                raise UsageError(
                    f"a filter cannot be made: {shorten(str(error), 120)}",
                    where=f"{where}, key `filter_list`, pipeline {pipeline.name!r}",
                    fix="check its arguments",
                ) from error


def check_own_task(
    task: LibraryTask,
    path: str,
) -> None:
    """Check a user's own task for errors that lm-eval would report only after calling the model, or not at all."""
    if not hasattr(task, "_config") or not hasattr(task, "_metric_fn_list"):
        return
    config = merged_yaml(path, LIBRARY)
    _check_functions(task, config, path)
    row = next(iter(task.eval_docs), None)
    if isinstance(row, Mapping):
        _check_columns(config, list(row), path)
    if row is None or task.OUTPUT_TYPE != "generate_until":
        return
    _try_filters(task, row, path)
    if task.config.process_results is None:
        _try_metrics(task, row, path)


def _check_functions(
    task: LibraryTask,
    config: Mapping[str, Any],
    path: str,
) -> None:
    """Raise for a function after `!function` that does not accept the arguments that lm-eval passes."""
    for key, arguments in ARGUMENTS.items():
        text = config.get(key)
        if not isinstance(text, str) or not text.startswith(FUNCTION):
            continue
        function = getattr(task.config, key, None)
        name = text.removeprefix(FUNCTION)
        where = f"{path}, key `{key}`"
        if function is not None and not callable(function):
            raise UsageError(
                f"{name} is {shorten(function, 40)} and no function",
                where=where,
                fix=f"name a function of ({', '.join(arguments)})",
            )
        try:
            inspect.signature(function).bind_partial(*arguments)  # type: ignore[arg-type]
        except ValueError:
            continue  # a function without a signature
        except TypeError as error:
            raise UsageError(
                f"{name} does not take ({', '.join(arguments)})",
                where=where,
                fix="give it these parameters",
            ) from error


def _check_columns(
    config: Mapping[str, Any],
    columns: Sequence[str],
    path: str,
) -> None:
    """Raise for a value that looks like a misspelt column name. lm-eval would treat it as a constant."""
    for key in COLUMN_KEYS:
        word = config.get(key)
        if not isinstance(word, str) or not word.isidentifier() or word in columns:
            continue
        close = nearest(word, columns)
        if close is not None:
            raise UsageError(
                f"the rows have no column {word!r}",
                where=f"{path}, key `{key}`",
                fix=f"did you mean {close!r}?",
            )


def _try_filters(
    task: LibraryTask,
    row: object,
    path: str,
) -> None:
    repeats = task.config.repeats or 1
    for pipeline in task._filters:
        answers: Any = [[ANSWER] * repeats]
        try:
            for make_filter in pipeline.filters:
                answers = list(make_filter().apply(answers, [row]))
        except Exception as error:
            text = " ".join(str(error).split())
            raise UsageError(
                f"the filter {pipeline.name!r} fails for the answer {ANSWER!r}: "
                f"{type(error).__name__}: {shorten(text, 120)}",
                where=f"{path}, key `filter_list`",
                fix="check its steps and `repeats`",
            ) from error


def _try_metrics(
    task: LibraryTask,
    row: object,
    path: str,
) -> None:
    """Raise if the task's metrics cannot be computed for a made-up answer."""
    try:
        values = task.process_results(row, [ANSWER])
        for metric, value in values.items():
            task.aggregation()[metric]([value])
    except Exception as error:
        text = " ".join(str(error).split())
        raise UsageError(
            f"the metrics cannot be computed: {type(error).__name__}: {shorten(text, 120)}",
            where=f"{path}, key `metric_list`",
            fix="check their names for this output type, and their arguments",
        ) from error


def check_own_group(
    group: LibraryGroup,
    tasks: Mapping[str, LibraryTask],
    path: str,
) -> None:
    """Raise for a metric in a group's `aggregate_metric_list` that none of its tasks computes."""
    metrics: set[str] = set()
    for task in tasks.values():
        metrics.update(map(str, task.aggregation()))
    for entry in group.aggregate_metric_list or ():
        if metrics and entry.metric not in metrics:
            raise UnknownName(
                "metric",
                str(entry.metric),
                metrics,
                where=f"{path}, key `aggregate_metric_list`",
                hint=f"its tasks compute {', '.join(sorted(metrics))}",
            )


def check_gold(
    task: LibraryTask,
    row: object,
    where: str,
) -> None:
    """Raise if the correct answer of a row is not among its choices. lm-eval would count such a row as wrong."""
    counts_choices = task.OUTPUT_TYPE == "multiple_choice" and not task.multiple_input
    if not counts_choices or task.config.process_results is not None:
        return
    choices = task.doc_to_choice(row)
    if not isinstance(choices, (list, tuple)) or not choices:
        raise UsageError(
            f"gives {shorten(choices, 60)}, which is not a list of choices",
            where=f"{where}, key `doc_to_choice`",
            fix="a list of texts, or a column with one",
        )
    target = task.doc_to_target(row)
    for gold in target if isinstance(target, list) else [target]:
        if isinstance(gold, int) and -len(choices) <= gold < len(choices):
            continue
        if isinstance(gold, str) and gold in choices:
            continue
        raise UsageError(
            f"the right answer {shorten(gold, 60)} is none of the {len(choices)} choices",
            where=f"{where}, key `doc_to_target`",
            fix="an index from 0, or the text of a choice",
        )

"""The names that lm-eval knows, and a check of a loaded task's metrics, aggregations and filters."""

from dataclasses import fields
from typing import Any

from ...core import UsageError
from ...core.errors import shorten
from ..harness.config_names import KnownNames
from . import lm_eval_package as package


def known_names() -> KnownNames:
    """Return the names that the installed package knows."""
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


def check_names(task: Any, name: str) -> None:
    """Raise for a metric, aggregation or filter that would fail only after the model was asked."""
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


def _check_filters(task: object, where: str) -> None:
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

"""What is wrong with the names in a configuration of lm-eval: keys, filters, metrics and aggregations."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from ...core import UnknownName, UsageError
from ...core.errors import shorten, suggest
from ..harness.task_yaml import FUNCTION
from . import lm_eval_package as package

KEYS_OF_FILES = frozenset(
    {
        "class",
        "group",
        "group_alias",
        "include",
        "tag",
        "task_list",
        "aggregate_metric_list",
    }
)
"""Keys of task files that are read before a configuration is made of the others."""


def check_names(task: Any, name: str) -> None:
    """Raise for a metric, aggregation or filter that would fail only after the model was asked."""
    where = f"task {name!r}"
    functions = getattr(task, "_metric_fn_list", {})
    if task.config.process_results is None and None in functions.values():
        unknown = unknown_names(task.dump_config(), where)
        if unknown is not None:
            raise unknown
    unknown = _unknown_aggregation(getattr(task.config, "metric_list", None), where)
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


def unknown_names(config: Mapping[str, Any], where: str) -> UsageError | None:
    """Return what is wrong with the keys, filters and metrics of a configuration, or None."""
    registry = package.module("api.registry")
    package.module("filters")
    package.module("api.metrics")
    unknown = _unknown_key(config, where) or _unknown_filter(config, where, registry)
    if unknown is not None or config.get("process_results"):
        return unknown
    for metric in _mappings(config.get("metric_list")):
        name = metric.get("metric")
        if isinstance(name, str) and not _is_known(name, registry.metric_registry):
            key = f"{where}, key `metric_list`"
            hint = "it is neither a metric of lm-eval nor one that the `evaluate` library has here"
            return UnknownName(
                "metric",
                name,
                registry.metric_registry,
                where=key,
                hint=hint,
            )
    return None


def _unknown_key(config: Mapping[str, Any], where: str) -> UsageError | None:
    """Return what is wrong with the keys of a task, or None. Groups have keys of their own."""
    if "group" in config or "class" in config:
        return None
    names = {field.name for field in fields(package.module("config.task").TaskConfig)}
    for key in config:
        if key not in names | KEYS_OF_FILES:
            fix = suggest(str(key), sorted(names), "known keys:")
            return UsageError(f"unknown key {key!r}", where=where, fix=fix)
    fewshot = config.get("fewshot_config")
    names = {
        field.name for field in fields(package.module("config.task").FewshotConfig)
    }
    for key in fewshot if isinstance(fewshot, Mapping) else ():
        if key not in names:
            fix = suggest(str(key), sorted(names), "known keys:")
            key_path = f"{where}, key `fewshot_config`"
            return UsageError(f"unknown key {key!r}", where=key_path, fix=fix)
    return None


def _unknown_filter(
    config: Mapping[str, Any],
    where: str,
    registry: Any,
) -> UsageError | None:
    for pipeline in _mappings(config.get("filter_list")):
        for step in _mappings(pipeline.get("filter")):
            name = step.get("function")
            if isinstance(name, str) and not _is_known(name, registry.filter_registry):
                return UnknownName(
                    "filter",
                    name,
                    registry.filter_registry,
                    where=f"{where}, key `filter_list`",
                    hint="a filter of lm-eval",
                )
    return None


def _unknown_aggregation(metric_list: object, where: str) -> UsageError | None:
    """Return what is wrong with an aggregation. lm-eval itself would take the mean instead."""
    registry = package.module("api.registry")
    for metric in _mappings(metric_list):
        name = metric.get("aggregation")
        if isinstance(name, str) and not _is_known(name, registry.aggregation_registry):
            return UnknownName(
                "aggregation",
                name,
                registry.aggregation_registry,
                where=f"{where}, key `metric_list`",
                hint="an aggregation of lm-eval",
            )
    return None


def _is_known(name: str, registered: Any) -> bool:
    return name.startswith(FUNCTION) or name in registered


def _mappings(value: object) -> Iterator[Mapping[str, Any]]:
    entries = value if isinstance(value, list) else []
    return (entry for entry in entries if isinstance(entry, Mapping))

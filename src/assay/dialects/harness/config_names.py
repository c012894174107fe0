"""Find names in a task file that its library does not know: keys, filters, metrics and aggregations."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...core import UnknownName, UsageError
from ...core.errors import suggest
from .task_yaml import FUNCTION

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
"""Keys of task files that are not part of a task's configuration."""


@dataclass(frozen=True, slots=True)
class KnownNames:
    """The keys, filters, metrics and aggregations that a library knows."""

    title: str
    """Name of the library in messages."""
    keys: Collection[str]
    """Keys of a task."""
    fewshot_keys: Collection[str]
    filters: Collection[str]
    metrics: Collection[str]
    aggregations: Collection[str]

    def fault(
        self,
        config: Mapping[str, Any],
        where: str,
    ) -> UsageError | None:
        """Return an error about the first unknown key, filter or metric of a configuration, or None."""
        error = self._unknown_key(config, where) or self._unknown_filter(config, where)
        if error is not None or config.get("process_results"):
            return error
        for metric in _mappings(config.get("metric_list")):
            name = metric.get("metric")
            if isinstance(name, str) and not _is_known(name, self.metrics):
                hint = f"it is neither a metric of {self.title} nor one that the `evaluate` library has here"
                return UnknownName(
                    "metric",
                    name,
                    self.metrics,
                    where=f"{where}, key `metric_list`",
                    hint=hint,
                )
        return None

    def unknown_aggregation(self, metric_list: object, where: str) -> UsageError | None:
        """Return an error about the first unknown aggregation, for which the library would silently use the mean."""
        for metric in _mappings(metric_list):
            name = metric.get("aggregation")
            if isinstance(name, str) and not _is_known(name, self.aggregations):
                return UnknownName(
                    "aggregation",
                    name,
                    self.aggregations,
                    where=f"{where}, key `metric_list`",
                    hint=f"an aggregation of {self.title}",
                )
        return None

    def _unknown_key(
        self,
        config: Mapping[str, Any],
        where: str,
    ) -> UsageError | None:
        """Return an error about the first unknown key of a task, or None. Groups have other keys."""
        if "group" in config or "class" in config:
            return None
        task_keys = set(self.keys)
        for key in config:
            if key not in task_keys | KEYS_OF_FILES:
                fix = suggest(str(key), sorted(task_keys), "known keys:")
                return UsageError(
                    f"unknown key {key!r}",
                    where=where,
                    fix=fix,
                )
        fewshot = config.get("fewshot_config")
        for key in fewshot if isinstance(fewshot, Mapping) else ():
            if self.fewshot_keys and key not in self.fewshot_keys:
                fix = suggest(str(key), sorted(self.fewshot_keys), "known keys:")
                key_path = f"{where}, key `fewshot_config`"
                return UsageError(
                    f"unknown key {key!r}",
                    where=key_path,
                    fix=fix,
                )
        return None

    def _unknown_filter(
        self,
        config: Mapping[str, Any],
        where: str,
    ) -> UsageError | None:
        for pipeline in _mappings(config.get("filter_list")):
            for step in _mappings(pipeline.get("filter")):
                name = step.get("function")
                if isinstance(name, str) and not _is_known(name, self.filters):
                    return UnknownName(
                        "filter",
                        name,
                        self.filters,
                        where=f"{where}, key `filter_list`",
                        hint=f"a filter of {self.title}",
                    )
        return None


def _is_known(
    name: str,
    registered: Collection[str],
) -> bool:
    return name.startswith(FUNCTION) or name in registered


def _mappings(value: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list):
        entries = value
    else:
        entries = []
    return (entry for entry in entries if isinstance(entry, Mapping))

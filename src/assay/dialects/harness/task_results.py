"""Make results from the metrics that a library computes.

The library's aggregation computes the value. assay adds an interval if it supports the
aggregation.
"""

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...core import Result, ScoreRecord, SummaryContext, shorten
from ...core.score import UNRESOLVED
from ...summarizers.breakdown import interval_of
from ...summarizers.mean import Mean
from ...summarizers.statistics import Estimate, estimate_mean, ratio_estimate
from ...summarizers.units import failure_flags
from .loaded import SUBTASK, LibraryGroup, LibraryTask, Loaded, LoadedTask

NO_FILTER = "none"
"""The filter name in results of tasks without filters, as in both libraries."""
BYPASS = "bypass"
"""The libraries' placeholder name for a metric that is not computed. It never appears in the results."""
SHARES = frozenset(
    {"acc", "acc_norm", "acc_bytes", "acc_mutual_info", "exact_match", "em"}
)
"""Metrics whose values are between 0 and 1. Other metrics have no known range."""
Aggregation = Callable[[list[Any]], object]
"""A function of the library that computes the value of a metric from the values of all documents."""


@dataclass
class Collected:
    """The values of one metric of one task, by the id of the document."""

    metric: str
    """The metric's name in the library."""
    label: str
    """The metric's name, with the filter if there is one, such as `exact_match,strict-match`."""
    items: dict[str, Any] = field(default_factory=dict)
    """The library's value for each document, by id: a number, or the input of a corpus metric such as BLEU."""
    records: list[ScoreRecord] = field(default_factory=list)


def label_of(metric: object, filter_name: str) -> str:
    """Return the label of a metric in the results: its name, with the filter if there is one."""
    name = getattr(metric, "__name__", None) or str(metric)
    if filter_name == NO_FILTER:
        return name
    return f"{name},{filter_name}"


@dataclass(frozen=True)
class Summary:
    """Properties of a run that all results of a task share."""

    task: str
    model: str
    protocol: str
    expected: int
    outcomes: Mapping[str, int]
    library: str
    """Name of the library's package."""

    def results(
        self,
        subtask: LoadedTask,
        collected: Sequence[Collected],
    ) -> list[Result]:
        """Return a result for each metric and filter of one task."""
        rows = []
        for metric in collected:
            if metric.metric == BYPASS:
                continue
            rows.append(self._row(subtask, metric))
        return rows

    def _row(self, subtask: LoadedTask, collected: Collected) -> Result:
        """Return the result of one metric. assay computes means itself; other aggregations come from the library."""
        metric = collected.metric
        directions = subtask.task.higher_is_better()
        is_higher_better = bool(directions.get(metric, True))

        aggregate = aggregation_of(subtask.task, metric, self.library)
        is_mean = kind_of(aggregate, self.library) == "mean"
        numbers = map(as_number, collected.items.values())
        if is_mean and all(map(is_finite, numbers)):
            return self._mean_row(collected, is_higher_better)
        return self._set_row(subtask, collected, aggregate, is_higher_better)

    def _mean_row(self, collected: Collected, is_higher_better: bool) -> Result:
        context = SummaryContext(
            task=self.task,
            model=self.model,
            protocol=self.protocol,
            scorer=collected.label,
            n_expected=self.expected,
            seed=0,
            higher_is_better=is_higher_better,
            bounds=(0.0, 1.0) if _is_share(collected.metric) else None,
        )
        return next(iter(Mean()(collected.records, context)))

    def _set_row(
        self,
        subtask: LoadedTask,
        collected: Collected,
        aggregate: Aggregation,
        is_higher_better: bool,
    ) -> Result:
        items = list(collected.items.values())
        try:
            if items:
                value = as_number(aggregate(items))
            else:
                value = None
            fields = interval_fields(aggregate, items, value, self.library)
        except Exception as error:  # noqa: BLE001 - a task's own code: its other numbers stay
            fields = _failed_fields(error)
        unresolved = {n: c for n, c in self.outcomes.items() if n in UNRESOLVED and c}
        lost = sum(unresolved.values()) / max(self.expected, 1)
        flags = (*failure_flags(lost), *fields.pop("flags", ()))
        return Result(
            task=self.task,
            model=self.model,
            metric=collected.label,
            n=len(items),
            n_expected=self.expected,
            protocol=self.protocol,
            outcomes=dict(self.outcomes),
            higher_is_better=is_higher_better,
            flags=flags,
            **fields,
        )


def _is_share(metric: object) -> bool:
    return metric in SHARES or str(metric).startswith(("pass@", "pass_at_"))


def aggregation_of(
    task: LibraryTask,
    metric: str,
    library: str,
) -> Aggregation:
    """Return the aggregation function that the task sets for a metric. The default is the mean."""
    return task.aggregation().get(metric) or _library_metric("mean", library)


def kind_of(aggregate: object, library: str) -> str:
    """Return the name of an aggregation for which assay can compute an interval; empty for any other."""
    import numpy

    if aggregate in (numpy.mean, numpy.average):
        return "mean"
    for name in ("mean", "perplexity", "weighted_perplexity", "bits_per_byte"):
        if aggregate is _library_metric(name, library):
            return name
    return ""


def _library_metric(name: str, library: str) -> Aggregation:
    """Return a function of the library's module `api.metrics` by name."""
    metrics = importlib.import_module(f"{library}.api.metrics")
    function: Aggregation = getattr(metrics, name)
    return function


def interval_fields(
    aggregate: object,
    items: Sequence[Any],
    value: float | None,
    library: str,
) -> dict[str, Any]:
    """Return the result fields `value`, `interval` and `stderr` of a metric that is not a plain mean."""
    kind = kind_of(aggregate, library)
    name = getattr(aggregate, "__name__", type(aggregate).__name__)
    without: dict[str, Any] = {
        "value": value if is_finite(value) else None,
        "interval": f"none: {name} is computed over the whole set",
    }
    if not is_finite(value):
        if value is None:
            reason = "nothing was scored"
        else:
            reason = f"not a finite number: {value}"
        return {**without, "flags": (reason,)}
    if kind == "perplexity":
        losses = [-float(item) for item in items]
        return _transform(estimate_mean(losses, binary=False), math.exp, value)
    if kind in ("weighted_perplexity", "bits_per_byte"):
        losses = [-float(item[0]) for item in items]
        weights = [float(item[1]) for item in items]
        transform = math.exp if kind == "weighted_perplexity" else _bits
        if len(items) > 1 and any(weights):
            return _transform(ratio_estimate(losses, weights), transform, value)
    return without


def _failed_fields(error: Exception) -> dict[str, Any]:
    """Return the result fields for a metric whose aggregation raised `error`: no value, and a flag with the reason."""
    text = " ".join(str(error).split())
    reason = f"{type(error).__name__}: {shorten(text, 120)}"
    return {
        "value": None,
        "interval": "none: the aggregation failed",
        "flags": (f"the aggregation failed: {reason}",),
    }


def _bits(nats: float) -> float:
    return nats / math.log(2)


def _transform(
    estimate: Estimate,
    transform: Callable[[float], float],
    value: float | None,
) -> dict[str, Any]:
    """Return the library's value with the interval of an estimate, converted to the scale of the metric."""
    fields = interval_of(estimate)
    ci = fields["ci"]
    if ci is not None:
        fields["ci"] = (transform(ci[0]), transform(ci[1]))
    # The standard error is on the scale of the loss, so it would mislead next to the transformed value.
    return {**fields, "value": value, "stderr": None}


def group_results(
    loaded: Loaded,
    rows: Mapping[str, Sequence[Result]],
    summary: Summary,
) -> list[Result]:
    """Return a group's results from `Group.aggregate`, each broken down by task.

    A metric that the group does not aggregate gets one result for each task with that
    metric.
    """
    metrics = {name: _metrics_of(task_rows) for name, task_rows in rows.items()}
    results: list[Result] = []
    assert loaded.group is not None
    for group in (loaded.group, *loaded.group.get_all_groups()):
        aggregated = group.aggregate(metrics)
        for key, value in aggregated.items():
            metric, comma, filter_name = str(key).partition(",")
            number = as_number(value)
            if not comma or metric.endswith("_stderr") or number is None:
                continue
            label = label_of(metric, filter_name)
            results.append(_group_row(group, loaded, label, number, rows, summary))
    covered = {row.metric for row in results}
    for name, task_rows in rows.items():
        for row in task_rows:
            if row.metric not in covered:
                results.append(replace(row, metric=f"{name}:{row.metric}"))
    return results


def _group_row(
    group: LibraryGroup,
    loaded: Loaded,
    label: str,
    value: float,
    rows: Mapping[str, Sequence[Result]],
    summary: Summary,
) -> Result:
    members = [task.task_name for task in group.get_all_tasks()]
    parts = {
        name: row
        for name in members
        for row in rows.get(name, ())
        if row.metric == label
    }
    is_top = group is loaded.group
    fields = _pool(group, label, parts, value)
    return Result(
        task=summary.task,
        model=summary.model,
        metric=label if is_top else f"{group.name}:{label}",
        value=value,
        n=sum(row.n for row in parts.values()),
        n_expected=sum(row.n_expected or 0 for row in parts.values()),
        protocol=summary.protocol,
        higher_is_better=all(row.higher_is_better for row in parts.values()),
        outcomes=dict(summary.outcomes) if is_top else {},
        groups={SUBTASK: dict(parts)} if is_top else {},
        **fields,
    )


def _pool(
    group: LibraryGroup,
    label: str,
    parts: Mapping[str, Result],
    value: float,
) -> dict[str, Any]:
    """Return the standard error and interval of a group's mean. Tasks are weighted as in the group."""
    if not _is_mean_of_tasks(group):
        return {"interval": "none: the group has its own aggregation"}
    errors = [row.stderr for row in parts.values()]
    if not errors or any(error is None for error in errors):
        return {"interval": "none: a task of the group has no standard error"}
    by_size = _weighs_by_size(group, label)
    counts = [row.n for row in parts.values()]
    total = sum(counts) if by_size else len(counts)
    shares = [(count if by_size else 1) / total for count in counts]
    variance = sum(
        (share * float(error or 0.0)) ** 2
        for share, error in zip(shares, errors, strict=True)
    )
    stderr = math.sqrt(variance)
    if not stderr:
        return {"interval": "none: no spread in any task"}
    low, high = value - 1.959964 * stderr, value + 1.959964 * stderr
    weighting = "by size" if by_size else "equally"
    return {
        "stderr": stderr,
        "ci": (low, high),
        "interval": f"normal, tasks weighted {weighting}",
    }


def _is_mean_of_tasks(group: LibraryGroup) -> bool:
    """Return True if a group averages the metrics of its tasks, rather than using an aggregation function."""
    entries = group.aggregate_metric_list or ()
    return not any(callable(entry.aggregation) for entry in entries)


def _weighs_by_size(group: LibraryGroup, label: str) -> bool:
    metric = label.partition(",")[0]
    for entry in group.aggregate_metric_list or ():
        if entry.metric == metric:
            return bool(entry.weight_by_size)
    return True


def _metrics_of(rows: Sequence[Result]) -> dict[str, Any]:
    """Return the results of a task in the format that the library's `aggregate` expects."""
    metrics: dict[str, Any] = {}
    counts: dict[str, int] = {}
    for row in rows:
        metric, comma, filter_name = row.metric.partition(",")
        filter_name = filter_name if comma else NO_FILTER
        key = f"{metric},{filter_name}"
        metrics[key] = row.value
        metrics[f"{metric}_stderr,{filter_name}"] = (
            "N/A" if row.stderr is None else row.stderr
        )
        counts[key] = row.n
    first = next(iter(counts.values()), 0)
    return {**metrics, "sample_len": first, "sample_count": counts}


def as_number(value: object) -> float | None:
    """Return a document's value of a metric as a number; None for a tuple or another structure."""
    if isinstance(value, (bool, int, float)):
        return float(value)
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        number = value.item()
        if isinstance(number, (bool, int, float)):
            return float(number)
        return None
    return None


def is_finite(value: float | None) -> bool:
    """Return True for a number that is neither infinite nor NaN."""
    return value is not None and math.isfinite(value)

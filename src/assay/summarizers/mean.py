"""The mean of every metric of a scorer, which a task reports by default.

An answer that could not be read gets the worst value of the scale, 0 for most scales.
If the worst value is unknown, such answers are left out. Samples without a verdict are
not in the denominator. `bounds` has the lowest and the highest mean that would be
possible with their verdicts.

Other summarizers turn the records of samples into records of groups or questions, and
use this module for the mean of these.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..core import COUNTED_AS_ZERO, UNRESOLVED, Result, ScoreRecord, SummaryContext
from ..core.errors import plural
from ..core.score import SHARE
from ..registry import summarizers
from .breakdown import break_down, interval_of, within
from .score_table import UNKNOWN, Table, read_table
from .units import (
    Units,
    doubt_flags,
    estimate_units,
    failure_flags,
    mean_by_weight,
    outside_flag,
    reducer_flags,
    result_names,
    units_of,
)

_ROUND = re.compile(r"(?:^|\.)round_\d+$")
VOTES_ON_SCORES = "majority of equal scores: the scorer extracts no answer"
UNREAD_LEFT_OUT = "unread answers left out: their worst value is not known"


@summarizers.register("mean")
@dataclass(frozen=True, slots=True)
class Mean:
    """The mean over samples, with its interval, the number of failures, and the mean for each tag."""

    reducer: str | None = None
    """How repeated answers to a sample become one value: mean, majority, max, pass@K, pass^K.

    By default the run's reducer.
    """

    def __call__(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> Iterator[Result]:
        """Yield one result for each metric. If nothing was scored, it has no value."""
        reducer = self.reducer or reducer_of(context)
        table = read_table(records)
        for metric in table.names(context.scorer):
            yield mean_of(table, metric, context, reducer)


def reducer_of(context: SummaryContext) -> str:
    """Return the run's reducer for repeated answers to a sample."""
    return str(context.options.get("reducer", "mean"))


def mean_of(
    table: Table,
    metric: str,
    context: SummaryContext,
    reducer: str = "mean",
) -> Result:
    """Return the mean of one metric of a table."""
    context = context.of(metric)
    parsed = table.only_scored(metric)
    ends = known_bounds(parsed, context)
    unread = unread_value(parsed, context)
    cells = table.resolved(metric, unread)
    units = units_of(table, cells, reducer, ends, metric=metric)
    flags = (
        *failure_flags(units.unresolved_share),
        *reducer_flags(reducer, repeated=table.samples is not None),
        *doubt_flags(table.doubts),
    )
    if reducer == "majority" and table.answers and not any(table.answers):
        flags = (*flags, VOTES_ON_SCORES)
    if unread is None and _unread(table):
        flags = (*flags, UNREAD_LEFT_OUT)
    if ends is None and context.bounds is not None and context.bounds != SHARE:
        flags = (*flags, f"values {outside_flag(context.bounds)}")
    common: dict[str, Any] = {
        **result_names(context, metric),
        "n": len(units.values),
        "n_expected": _expected_samples(table, metric, cells, context),
        "outcomes": table.outcome_counts(),
        "bounds": None
        if units.worst is None or units.best is None
        else (units.worst, units.best),
    }
    if not units.values:
        return Result(
            value=None,
            interval="none: nothing was scored",
            flags=flags,
            **common,
        )
    # Only a score between 0 and 1 can be right-or-wrong; a rating is not, even if all ratings are 1.
    may_be_binary = context.bounds is None or tuple(context.bounds) == (0.0, 1.0)
    binary = may_be_binary and set(units.values) <= {0.0, 1.0}
    scale = None if ends is None else (min(ends), max(ends))
    estimate, epochs = estimate_units(
        table,
        units,
        reducer,
        binary=binary,
        ends=scale,
    )
    groups, aggregates = break_down(
        table,
        units,
        common,
        binary=binary,
        ends=scale,
    )
    details: dict[str, Any] = {}
    if unread and _unread(table):
        details["unread_counts_as"] = unread
    ties = table.ties.get(metric)
    if ties:
        details["ties"] = ties
        flags = (*flags, f"{ties} ties: the first option was taken")
    if epochs:
        details["epochs"] = epochs
    if aggregates:
        details["groups"] = aggregates
    weights = table.weights_of(units.rows)
    if weights is not None:
        details["weights"] = _weight_details(weights)
    if scale is not None and not binary:
        details["scale"] = list(scale)
    without = sum(map(math.isnan, cells))
    if without and not _ROUND.search(metric):
        details["without_value"] = without
        flags = (*flags, f"{without} without a value left out")
    parsed_value: float | None = estimate.value
    if parsed is not cells:
        parsed_value = _parsed_value(table, parsed, reducer, metric)
    return Result(
        **within(interval_of(estimate, (*flags, *_cluster_flags(table, units))), scale),
        **common,
        groups=groups,
        parsed_value=parsed_value,
        details=details,
    )


def _expected_samples(
    table: Table,
    metric: str,
    cells: Sequence[float],
    context: SummaryContext,
) -> int | None:
    """Return the number of samples that a metric should have.

    In the mean of `round_3`, a dialogue without a third round is not
    missing.
    """
    if context.n_expected is None or not _ROUND.search(metric):
        return context.n_expected
    samples: Iterable[int] = range(len(cells))
    if table.samples is not None:
        samples = table.samples
    have = set()
    for sample, value in zip(samples, cells, strict=True):
        if not math.isnan(value):
            have.add(sample)
    return context.n_expected - len(set(samples) - have)


def known_bounds(
    cells: Sequence[float],
    context: SummaryContext,
) -> tuple[float, float] | None:
    """Return the worst and the best possible value of a metric.

    Return None if they are unknown, or if a value in `cells` contradicts them.
    """
    if context.bounds is None:
        return None
    low, high = context.bounds
    numbers = [value for value in cells if value < UNKNOWN]
    if numbers and not (low <= min(numbers) and max(numbers) <= high):
        return None
    if context.higher_is_better:
        return (low, high)
    return (high, low)


def unread_value(
    scored: Sequence[float],
    context: SummaryContext,
) -> float | None:
    """Return the value of an unreadable answer in the mean; None if the worst value is unknown."""
    ends = known_bounds(scored, context)
    if ends is not None:
        return ends[0]
    # On a scale without known ends, 0 is the worst value only if higher is better and no value is below 0.
    is_lowest = context.higher_is_better and not any(value < 0 for value in scored)
    if is_lowest:
        return 0.0
    return None


def _parsed_value(
    table: Table,
    cells: Sequence[float],
    reducer: str,
    metric: str,
) -> float | None:
    """Return the mean over the samples whose answers could be read, each with the same weight."""
    if table.samples is not None and reducer not in ("mean", "max", "majority"):
        # pass@k of only the readable answers would be a number of another protocol.
        return None
    parsed = units_of(table, cells, reducer, None, metric=metric)
    if not parsed.values:
        return None
    return mean_by_weight(parsed.values, table.weights_of(parsed.rows))


def _weight_details(weights: Sequence[float]) -> dict[str, float]:
    """Return the details of a weighted mean: the sum of the weights, and the effective number of samples (Kish)."""
    total = math.fsum(weights)
    squares = math.fsum(weight * weight for weight in weights)
    return {"sum": total, "effective_samples": total * total / squares}


def _unread(table: Table) -> bool:
    return any(outcome in COUNTED_AS_ZERO for outcome in table.outcome_names)


def _cluster_flags(table: Table, units: Units) -> tuple[str, ...]:
    if table.clusters is None:
        return ()
    alone = sum(table.clusters[row] >= table.n_clusters for row in units.rows)
    if alone:
        return (f"{plural(alone, 'sample')} without a cluster",)
    return ()


@dataclass(frozen=True, slots=True)
class Derived:
    """Records that are computed from others, for groups or questions. Each is created
    when it is read, to save memory.
    """

    make: Callable[[], Iterator[ScoreRecord]]

    def __iter__(self) -> Iterator[ScoreRecord]:
        return self.make()


def number_of(
    record: ScoreRecord,
    metric: str,
    context: SummaryContext,
) -> float | None:
    """Return the value of a record in the mean: the worst value if its answer is unreadable; None without a verdict."""
    if record.outcome in UNRESOLVED:
        return None
    if record.outcome in COUNTED_AS_ZERO:
        return unread_value((), context.of(metric))
    value = record.values.get(metric)
    if value is not None and math.isfinite(value):
        return value
    return None


def verdict(
    first: ScoreRecord,
    id: str,
    metric: str,
    value: float | None,
    outcome: str,
) -> ScoreRecord:
    """Return one record for several records, such as those of a group, with the tags and cluster of the first."""
    return ScoreRecord(
        first.task,
        first.model,
        id,
        first.scorer,
        first.digest,
        {metric: value},
        outcome,
        tags=first.tags,
        group=first.group,
        cluster=first.cluster,
        weight=first.weight,
    )


def mean_of_units(
    table: Table,
    metric: str,
    context: SummaryContext,
    reducer: str = "mean",
) -> Result:
    """Return the mean over records of groups or questions, whose expected number is unknown."""
    return mean_of(table, metric, replace(context, n_expected=None), reducer)

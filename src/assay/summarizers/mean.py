"""The mean of every metric of a scorer: what a task reports unless it says otherwise.

Answers that could not be read count as the worst value of the scale, which is 0 for most; where nothing is known to be
as bad they are left out.
Samples without a verdict leave the denominator; `bounds` says what they could have done to the value.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..core import COUNTED_AS_ZERO, Result, ScoreRecord, SummaryContext
from ..registry import summarizers
from .breakdown import break_down, interval_of, within
from .table import UNKNOWN, Table, read_table
from .units import (
    Units,
    estimate_units,
    failure_flags,
    reducer_flags,
    result_names,
    units_of,
)

_ROUND = re.compile(r"(?:^|\.)round_\d+$")
UNREAD_LEFT_OUT = "unread answers left out: their worst value is not known"


@summarizers.register("mean")
@dataclass(frozen=True, slots=True)
class Mean:
    """The mean over samples, with its interval, its failures and a line for each tag."""

    reducer: str | None = None
    """How repeats of a sample become one value: mean, majority, max, pass@K, pass^K. Left out: as the run says."""

    def __call__(
        self, records: Sequence[ScoreRecord], context: SummaryContext
    ) -> Iterator[Result]:
        """One result for each metric; where nothing was scored, one without a value."""
        reducer = self.reducer or reducer_of(context)
        table = read_table(records)
        for metric in table.names(context.scorer):
            yield mean_of(table, metric, context, reducer)


def reducer_of(context: SummaryContext) -> str:
    """How the run wants repeats of a sample reduced."""
    return str(context.options.get("reducer", "mean"))


def mean_of(
    table: Table, metric: str, context: SummaryContext, reducer: str = "mean"
) -> Result:
    """The mean of one metric of a table."""
    parsed = table.only_scored(metric)
    ends = known_bounds(parsed, context)
    unread = unread_value(parsed, context)
    cells = table.resolved(metric, unread)
    units = units_of(table, cells, reducer, ends, metric=metric)
    flags = (
        *failure_flags(units.unresolved_share),
        *reducer_flags(reducer, repeated=table.samples is not None),
    )
    if unread is None and _unread(table):
        flags = (*flags, UNREAD_LEFT_OUT)
    common: dict[str, Any] = {
        **result_names(context, metric),
        "n": len(units.values),
        "n_expected": _expected(table, metric, cells, context),
        "outcomes": table.outcome_counts(),
        "bounds": None
        if units.worst is None or units.best is None
        else (units.worst, units.best),
    }
    if not units.values:
        return Result(
            value=None, interval="none: nothing was scored", flags=flags, **common
        )
    # Only a score that ends at 0 and 1 can be read as right or wrong; a rating of which all are 1 cannot.
    may_be_binary = context.bounds is None or tuple(context.bounds) == (0.0, 1.0)
    binary = may_be_binary and set(units.values) <= {0.0, 1.0}
    scale = None if ends is None else (min(ends), max(ends))
    estimate, epochs = estimate_units(table, units, reducer, binary=binary, ends=scale)
    groups, aggregates = break_down(table, units, common, binary=binary, ends=scale)
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
    if scale is not None and not binary:
        details["scale"] = list(scale)
    without = sum(map(math.isnan, cells))
    if without and not _ROUND.search(metric):
        details["without_value"] = without
        flags = (*flags, f"{without} without a value left out")
    return Result(
        **within(interval_of(estimate, (*flags, *_cluster_flags(table, units))), scale),
        **common,
        groups=groups,
        parsed_value=estimate.value
        if parsed is cells
        else _parsed_value(table, parsed, reducer, metric),
        details=details,
    )


def _expected(
    table: Table, metric: str, cells: Sequence[float], context: SummaryContext
) -> int | None:
    """How many samples a metric is of: a dialogue without a third round is not missing in the mean of `round_3`."""
    if context.n_expected is None or not _ROUND.search(metric):
        return context.n_expected
    samples = table.samples if table.samples is not None else range(len(cells))
    have = {
        sample
        for sample, value in zip(samples, cells, strict=True)
        if not math.isnan(value)
    }
    return context.n_expected - len(set(samples) - have)


def known_bounds(
    cells: Sequence[float], context: SummaryContext
) -> tuple[float, float] | None:
    """The worst and the best value of a metric; `None` if not known, or if a value lies outside."""
    if context.bounds is None:
        return None
    low, high = context.bounds
    numbers = [value for value in cells if value < UNKNOWN]
    if numbers and not (low <= min(numbers) and max(numbers) <= high):
        return None
    return (low, high) if context.higher_is_better else (high, low)


def unread_value(scored: Sequence[float], context: SummaryContext) -> float | None:
    """What an answer that could not be read counts as, next to those that could; `None` if nothing is as bad."""
    ends = known_bounds(scored, context)
    if ends is not None:
        return ends[0]
    # On a scale without known ends 0 is as bad as anything only where more is better and nothing lies below it.
    is_lowest = context.higher_is_better and not any(value < 0 for value in scored)
    return 0.0 if is_lowest else None


def _parsed_value(
    table: Table, cells: Sequence[float], reducer: str, metric: str
) -> float | None:
    """The mean over the answers that could be read; the samples they belong to weigh the same."""
    if table.samples is not None and reducer not in ("mean", "max", "majority"):
        # pass@k of only those answers that could be read would be a number of another protocol.
        return None
    parsed = units_of(table, cells, reducer, None, metric=metric).values
    return math.fsum(parsed) / len(parsed) if parsed else None


def _unread(table: Table) -> bool:
    return any(outcome in COUNTED_AS_ZERO for outcome in table.outcome_names)


def _cluster_flags(table: Table, units: Units) -> tuple[str, ...]:
    if table.clusters is None:
        return ()
    alone = sum(table.clusters[row] >= table.n_clusters for row in units.rows)
    return (f"{alone} samples have no cluster",) if alone else ()

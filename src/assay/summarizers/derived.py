"""Derived records, with which a summarizer computes the mean of something other than the original records."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ..core import COUNTED_AS_ZERO, UNRESOLVED, Result, ScoreRecord, SummaryContext
from .mean import mean_of, unread_value
from .score_table import Table


@dataclass(frozen=True, slots=True)
class Derived:
    """Records that are created one by one while they are read, to save memory."""

    make: Callable[[], Iterator[ScoreRecord]]

    def __iter__(self) -> Iterator[ScoreRecord]:
        return self.make()


def number_of(
    record: ScoreRecord,
    metric: str,
    context: SummaryContext,
) -> float | None:
    """Return the value with which a record counts, given its outcome; `None` without a verdict."""
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
    """Return a record for a unit made of several records, with the tags and the cluster of the first."""
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
    """Return the mean of derived units. The expected number of units is unknown."""
    return mean_of(table, metric, replace(context, n_expected=None), reducer)

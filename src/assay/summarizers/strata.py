"""A number made of several groups: each group has its own sums, and its own part in the error.

What `pairs` and `weighted` share: the value a record counts with, as it does in a mean, and a result whose formula sees
the sums of every group side by side.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..core import COUNTED_AS_ZERO, EMPTY, Outcome, Result, ScoreRecord, SummaryContext
from .breakdown import interval_of
from .mean import UNREAD_LEFT_OUT, reducer_of, unread_value
from .sample_values import values_by_sample
from .statistics import Estimate, estimate_mean, jackknife, ratio_estimate
from .statistics.estimate import Ends, Floats
from .units import reducer_flags, result_names, unresolved_flags

Row = tuple[str, Hashable, Sequence[float]]
"""The group a row belongs to, the unit that is drawn whole, and its counts."""


@dataclass(frozen=True, slots=True)
class Counting:
    """What the records of a run count with."""

    unread: float | None
    """An answer that could not be read; `None` if nothing is known to be as bad."""
    metric: str | None = None
    """Which of the scorer's values; left out, its only or first one."""

    @classmethod
    def of(
        cls,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
        metric: str | None = None,
    ) -> "Counting":
        """As the scale of the scorer and the values it gave have it."""
        reader = cls(None, metric)
        scored = [value for record in records if (value := reader(record)) is not None]
        return cls(unread_value(scored, context), metric)

    def __call__(self, record: ScoreRecord) -> float | None:
        """The value of one record; `None` without a verdict."""
        if record.outcome in COUNTED_AS_ZERO:
            return self.unread
        if record.outcome != Outcome.SCORED:
            return None
        return record.value if self.metric is None else record.values.get(self.metric)

    def flags(self, records: Sequence[ScoreRecord]) -> tuple[str, ...]:
        """That unread answers were left out, where some were."""
        lost = self.unread is None and any(
            record.outcome in COUNTED_AS_ZERO for record in records
        )
        return (UNREAD_LEFT_OUT,) if lost else ()


class OneEach:
    """What the answers to a sample add to sums over samples: the one value it is reduced to, with the first of them.

    The others add nothing, so that a sample counts once however often it was asked.
    """

    def __init__(
        self,
        records: Sequence[ScoreRecord],
        counted: Callable[[ScoreRecord], float | None],
        context: SummaryContext,
    ) -> None:
        self._counted = counted
        self._first: dict[str, int] = {}
        for record in records:
            if counted(record) is not None:
                self._first.setdefault(record.id, record.epoch)
        reducer = reducer_of(context)
        self._values, _ = values_by_sample(records, counted, reducer)
        self.flags = reducer_flags(
            reducer, repeated=len({record.id for record in records}) < len(records)
        )
        """How repeats were reduced, where it was not by their mean."""

    def __call__(self, record: ScoreRecord) -> tuple[float, float] | None:
        """A value and how many samples it is of; `None` for an answer that does not count."""
        if record.id not in self._values or self._counted(record) is None:
            return None
        return (
            (self._values[record.id], 1.0)
            if self._first[record.id] == record.epoch
            else (0.0, 0.0)
        )


@dataclass(frozen=True, slots=True)
class Heading:
    """What a result says beside its numbers."""

    metric: str
    groups: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    flags: Sequence[str] = ()
    details: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


def grouped_result(
    rows: Sequence[Row],
    formula: "Callable[[Mapping[str, Floats]], Floats]",
    records: Sequence[ScoreRecord],
    context: SummaryContext,
    heading: Heading,
    *,
    counted: Counting | None = None,
    ends: Ends | None = None,
    estimator: Callable[[Sequence[Row]], Estimate] | None = None,
) -> Result:
    """The value of `formula` over the sums of each group, with its interval.

    `formula` gets, for each group, many rows of sums at once and gives one value for each. `counted` says which records
    count, where that was not worked out from these same records. The interval is the jackknife's between `ends`, unless
    an `estimator` knows a better one.
    """
    counted = counted or Counting.of(records, context)
    outcomes = Counter(record.outcome for record in records)
    common: dict[str, Any] = {
        **result_names(context, heading.metric),
        "n": len({record.id for record in records if counted(record) is not None}),
        "n_expected": context.n_expected,
        "outcomes": dict(outcomes),
        "groups": heading.groups,
        "details": heading.details,
    }
    marks = (*unresolved_flags(outcomes), *counted.flags(records), *heading.flags)
    if not rows:
        return Result(
            value=None, interval="none: nothing was scored", flags=marks, **common
        )
    names = sorted({group for group, _, _ in rows})
    width = len(rows[0][2])
    table = _side_by_side(rows, names, width)

    def over_groups(sums: "Floats") -> "Floats":
        return formula(
            {
                name: sums[:, at * width : (at + 1) * width]
                for at, name in enumerate(names)
            }
        )

    if not _is_finite(over_groups(table.sum(axis=0, keepdims=True))):
        return Result(
            value=None,
            interval="none: undefined on these counts",
            flags=marks,
            **common,
        )
    if estimator is not None:
        return Result(**interval_of(estimator(rows), marks), **common)
    # The group is part of the unit: an image that occurs in two groups is a unit in each.
    units = [(group, unit) for group, unit, _ in rows]
    strata = [group for group, _, _ in rows]
    return Result(
        **interval_of(jackknife(table, over_groups, units, strata, ends=ends), marks),
        **common,
    )


def results_by_group(
    rows: Sequence[Row],
    members: Mapping[str, Sequence[ScoreRecord]],
    formula: "Callable[[Mapping[str, Floats]], Floats]",
    context: SummaryContext,
    metric: str,
    estimator: Callable[[Sequence[Row]], Estimate],
    counted: Counting | None = None,
) -> dict[str, Result]:
    """The value of each group by itself, by the same formula: over a single group it is that group's own."""
    results = {}
    for name in sorted(members):
        part = [row for row in rows if row[0] == name]
        heading = Heading(metric)
        result = grouped_result(
            part,
            formula,
            members[name],
            context,
            heading,
            counted=counted,
            estimator=estimator,
        )
        results[name] = replace(result, n_expected=None)
    return results


def scale_of(rows: Sequence[Row], context: SummaryContext) -> Ends | None:
    """The ends of the scale of the rows' values; `None` if not known, or if a value lies outside."""
    if context.bounds is None:
        return None
    low, high = context.bounds
    inside = all(low * size <= value <= high * size for _, _, (value, size) in rows)
    return (low, high) if inside else None


def mean_of_rows(
    rows: Sequence[Row], ends: Ends | None, level: float = 0.95
) -> Estimate:
    """The mean of rows that each are a value, or several added up, and how many: with their units as clusters."""
    counted = [(unit, counts) for _, unit, counts in rows if counts[1]]
    units = [unit for unit, _ in counted]
    values, sizes = (
        [counts[0] for _, counts in counted],
        [counts[1] for _, counts in counted],
    )
    clusters = units if len(set(units)) < len(units) else None
    if set(sizes) == {1.0}:
        binary = ends in (None, (0.0, 1.0)) and set(values) <= {0.0, 1.0}
        return estimate_mean(values, clusters, level, binary=binary, ends=ends)
    return ratio_estimate(values, sizes, clusters, ends=ends, level=level)


def expected_of(
    members: Sequence[ScoreRecord],
    records: Sequence[ScoreRecord],
    context: SummaryContext,
) -> int | None:
    """How many samples a number of some records is of: all that are expected, less those that belong elsewhere."""
    if context.n_expected is None:
        return None
    return context.n_expected - len(
        {record.id for record in records} - {record.id for record in members}
    )


def unit_of(record: ScoreRecord) -> str:
    """What is drawn whole: the cluster, else the sample with all its epochs."""
    return record.cluster if record.cluster is not None else record.id


def _side_by_side(rows: Sequence[Row], names: Sequence[str], width: int) -> "Floats":
    """Each row's counts in the columns of its group, zeros elsewhere."""
    import numpy as np

    place = {name: at * width for at, name in enumerate(names)}
    table = np.zeros((len(rows), width * len(names)))
    for row, (group, _, counts) in zip(table, rows, strict=True):
        row[place[group] : place[group] + width] = counts
    return table


def _is_finite(values: "Floats") -> bool:
    import math

    return math.isfinite(float(values[0]))

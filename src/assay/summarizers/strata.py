"""Numbers made of several groups: each group has its own sums, and its own part in the error.

`pairs` and `weighted` share this: the value with which a record counts, as in a mean, and a result whose formula gets
the sums of all groups.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..core import (
    COUNTED_AS_ZERO,
    EMPTY,
    WITH_VALUE,
    Result,
    ScoreRecord,
    SummaryContext,
)
from .breakdown import in_order, interval_of
from .mean import UNREAD_LEFT_OUT, reducer_of, unread_value
from .statistics import Estimate, estimate_mean, jackknife, ratio_estimate
from .statistics.estimate import Ends, Floats
from .units import reducer_flags, result_names, unresolved_flags, values_by_sample

Row = tuple[str, Hashable, Sequence[float]]
"""The group of a row, the unit that is drawn as a whole, and its counts."""


@dataclass(frozen=True, slots=True)
class Counting:
    """Returns the value with which each record of a run counts."""

    unread: float | None
    """The value of an answer that could not be read; `None` if the worst value is not known."""
    metric: str | None = None
    """The name of the scorer's value; by default its only or first one."""

    @classmethod
    def of(
        cls,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
        metric: str | None = None,
    ) -> "Counting":
        """Return the counting for the scale of the scorer and the values of the records."""
        reader = cls(None, metric)
        scored = [value for record in records if (value := reader(record)) is not None]
        return cls(unread_value(scored, context), metric)

    def __call__(self, record: ScoreRecord) -> float | None:
        """Return the value of one record; `None` without a verdict."""
        if record.outcome in COUNTED_AS_ZERO:
            return self.unread
        if record.outcome not in WITH_VALUE:
            return None
        if self.metric is None:
            return record.value
        return record.values.get(self.metric)

    def flags(self, records: Sequence[ScoreRecord]) -> tuple[str, ...]:
        """Return a flag if unread answers were left out."""
        lost = self.unread is None and any(
            record.outcome in COUNTED_AS_ZERO for record in records
        )
        return (UNREAD_LEFT_OUT,) if lost else ()


class OneEach:
    """Counts each sample once in sums over samples.

    The first answer to a sample contributes the value to which all its answers are reduced. The other answers
    contribute nothing, however often the sample was asked.
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
        """A flag that names the reducer of repeats, unless it is the mean."""

    def __call__(self, record: ScoreRecord) -> tuple[float, float] | None:
        """Return a value times its weight, and the weight (1 as a rule); `None` for an answer that does not count."""
        id = record.id
        if id not in self._values or self._counted(record) is None:
            return None
        if record.epoch != self._first[id]:
            return 0.0, 0.0
        weight = record.weight
        if weight is None:
            weight = 1.0
        return self._values[id] * weight, weight


@dataclass(frozen=True, slots=True)
class Heading:
    """The parts of a result other than its numbers."""

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
    """Return the value of `formula` over the sums of each group, with its interval.

    `formula` gets, for each group, many rows of sums at once and gives one value for each. `counted` says which
    records count, unless it follows from these same records. The interval is the jackknife's between `ends`, unless
    an `estimator` gives a better one.
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
            value=None,
            interval="none: nothing was scored",
            flags=marks,
            **common,
        )
    names = sorted({group for group, _, _ in rows})
    width = len(rows[0][2])
    table = _side_by_side(rows, names, width)

    def over_groups(sums: "Floats") -> "Floats":
        return formula(
            {
                name: sums[:, number * width : (number + 1) * width]
                for number, name in enumerate(names)
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
    """Return the value of each group separately, by the same formula."""
    results = {}
    for name in in_order(members):
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


def first_name(records: Sequence[ScoreRecord], context: SummaryContext) -> str:
    """Return the name of the value that records are read by if no metric is named."""
    for record in records:
        if record.outcome in WITH_VALUE and record.values:
            return next(iter(record.values))
    return context.scorer


def scale_of(rows: Sequence[Row], context: SummaryContext) -> Ends | None:
    """Return the ends of the scale of the rows' values; `None` if they are unknown, or a value is outside of them."""
    if context.bounds is None:
        return None
    low, high = context.bounds
    inside = all(low * size <= value <= high * size for _, _, (value, size) in rows)
    return (low, high) if inside else None


def mean_of_rows(
    rows: Sequence[Row],
    ends: Ends | None,
    level: float = 0.95,
) -> Estimate:
    """Return the mean of rows, each a sum of values and their number, with their units as clusters."""
    units, values, sizes = [], [], []
    for _, unit, (value, size, *_rest) in rows:
        if size:
            units.append(unit)
            values.append(value)
            sizes.append(size)
    has_clusters = len(set(units)) < len(units)
    clusters = units if has_clusters else None
    if set(sizes) != {1.0}:
        return ratio_estimate(values, sizes, clusters, ends=ends, level=level)
    is_share = ends in (None, (0.0, 1.0))
    binary = is_share and set(values) <= {0.0, 1.0}
    return estimate_mean(values, clusters, level, binary=binary, ends=ends)


def expected_of(
    members: Sequence[ScoreRecord],
    records: Sequence[ScoreRecord],
    context: SummaryContext,
) -> int | None:
    """Return how many samples are expected for some records: all expected ones except those of the other records."""
    if context.n_expected is None:
        return None
    return context.n_expected - len(
        {record.id for record in records} - {record.id for record in members}
    )


def unit_of(record: ScoreRecord) -> str:
    """Return the unit that is drawn as a whole: the cluster, else the sample with all its epochs."""
    if record.cluster is not None:
        return record.cluster
    return record.id


def _side_by_side(rows: Sequence[Row], names: Sequence[str], width: int) -> "Floats":
    """Return each row's counts in the columns of its group, with zeros elsewhere."""
    import numpy as np

    first_column = {}
    for number, name in enumerate(names):
        first_column[name] = number * width
    table = np.zeros((len(rows), width * len(names)))
    for number, (group, _, counts) in enumerate(rows):
        start = first_column[group]
        table[number, start : start + width] = counts
    return table


def _is_finite(values: "Floats") -> bool:
    import math

    return math.isfinite(float(values[0]))

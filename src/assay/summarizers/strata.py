"""Metrics computed from several groups of samples, such as means in which groups have fixed weights.

In a mean of groups, every group has the same weight or a given one, however many samples
it has. GenEval's overall value is the mean of its six task means; WISE has weights for
six fields of knowledge.

`pairs` and `worst_case` also use this module, for the value of one metric in a record,
and for formulas of the sums of all groups.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..core import (
    COUNTED_AS_ZERO,
    EMPTY,
    WITH_VALUE,
    Result,
    ScoreRecord,
    SummaryContext,
    UsageError,
)
from ..registry import summarizers
from .breakdown import in_order, interval_of
from .mean import UNREAD_LEFT_OUT, reducer_of, unread_value
from .statistics import (
    Estimate,
    estimate_mean,
    jackknife,
    ratio_estimate,
    weighted_mean,
)
from .statistics.estimate import Ends, Floats
from .units import reducer_flags, result_names, unresolved_flags, values_by_sample

Row = tuple[str, Hashable, Sequence[float]]
"""The counts of one unit: the name of its group, the unit (sample or cluster), and the counts.

A unit is resampled as a whole.
"""


@dataclass(frozen=True, slots=True)
class Counting:
    """Callable that returns the value of one metric in a score record."""

    unread: float | None
    """The value of an unreadable answer; None if the worst value is unknown."""
    metric: str | None = None
    """The name of the metric; by default the first one of the scorer."""

    @classmethod
    def of(
        cls,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
        metric: str | None = None,
    ) -> "Counting":
        """Return a `Counting` for the scorer's scale and the values of the records."""
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
        """Return a flag if unreadable answers were left out."""
        lost = self.unread is None and any(
            record.outcome in COUNTED_AS_ZERO for record in records
        )
        if lost:
            return (UNREAD_LEFT_OUT,)
        return ()


class OneEach:
    """Callable for sums over samples in which each sample counts once, however many answers it has.

    The sample's answers are reduced to one value. It is assigned to the first answer,
    and the other answers are ignored.
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
        """Return weight × value and weight (usually 1) for an answer; zeros for a later answer to the same sample.

        Return None for an answer that is left out.
        """
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
    """The descriptive fields of a result, excluding its value and interval."""

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
    """Apply `formula` to the sums of each group, and return the value with its interval.

    `formula` gets, for each group, many rows of sums at once, and returns one value for
    each row. `counted` are the records to use; by default they are computed from
    `records`. The interval is from the jackknife, limited to `ends`. If `estimator` is
    given, it computes value and interval instead.
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
        return Result(
            **interval_of(estimator(rows), marks),
            **common,
        )
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
    """Apply the same formula to each group separately."""
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


def first_name(
    records: Sequence[ScoreRecord],
    context: SummaryContext,
) -> str:
    """Return the name of the metric to use if the user names none: the first one of the scorer."""
    for record in records:
        if record.outcome in WITH_VALUE and record.values:
            return next(iter(record.values))
    return context.scorer


def scale_of(
    rows: Sequence[Row],
    context: SummaryContext,
) -> Ends | None:
    """Return the scorer's bounds; None if they are unknown, or if the mean of a row is outside of them."""
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
    """Return the mean over rows, each with a sum of values and the number of values.

    Rows with the same unit form a cluster.
    """
    units = []
    values = []
    sizes = []
    for _, unit, (value, size, *_rest) in rows:
        if size:
            units.append(unit)
            values.append(value)
            sizes.append(size)
    has_clusters = len(set(units)) < len(units)
    clusters = units if has_clusters else None
    if set(sizes) != {1.0}:
        return ratio_estimate(
            values,
            sizes,
            clusters,
            ends=ends,
            level=level,
        )
    is_share = ends in (None, (0.0, 1.0))
    binary = is_share and set(values) <= {0.0, 1.0}
    return estimate_mean(
        values,
        clusters,
        level,
        binary=binary,
        ends=ends,
    )


def expected_of(
    members: Sequence[ScoreRecord],
    records: Sequence[ScoreRecord],
    context: SummaryContext,
) -> int | None:
    """Return how many samples are expected for `members`: all that the run expects,
    minus those of the other records.
    """
    if context.n_expected is None:
        return None
    return context.n_expected - len(
        {record.id for record in records} - {record.id for record in members}
    )


def unit_of(record: ScoreRecord) -> str:
    """Return the unit of a record, which is resampled as a whole: its cluster or, if it
    has none, its sample with all epochs.
    """
    if record.cluster is not None:
        return record.cluster
    return record.id


def _side_by_side(
    rows: Sequence[Row],
    names: Sequence[str],
    width: int,
) -> "Floats":
    """Return a matrix in which each group has its own columns. A row has its counts there, and zeros elsewhere."""
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


WISE_LEGACY = {
    "culture": 0.4,
    "time": 0.167,
    "space": 0.133,
    "biology": 0.1,
    "physics": 0.1,
    "chemistry": 0.1,
}
WISE_VERIFIED = {
    "culture": 0.4,
    "time": 0.12,
    "space": 0.12,
    "biology": 0.12,
    "physics": 0.12,
    "chemistry": 0.12,
}


@summarizers.register("group_mean")
@dataclass(frozen=True, slots=True)
class GroupMean:
    """The mean of the groups' means, and the mean of each group."""

    by: str
    """The tag that names the group."""
    weights: Mapping[str, float] = field(default_factory=lambda: EMPTY)
    """The weight of each group; by default all weights are equal."""
    metric: str | None = None
    """The name of the metric; by default the first one of the scorer."""
    name: str = "overall"

    def __post_init__(self) -> None:
        if any(not weight > 0 for weight in self.weights.values()):
            raise UsageError(
                "summarizer 'group_mean' needs weights above 0",
                fix="leave that group out",
            )

    def __call__(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> Iterator[Result]:
        weights = {name.lower(): weight for name, weight in self.weights.items()}
        context = context.of(self.metric or first_name(records, context))
        counted = Counting.of(records, context, self.metric)
        one_each = OneEach(records, counted, context)
        rows: list[Row] = []
        members: dict[str, list[ScoreRecord]] = {}
        strange: set[str] = set()
        for record in records:
            counts = one_each(record)
            group = record.tags.get(self.by)
            if group is None or (weights and group.lower() not in weights):
                strange.add("none" if group is None else group)
                continue
            group = group.lower() if weights else group
            members.setdefault(group, []).append(record)
            if counts is not None:
                rows.append((group, unit_of(record), counts))
        present = {group for group, _, _ in rows}
        flags = [
            *one_each.flags,
            *_flags(sorted(weights.keys() - present), sorted(strange), self.by),
        ]
        equal_weights = dict.fromkeys(present, 1.0)
        shares = weights or equal_weights

        def formula(sums: Mapping[str, "Floats"]) -> "Floats":
            return mean_of_groups(sums, shares)

        ends = scale_of(rows, context)

        def estimator(group_rows: Sequence[Row]) -> Estimate:
            names = sorted({group for group, _, _ in group_rows})
            parts = [
                mean_of_rows([row for row in group_rows if row[0] == name], ends)
                for name in names
            ]
            if len(parts) == 1:
                return parts[0]
            weights_of_parts = [shares[name] for name in names]
            return weighted_mean(parts, weights_of_parts, "macro")

        if rows:
            each = results_by_group(
                rows,
                members,
                formula,
                context,
                self.name,
                estimator,
                counted,
            )
        else:
            each = {}
        groups = {self.by: each} if rows else {}
        everyone = [record for group in members.values() for record in group]
        heading = Heading(self.name, groups, flags)
        result = grouped_result(
            rows,
            formula,
            everyone,
            context,
            heading,
            counted=counted,
            estimator=estimator,
        )
        yield replace(result, n_expected=expected_of(everyone, records, context))


def mean_of_groups(
    sums: Mapping[str, "Floats"],
    weights: Mapping[str, float],
) -> "Floats":
    """Return the weighted mean of the groups' means. The weights of the groups that occur are scaled to add up to 1."""
    import numpy as np

    total = sum(weights[name] for name in sums)
    return np.asarray(
        sum(weights[name] * s[:, 0] / s[:, 1] for name, s in sums.items()) / total,
        float,
    )


@summarizers.register("wise_legacy")
def wise_legacy(
    records: Sequence[ScoreRecord],
    context: SummaryContext,
    by: str = "category",
) -> Iterator[Result]:
    """Yield WISE's overall score as first published: the weights are .4 culture, .167
    time, .133 space, .1 for each science.
    """
    return GroupMean(by, WISE_LEGACY, name="wiscore_legacy")(records, context)


@summarizers.register("wise_verified")
def wise_verified(
    records: Sequence[ScoreRecord],
    context: SummaryContext,
    by: str = "category",
) -> Iterator[Result]:
    """Yield WISE_Verified's overall score: the weights are .4 for culture and .12 for each of the five other fields."""
    return GroupMean(by, WISE_VERIFIED, name="wise_verified.overall")(records, context)


def _flags(
    absent: Sequence[str],
    strange: Sequence[str],
    by: str,
) -> list[str]:
    """Return a flag for groups of the protocol that are missing, and one for groups that it does not have."""
    flags = []
    if absent:
        names = ", ".join(absent)
        flags.append(f"without {names}: the other weights were scaled to add up to 1")
    if strange:
        flags.append(f"left out, {by} not known: {', '.join(strange[:5])}")
    return flags

"""Means of groups: every group counts the same, or with its weight, however many samples it has.

GenEval's overall value is the mean of its six task means; WISE has weights for six fields of knowledge.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..core import EMPTY, Result, ScoreRecord, SummaryContext, UsageError
from ..registry import summarizers
from .statistics import Estimate, weighted_mean
from .statistics.estimate import Floats
from .strata import (
    Counting,
    Heading,
    OneEach,
    Row,
    expected_of,
    first_name,
    grouped_result,
    mean_of_rows,
    results_by_group,
    scale_of,
    unit_of,
)

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
    """The mean over groups of the mean in each, with a value for every group."""

    by: str
    """The tag that names the group."""
    weights: Mapping[str, float] = field(default_factory=lambda: EMPTY)
    """The weight of each group; by default all count the same."""
    metric: str | None = None
    """The name of the scorer's value; by default its only or first one."""
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
    """Return the weighted mean of the groups' means. The weights of the present groups are scaled to add up to 1."""
    import numpy as np

    total = sum(weights[name] for name in sums)
    return np.asarray(
        sum(weights[name] * s[:, 0] / s[:, 1] for name, s in sums.items()) / total,
        float,
    )


@summarizers.register("wise_legacy")
@dataclass(frozen=True, slots=True)
class WiseLegacy:
    """Overall WiScore of WISE as first published: .4 culture, .167 time, .133 space, .1 for each science."""

    by: str = "category"

    def __call__(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> Iterator[Result]:
        mean = GroupMean(self.by, WISE_LEGACY, name="wiscore_legacy")
        yield from mean(records, context)


@summarizers.register("wise_verified")
@dataclass(frozen=True, slots=True)
class WiseVerified:
    """Overall score of WISE_Verified: .4 culture and .12 for each of the five other fields."""

    by: str = "category"

    def __call__(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> Iterator[Result]:
        mean = GroupMean(self.by, WISE_VERIFIED, name="wise_verified.overall")
        yield from mean(records, context)


def _flags(absent: Sequence[str], strange: Sequence[str], by: str) -> list[str]:
    """Return a flag for groups of the protocol that are absent, and one for unknown groups."""
    flags = []
    if absent:
        names = ", ".join(absent)
        flags.append(f"without {names}: weights of the rest made to add up to 1")
    if strange:
        flags.append(f"left out, {by} not known: {', '.join(strange[:5])}")
    return flags

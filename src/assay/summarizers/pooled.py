"""A ratio of sums: counts that scorers left in `details`, added over all samples before they are divided.

A word error rate is all errors over all words, not the mean of the samples' rates: short samples must not weigh more.
Every answer to a sample is added, candidates and epochs alike.
"""

import math
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..core import UNRESOLVED, Outcome, Result, ScoreRecord, SummaryContext
from ..registry import summarizers
from .breakdown import MAX_GROUPS, interval_of
from .recipes import Recipe
from .statistics import POSITIVE, ratio_estimate
from .statistics.estimate import Ends
from .units import failure_flags, lacking_flags

Names = str | Sequence[str]


@dataclass(slots=True)
class _Counts:
    """The counts of the samples that have them, and what became of the others."""

    numerators: "array[float]" = field(default_factory=lambda: array("d"))
    denominators: "array[float]" = field(default_factory=lambda: array("d"))
    units: "array[int]" = field(default_factory=lambda: array("L"))
    """The cluster of each, or else its sample: all answers to one sample are drawn together."""
    scored: "array[int]" = field(default_factory=lambda: array("B"))
    outcomes: Counter[str] = field(default_factory=Counter)
    lacking: int = 0
    groups: dict[tuple[str, str], "array[int]"] = field(default_factory=dict)
    """Rows of each value of each tag."""
    sample_of: "array[int]" = field(default_factory=lambda: array("L"))
    samples: dict[str, int] = field(default_factory=dict)
    clusters: dict[str, int] = field(default_factory=dict)

    def add(self, record: ScoreRecord, above: float, below: float) -> None:
        """One record that has counts."""
        row = len(self.units)
        self.numerators.append(above)
        self.denominators.append(below)
        self.scored.append(record.outcome == Outcome.SCORED)
        sample = self.samples.setdefault(record.id, len(self.samples))
        self.sample_of.append(sample)
        # Even numbers for clusters, odd ones for samples that have none and stand alone.
        if record.cluster is not None:
            self.units.append(2 * self.clusters.setdefault(record.cluster, len(self.clusters)))
        else:
            self.units.append(2 * sample + 1)
        for tag in record.tags.items():
            self.groups.setdefault(tag, array("L")).append(row)

    def samples_in(self, rows: Sequence[int]) -> int:
        """How many samples some rows are answers to."""
        return len({self.sample_of[row] for row in rows})

    def ratio(self, rows: Sequence[int] | None = None) -> float | None:
        """The ratio over some rows, or over all; `None` where the denominator is 0."""
        chosen = range(len(self.units)) if rows is None else rows
        below = math.fsum(self.denominators[row] for row in chosen)
        return math.fsum(self.numerators[row] for row in chosen) / below if below else None

    def are_shares(self) -> bool:
        """Whether each numerator is 0 or 1 of 1: a share of samples, which is known to end at 1."""
        pairs = zip(self.numerators, self.denominators, strict=True)
        return all(below == 1.0 and above in (0.0, 1.0) for above, below in pairs)

    def estimate(self, ends: Ends, rows: Sequence[int] | None = None, flags: Sequence[str] = ()) -> dict[str, Any]:
        """Value and interval over some rows, or over all, as the fields of a result."""
        chosen = range(len(self.units)) if rows is None else rows
        if not len(chosen):
            return {"value": None, "interval": "none: nothing was scored", "flags": tuple(flags)}
        if self.ratio(chosen) is None:
            return {"value": None, "interval": "none: the denominator is 0", "flags": tuple(flags)}
        units = [self.units[row] for row in chosen]
        repeated = len(set(units)) < len(units)
        estimate = ratio_estimate(
            [self.numerators[row] for row in chosen],
            [self.denominators[row] for row in chosen],
            units if self.clusters or repeated else None,
            ends=ends,
        )
        return interval_of(estimate, flags)


@summarizers.register("pooled")
@dataclass(frozen=True, slots=True)
class Pooled:
    """The sum of some counts over the sum of another, with an interval over clusters.

    Example: `Pooled(numerator=("substitutions", "deletions", "insertions"), denominator="reference_words")`
    """

    numerator: Names
    denominator: Names
    metric: str | None = None
    """The name of the number; the scorer's own if left out."""
    bounds: Ends | None = None
    """The lowest and the highest value of the ratio, where it has a highest one: 0 and 1 for a share."""
    pools: ClassVar[bool] = True

    def __call__(self, records: Sequence[ScoreRecord], context: SummaryContext) -> Iterator[Result]:
        """One result; the mean of the samples' own ratios is in its details."""
        counts = self._read(records)
        metric = self.metric or context.scorer
        common: dict[str, Any] = {
            "task": context.task,
            "model": context.model,
            "metric": metric,
            "protocol": context.protocol,
            "higher_is_better": context.higher_is_better,
        }
        parsed = [row for row, scored in enumerate(counts.scored) if scored]
        ends = self.bounds or ((0.0, 1.0) if counts.are_shares() else POSITIVE)
        above, below = _names(self.numerator), _names(self.denominator)
        recipe = Recipe("ratio" if self.bounds is None else "share", (above, below))
        ratios = [a / b for a, b in zip(counts.numerators, counts.denominators, strict=True) if b]
        yield Result(
            **common,
            **counts.estimate(ends, flags=_flags(counts)),
            n=len(counts.samples),
            n_expected=context.n_expected,
            outcomes=dict(counts.outcomes),
            groups=_groups(counts, common, ends),
            parsed_value=counts.ratio(parsed),
            details={
                "numerator": math.fsum(counts.numerators),
                "denominator": math.fsum(counts.denominators),
                "mean_of_samples": math.fsum(ratios) / len(ratios) if ratios else None,
                "recipe": recipe.to_plain(),
            },
        )

    def _read(self, records: Sequence[ScoreRecord]) -> _Counts:
        counts = _Counts()
        recipe = Recipe("ratio", (_names(self.numerator), _names(self.denominator)))
        for record in records:
            counts.outcomes[record.outcome] += 1
            if record.outcome in UNRESOLVED:
                continue
            found = recipe.read(record)
            if found is None:
                counts.lacking += 1
            else:
                counts.add(record, *found)
        return counts


def _names(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _groups(counts: _Counts, common: Mapping[str, Any], ends: Ends) -> dict[str, dict[str, Result]]:
    """A result for each value of each tag; a tag with too many values names samples and is left out."""
    sizes = Counter(name for name, _ in counts.groups)
    groups: dict[str, dict[str, Result]] = {}
    for (name, value), rows in sorted(counts.groups.items()):
        if sizes[name] > MAX_GROUPS:
            continue
        fields = counts.estimate(ends, rows)
        groups.setdefault(name, {})[value] = Result(**common, **fields, n=counts.samples_in(rows), n_expected=None)
    return groups


def _flags(counts: _Counts) -> tuple[str, ...]:
    total = sum(counts.outcomes.values())
    unresolved = sum(counts.outcomes[outcome] for outcome in UNRESOLVED)
    return (*failure_flags(unresolved / total if total else 0.0), *lacking_flags(counts.lacking))

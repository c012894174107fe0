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
from .statistics import bootstrap_ratio
from .units import failure_flags, lacking_flags

Names = str | Sequence[str]

RESAMPLED_GROUPS = 20


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

    def estimate(self, seed: int, rows: Sequence[int] | None = None) -> dict[str, Any]:
        """Value and interval over some rows, or over all, as the fields of a result."""
        chosen = range(len(self.units)) if rows is None else rows
        if not len(chosen):
            return {"value": None, "interval": "none: nothing was scored"}
        if self.ratio(chosen) is None:
            return {"value": None, "interval": "none: the denominator is 0"}
        units = [self.units[row] for row in chosen]
        repeated = len(set(units)) < len(units)
        estimate = bootstrap_ratio(
            [self.numerators[row] for row in chosen],
            [self.denominators[row] for row in chosen],
            units if self.clusters or repeated else None,
            seed=seed,
        )
        return interval_of(estimate)


@summarizers.register("pooled")
@dataclass(frozen=True, slots=True)
class Pooled:
    """The sum of some counts over the sum of another, with a bootstrap interval over clusters.

    Example: `Pooled(numerator=("substitutions", "deletions", "insertions"), denominator="reference_words")`
    """

    numerator: Names
    denominator: Names
    metric: str | None = None
    """The name of the number; the scorer's own if left out."""
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
        ratios = [a / b for a, b in zip(counts.numerators, counts.denominators, strict=True) if b]
        yield Result(
            **common,
            **counts.estimate(context.seed),
            n=len(counts.samples),
            n_expected=context.n_expected,
            outcomes=dict(counts.outcomes),
            groups=_groups(counts, common, context.seed),
            parsed_value=counts.ratio(parsed),
            flags=_flags(counts),
            details={
                "numerator": math.fsum(counts.numerators),
                "denominator": math.fsum(counts.denominators),
                "mean_of_samples": math.fsum(ratios) / len(ratios) if ratios else None,
            },
        )

    def _read(self, records: Sequence[ScoreRecord]) -> _Counts:
        counts = _Counts()
        above, below = _names(self.numerator), _names(self.denominator)
        for record in records:
            counts.outcomes[record.outcome] += 1
            if record.outcome in UNRESOLVED:
                continue
            numerator, denominator = _sum(record.details, above), _sum(record.details, below)
            if numerator is None or denominator is None:
                counts.lacking += 1
            else:
                counts.add(record, numerator, denominator)
        return counts


def _names(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _sum(details: Mapping[str, Any], names: Sequence[str]) -> float | None:
    """The sum of the named counts; `None` if one of them is not there or is not a finite number."""
    total = 0.0
    for name in names:
        count = details.get(name)
        if not isinstance(count, (int, float)) or not math.isfinite(count):
            return None
        total += count
    return total


def _groups(counts: _Counts, common: Mapping[str, Any], seed: int) -> dict[str, dict[str, Result]]:
    """A result for each value of each tag; a tag with too many values names samples and is left out."""
    sizes = Counter(name for name, _ in counts.groups)
    groups: dict[str, dict[str, Result]] = {}
    for (name, value), rows in sorted(counts.groups.items()):
        if sizes[name] > MAX_GROUPS:
            continue
        # Each interval costs thousands of resamples: many small groups get their value only.
        fields = (
            counts.estimate(seed, rows)
            if sizes[name] <= RESAMPLED_GROUPS
            else {"value": counts.ratio(rows), "interval": f"none: more than {RESAMPLED_GROUPS} groups"}
        )
        groups.setdefault(name, {})[value] = Result(**common, **fields, n=counts.samples_in(rows), n_expected=None)
    return groups


def _flags(counts: _Counts) -> tuple[str, ...]:
    total = sum(counts.outcomes.values())
    unresolved = sum(counts.outcomes[outcome] for outcome in UNRESOLVED)
    return (*failure_flags(unresolved / total if total else 0.0), *lacking_flags(counts.lacking))

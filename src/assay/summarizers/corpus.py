"""Corpus metrics: sum the counts of all samples, apply a formula to the sums, and compute an interval over the samples.

A word error rate is all errors divided by all words, not the mean of the samples'
rates: short samples must not have a higher weight. Every answer to a sample is added, whether it
is a candidate or from another epoch.
"""

import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..core import EMPTY, UNRESOLVED, WITH_VALUE, Result, ScoreRecord, SummaryContext
from .breakdown import MAX_GROUPS, in_order, interval_of
from .recipes import Recipe
from .statistics import jackknife, ratio_estimate
from .statistics.estimate import Ends, Floats
from .units import lacking_flags, result_names, unresolved_flags

Counts = Callable[[ScoreRecord], Sequence[float] | None]
"""A function that returns the counts of a score record; None if the record has none.

To compute a mean, the counts are weight × value and weight.
"""


@dataclass(slots=True)
class Pool:
    """The counts that a corpus metric adds up, such as edits and words, with the
    outcomes and groups of the answers.
    """

    counts: "array[float]" = field(default_factory=lambda: array("d"))
    """The counts of all answers in one flat array."""
    units: "array[int]" = field(default_factory=lambda: array("L"))
    """The unit of each answer: its cluster or, if it has none, its sample. All answers
    of a unit are resampled together.
    """
    scored: "array[int]" = field(default_factory=lambda: array("L"))
    """Indices of the answers that could be read."""
    outcomes: Counter[str] = field(default_factory=Counter)
    lacking: int = 0
    groups: dict[str, dict[str, "array[int]"]] = field(default_factory=dict)
    """For each tag and value, the indices of the answers with it."""
    sample_of: "array[int]" = field(default_factory=lambda: array("L"))
    samples: dict[str, int] = field(default_factory=dict)
    clusters: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        records: Iterable[ScoreRecord],
        counts: Counts,
    ) -> "Pool":
        """Return a pool of the counts of all records. Records without a verdict are not added."""
        pool = cls()
        for record in records:
            pool.outcomes[record.outcome] += 1
            if record.outcome in UNRESOLVED:
                continue
            row = counts(record)
            if row is None:
                pool.lacking += 1
            else:
                pool._add(record, row)
        return pool

    def _add(
        self,
        record: ScoreRecord,
        row: Sequence[float],
    ) -> None:
        """Add the counts of one answer."""
        number = len(self.units)
        if number and len(row) * number != len(self.counts):
            raise ValueError(
                "scores have different numbers of counts and cannot be pooled"
            )
        self.counts.extend(row)
        if record.outcome in WITH_VALUE:
            self.scored.append(number)
        sample = self.samples.setdefault(record.id, len(self.samples))
        self.sample_of.append(sample)
        # Even numbers stand for clusters, odd ones for samples without a cluster, each of which is a unit.
        if record.cluster is not None:
            unit = 2 * self.clusters.setdefault(record.cluster, len(self.clusters))
            self.units.append(unit)
        else:
            self.units.append(2 * sample + 1)
        for name, value in record.tags.items():
            parts = self.groups.setdefault(name, {})
            members = parts.setdefault(value, array("L"))
            members.append(number)

    def table(self) -> "Floats":
        """Return the counts as an array with one row for each answer."""
        import numpy as np

        return np.asarray(self.counts, float).reshape(len(self.units), -1)

    def ratio(self, rows: Sequence[int]) -> float | None:
        """Return the sum of the first column divided by the sum of the second; None if that is 0."""
        width = len(self.counts) // max(1, len(self.units))
        starts = [row * width for row in rows]
        above = math.fsum(self.counts[start] for start in starts)
        below = math.fsum(self.counts[start + 1] for start in starts)
        return above / below if below else None

    def result(
        self,
        common: Mapping[str, Any],
        recipe: Recipe | None,
        ends: Ends | None,
        flags: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Return the fields of a result that depend on the counts: value, interval and breakdown."""
        flags = (*unresolved_flags(self.outcomes), *lacking_flags(self.lacking), *flags)
        if not self.units:
            return {
                "value": None,
                "n": 0,
                "interval": "none: no sample has counts",
                "flags": flags,
            }
        table = self.table()

        def fields_of(
            rows: Sequence[int],
            flags: Sequence[str] = (),
        ) -> dict[str, Any]:
            n = len({self.sample_of[row] for row in rows})
            units = self._joint_units(rows)
            return {"n": n, **_estimate(table[rows], recipe, ends, units, flags)}

        groups: dict[str, dict[str, Result]] = {}
        for name, parts in self.groups.items():
            # A tag with more values is an identifier, not a breakdown.
            if len(parts) > MAX_GROUPS:
                continue
            groups[name] = {}
            for value in in_order(parts):
                fields = fields_of(parts[value])
                groups[name][value] = Result(
                    n_expected=None,
                    **common,
                    **fields,
                )
        everything = range(len(self.units))
        return {**fields_of(everything, flags), "groups": groups}

    def _joint_units(self, rows: Sequence[int]) -> list[int] | None:
        """Return the unit (sample or cluster) of each answer. Return None if each
        answer is a separate unit and there are no clusters.
        """
        units = [self.units[row] for row in rows]
        has_clusters = any(unit % 2 == 0 for unit in units)
        has_repeats = len(set(units)) < len(units)
        return units if has_clusters or has_repeats else None


def corpus_result(
    records: Iterable[ScoreRecord],
    context: SummaryContext,
    metric: str,
    source: Recipe | Counts,
    *,
    details: Mapping[str, Any] = EMPTY,
    higher_is_better: bool = True,
    ends: Ends | None = None,
    flags: Sequence[str] = (),
) -> Result:
    """Return the result of a corpus metric over all answers that have counts. A flag gives the number of the others.

    `source` is a `Recipe` with the formula and the scale of the metric. For a mean, it
    is a function that returns the counts of an answer, and `ends` is the scale.
    Clusters are left out or resampled as a whole. Without clusters, all answers to a
    sample stay together.
    """
    recipe: Recipe | None = None
    read: Counts
    if isinstance(source, Recipe):
        recipe = source
        read = recipe.read
        ends = recipe.ends
        details = {**details, "recipe": recipe.to_plain()}
    else:
        read = source
    pool = Pool.of(records, read)
    common = result_names(context, metric, higher_is_better=higher_is_better)
    fields = pool.result(common, recipe, ends, flags)
    outcomes = dict(pool.outcomes)
    return Result(
        **common,
        **fields,
        n_expected=context.n_expected,
        outcomes=outcomes,
        details=details,
    )


def _estimate(
    table: "Floats",
    recipe: Recipe | None,
    ends: Ends | None,
    units: Sequence[int] | None,
    flags: Sequence[str],
) -> dict[str, Any]:
    """Return the value and interval of a table of counts (one row per answer) as fields of a result."""
    import numpy as np

    total = table.sum(axis=0, keepdims=True)
    if recipe is None or recipe.formula in ("ratio", "share"):
        if not total[0, 1]:
            return {
                "value": None,
                "interval": "none: the denominator is 0",
                "flags": tuple(flags),
            }
        estimate = ratio_estimate(
            table[:, 0].tolist(),
            table[:, 1].tolist(),
            units,
            ends=ends,
        )
        return interval_of(
            estimate,
            flags,
        )
    function = recipe.function()
    if not np.isfinite(function(total)).all():
        return {
            "value": None,
            "interval": "none: undefined on these counts",
            "flags": tuple(flags),
        }
    return interval_of(jackknife(table, function, units, ends=ends), flags)

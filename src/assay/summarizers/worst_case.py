"""Worst case over the values of a tag, called levels, such as the noise levels of a recording.

The results are the value at the worst level and the value at every level. Robustness is
the value under the strongest noise, not the mean over weak and strong noise. With few
samples per level, the worst of several noisy values is biased towards bad: compare it
with the other levels.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..core import UNRESOLVED, Result, ScoreRecord, SummaryContext, UsageError
from ..core.errors import plural
from ..registry import summarizers
from .mean import number_of
from .statistics import POSITIVE, Estimate
from .statistics.estimate import Ends, Floats
from .strata import (
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
from .units import lacking_flags


@summarizers.register("worst_case")
@dataclass(frozen=True, slots=True)
class WorstCase:
    """The lowest mean among the levels of a tag, or the highest if lower is better."""

    by: str = "level"
    """The tag whose values are the levels, such as the strength of the noise."""
    within: str = ""
    """A second tag, such as the kind of noise. Each of its values has a separate worst case."""
    metric: str | None = None
    """The name of the metric; by default the first one of the scorer."""
    numerator: tuple[str, ...] = ()
    """The counts in `details` that are summed for each level and divided by `denominator`, as for a word error rate."""
    denominator: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.numerator, str):
            object.__setattr__(self, "numerator", (self.numerator,))
        if bool(self.numerator) != bool(self.denominator):
            raise UsageError(
                "summarizer 'worst_case' needs both counts or neither",
                fix="numerator and denominator",
            )

    @property
    def pools(self) -> bool:
        """True if the metric is a ratio of counts. All answers are then added up, and no reducer is applied."""
        return bool(self.numerator)

    def __call__(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> Iterator[Result]:
        """Yield `worst(metric)`, or one `worst(metric)[family]` for each family."""
        name = self.name or f"worst({self.metric or context.scorer})"
        context = context.of(self.metric or first_name(records, context))
        families: dict[str, list[ScoreRecord]] = {}
        for record in records:
            families.setdefault(
                record.tags.get(self.within, "") if self.within else "", []
            ).append(record)
        for family, members in sorted(families.items()):
            result = self._worst(
                members,
                context,
                f"{name}[{family}]" if family else name,
            )
            yield result if len(families) == 1 else replace(result, n_expected=None)

    def _worst(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
        name: str,
    ) -> Result:
        rows: list[Row] = []
        one_each = OneEach(
            records,
            lambda record: self._number(record, context),
            context,
        )
        lacking = 0
        members: dict[str, list[ScoreRecord]] = {}
        without = 0
        for record in records:
            level = record.tags.get(self.by)
            if self.pools:
                counts = self._counts(record)
            else:
                counts = one_each(record)
            if level is None:
                without += 1
                continue
            lacking += (
                self.pools and counts is None and record.outcome not in UNRESOLVED
            )
            members.setdefault(level, []).append(record)
            if counts is not None:
                rows.append((level, unit_of(record), counts))

        def formula(sums: "Mapping[str, Floats]") -> "Floats":
            return worst_of(sums, highest=not context.higher_is_better)

        ends = POSITIVE if self.pools else scale_of(rows, context)

        def estimator(group_rows: Sequence[Row]) -> Estimate:
            return estimate_worst(
                group_rows,
                ends,
                highest=not context.higher_is_better,
            )

        levels = results_by_group(rows, members, formula, context, name, estimator)
        values = {
            level: result.value
            for level, result in levels.items()
            if result.value is not None
        }
        pick = min if context.higher_is_better else max
        if values:
            details = {"worst": pick(values, key=lambda level: (values[level], level))}
        else:
            details = {}
        flags = [*(() if self.pools else one_each.flags), *lacking_flags(lacking)]
        if without:
            flags.append(f"without {self.by}: {plural(without, 'sample')} left out")
        unknown = sorted(levels.keys() - values.keys())
        if unknown:
            flags.append(f"no value for {', '.join(unknown[:5])}")
        leveled = [record for member in members.values() for record in member]
        heading = Heading(name, {self.by: levels}, flags, details)
        result = grouped_result(
            rows,
            formula,
            leveled,
            context,
            heading,
            estimator=estimator,
        )
        return replace(result, n_expected=expected_of(leveled, records, context))

    def _number(self, record: ScoreRecord, context: SummaryContext) -> float | None:
        return number_of(
            record,
            self.metric or next(iter(record.values), context.scorer),
            context,
        )

    def _counts(self, record: ScoreRecord) -> tuple[float, float] | None:
        """Return the counts of a record that are added to the numerator and the
        denominator; None if one is missing.
        """
        details = record.details
        below = details.get(self.denominator)
        above: list[Any] = [details.get(name) for name in self.numerator]
        if below is None or None in above:
            return None
        return float(sum(above)), float(below)


def estimate_worst(
    rows: Sequence[Row],
    ends: Ends | None,
    *,
    highest: bool,
) -> Estimate:
    """Return the worst mean of all levels, with an interval computed from the intervals of the levels.

    The worst level cannot be better than any level, so the better end of every level's
    interval is a bound for it. With k levels each of these k bounds may be wrong, so
    each gets 1/k of the error probability.
    """
    names = sorted({level for level, _, _ in rows})
    parts = [[row for row in rows if row[0] == name] for name in names]
    plain = [mean_of_rows(part, ends) for part in parts]
    if len(plain) == 1:
        return plain[0]
    worst = (max if highest else min)(plain, key=lambda estimate: estimate.value)
    n = sum(estimate.n for estimate in plain)
    strict = [mean_of_rows(part, ends, 1 - 0.05 / len(parts)) for part in parts]
    low = [estimate.low for estimate in (strict if highest else plain)]
    high = [estimate.high for estimate in (plain if highest else strict)]
    lows = [x for x in low if x is not None]
    highs = [x for x in high if x is not None]
    if len(lows) < len(parts) or len(highs) < len(parts):
        return Estimate(
            worst.value,
            None,
            None,
            None,
            n,
            None,
            "n/a: a level has no interval",
        )
    pick = max if highest else min
    flag = worst.unreliable
    return Estimate(
        worst.value,
        worst.stderr,
        pick(lows),
        pick(highs),
        n,
        None,
        "from the levels",
        ends,
        None,
        flag,
    )


def worst_of(sums: "Mapping[str, Floats]", *, highest: bool) -> "Floats":
    """Return the worst ratio among the levels, for each row of sums.

    With `highest` this is the highest ratio, otherwise the lowest.
    """
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.stack([level[:, 0] / level[:, 1] for level in sums.values()])
    return np.asarray(ratios.max(axis=0) if highest else ratios.min(axis=0), float)

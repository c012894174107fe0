"""A ratio of sums: counts in `details`, added over all samples before they are divided."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..core import Result, ScoreRecord, SummaryContext
from ..registry import summarizers
from .corpus import Pool
from .recipes import Recipe
from .statistics import POSITIVE
from .statistics.estimate import Ends
from .units import result_names

Names = str | Sequence[str]


@summarizers.register("pooled")
@dataclass(frozen=True, slots=True)
class Pooled:
    """The sum of some counts over the sum of another, with an interval over clusters.

    Example: `Pooled(numerator=("substitutions", "deletions", "insertions"), denominator="reference_words")`
    """

    numerator: Names
    denominator: Names
    metric: str | None = None
    """The name of the number; by default the scorer's."""
    bounds: Ends | None = None
    """The lowest and the highest value of the ratio, if it has a highest one: 0 and 1 for a share."""
    pools: ClassVar[bool] = True

    def __call__(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> Iterator[Result]:
        """Yield one result; the mean of the samples' own ratios is in its details."""
        names = (_names(self.numerator), _names(self.denominator))
        formula = "ratio" if self.bounds is None else "share"
        recipe = Recipe(formula, names)
        pool = Pool.of(records, recipe.read)
        above = pool.counts[0::2]
        below = pool.counts[1::2]
        pairs = zip(above, below, strict=True)
        ratios = [a / b for a, b in pairs if b]
        # If each numerator is 0 or 1 of 1, the number is a share of samples, which is at most 1.
        are_shares = all(
            b == 1.0 and a in (0.0, 1.0) for a, b in zip(above, below, strict=True)
        )
        metric = self.metric or context.scorer
        common = result_names(context, metric)
        yield Result(
            **common,
            **pool.result(
                common,
                recipe,
                self.bounds or ((0.0, 1.0) if are_shares else POSITIVE),
            ),
            n_expected=context.n_expected,
            outcomes=dict(pool.outcomes),
            parsed_value=pool.ratio(pool.scored),
            details={
                "numerator": math.fsum(above),
                "denominator": math.fsum(below),
                "mean_of_samples": math.fsum(ratios) / len(ratios) if ratios else None,
                "recipe": recipe.to_plain(),
            },
        )


def _names(names: Names) -> tuple[str, ...]:
    """Return one name, or several, as a tuple."""
    if isinstance(names, str):
        return (names,)
    return tuple(names)

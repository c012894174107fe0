"""From the spread of samples or clusters to an interval: the three shapes every number but a share has.

*Score*, for means and ratios on a scale with two ends: Wilson's interval with an effective number of trials. That
number comes from the variance seen, which near an end rests on few samples and is mostly too small. So it is drawn
towards the variance of right-or-wrong trials, as if half a sample more had been seen: no value can spread more than
that.

*Log* and *logit*, for corpus metrics: Student's t on the scale where the number has no end, so that the interval is
wider towards the middle of the scale.

*t*, for numbers on an open scale.

A variance that a few units make up is itself uncertain. Its degrees of freedom follow from the fourth moment
(Satterthwaite): with f units that make all of the spread there are about 2 f, however many others there are.
"""

import math
from collections.abc import Sequence

from .distributions import t_quantile
from .estimate import Ends, Spread
from .proportions import score_limits

UNSEEN = 0.5
"""Pseudo-observations of the prior variance."""
CLUSTER_CORRELATION = 0.2
"""How alike samples of a cluster are feared to be before any spread between clusters was seen."""


def seen_units(squares: Sequence[float]) -> float:
    """How many equal squares would have the same sum and the same sum of squares; 0 where all are 0."""
    largest = max(squares, default=0.0)
    if not largest:
        return 0.0
    shares = [square / largest for square in squares]
    return math.fsum(shares) ** 2 / math.fsum(share * share for share in shares)


def fourth_moment_df(effective: float, units: int) -> float:
    """Degrees of freedom of a variance of `units` squares that rests on `effective` of them; at most units - 1."""
    rest = 1 - effective / units
    return units - 1 if rest <= 0 else max(1.0, min(units - 1, 2 * effective / rest))


def cluster_prior(base: float, base_of_clusters: float) -> float:
    """The prior of a mean over clusters, from the effective number of samples and that of clusters."""
    return 1 + CLUSTER_CORRELATION * max(0.0, base / base_of_clusters - 1)


def limits(
    value: float, spread: Spread, ends: Ends | None, level: float
) -> tuple[float, float]:
    """The score interval between two ends, else Student's t."""
    quantile = t_quantile((1 + level) / 2, spread.df)
    if ends is None or not ends[0] < value < ends[1]:
        half = quantile * math.sqrt(spread.variance)
        return value - half, value + half
    width = ends[1] - ends[0]
    share = (value - ends[0]) / width
    ratio = spread.variance / width**2 * spread.base / (share * (1 - share))
    ratio_with_prior = (spread.seen * ratio + UNSEEN * spread.prior) / (
        spread.seen + UNSEEN
    )
    low, high = score_limits(
        share, spread.base / max(ratio, ratio_with_prior), quantile
    )
    return ends[0] + low * width, ends[0] + high * width


def stretched_limits(
    value: float, spread: Spread, ends: Ends | None, level: float
) -> tuple[tuple[float, float], str]:
    """Student's t on the scale that stretches to infinity what ends somewhere; and the name of that scale."""
    half = t_quantile((1 + level) / 2, spread.df) * math.sqrt(spread.variance)
    if ends is None or not ends[0] < value < ends[1]:
        return (value - half, value + half), "t"
    low, high = ends
    if math.isinf(high):
        factor = math.exp(min(half / (value - low), 700.0))
        return (low + (value - low) / factor, low + (value - low) * factor), "log t"
    odds = (value - low) / (high - value)
    factor = math.exp(
        min(half * (high - low) / ((value - low) * (high - value)), 700.0)
    )
    shares = (odds / factor / (1 + odds / factor), odds * factor / (1 + odds * factor))
    return (low + shares[0] * (high - low), low + shares[1] * (high - low)), "logit t"

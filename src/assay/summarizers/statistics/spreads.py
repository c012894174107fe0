"""Intervals from a variance and its degrees of freedom: three kinds, for all metrics other than shares.

*Score*, for means and ratios on a scale with two ends: Wilson's interval, with the
number of trials that would give the observed variance. Near an end of the scale the
variance comes from few samples, and is usually too small. So it is moved towards the
largest possible variance, that of right-or-wrong trials, as if a few more samples had
been observed.

*Log* and *logit*, for corpus metrics: Student's t of the logarithm or the logit of the
value. The interval is then wider towards the middle of the scale.

*t*, for values on an open scale. If the values are skewed, the ordinary interval is too
short on the side of the long tail. Hall's transformation (1992) corrects this; the
interval covers both the ordinary and the corrected one.

A variance from few samples or clusters is itself uncertain. Its degrees of freedom are
computed from the fourth moment (Satterthwaite): if f of them cause all of the spread,
there are about 2 f degrees of freedom, whatever their total number.
"""

import math
from collections.abc import Sequence
from operator import mul

from .distributions import t_quantile
from .estimate import Ends, Spread, assumed_correlation
from .proportions import score_limits

Interval = tuple[float, float]
_LARGEST_EXPONENT = 700.0
_NO_SKEW = 1e-9


def seen_units(squares: Sequence[float]) -> float:
    """Return the effective number of units from their squared residuals (Kish); 0 if all are 0."""
    largest = max(squares, default=0.0)
    if not largest:
        return 0.0
    shares = [square / largest for square in squares]
    return math.fsum(shares) ** 2 / math.fsum(share * share for share in shares)


def large_share(
    squares: Sequence[float],
    sizes: Sequence[float],
    expected: Sequence[float],
) -> float:
    """Return how far the observed spread comes from the large units: 1 if it does, near 0 if not.

    Large units (clusters) decide the variance. If only small ones show a spread, by
    chance, this says little about the large ones. The result is the squared ratio of
    two mean sizes: one weighted by the squared residuals, one by the expected
    variances.
    """
    ratio = _mean_size(sizes, squares) / _mean_size(sizes, expected)
    return min(1.0, ratio) ** 2


def _mean_size(
    sizes: Sequence[float],
    weights: Sequence[float],
) -> float:
    return math.fsum(map(mul, sizes, weights)) / math.fsum(weights)


def fourth_moment_df(effective: float, units: int) -> float:
    """Return the degrees of freedom of a variance from `units` squares. `effective` is their effective number."""
    most = units - 1
    rest = 1 - effective / units
    if rest <= 0:
        return most
    return max(1.0, min(most, 2 * effective / rest))


def skewness_of_sum(contributions: Sequence[float]) -> float:
    """Return the skewness of a sum of independent contributions, each given as its deviation from the mean."""
    largest = max(map(abs, contributions), default=0.0)
    if not largest:
        return 0.0
    scaled = [contribution / largest for contribution in contributions]
    second = math.fsum(x * x for x in scaled)
    third = math.fsum(x * x * x for x in scaled)
    return float(third / second**1.5)


def cluster_prior(
    base: float,
    base_of_clusters: float,
    balance: float,
) -> float:
    """Return the variance to assume for a mean over clusters before any spread is observed.

    It is relative to that of independent samples. `base` is the effective number of
    samples, `base_of_clusters` the effective number of clusters. `balance` is 1 for
    clusters of equal size, and lower otherwise.
    """
    samples_per_cluster = base / base_of_clusters
    return 1 + assumed_correlation(balance) * max(0.0, samples_per_cluster - 1)


def limits(
    value: float,
    spread: Spread,
    ends: Ends | None,
    level: float,
) -> Interval:
    """Return the score interval on a scale with two ends, or Student's t interval on an open scale."""
    quantile = t_quantile((1 + level) / 2, spread.df)
    if not _is_between(value, ends):
        return _t_limits(value, spread, quantile)
    assert ends is not None
    low, high = ends
    width = high - low
    share = (value - low) / width
    trials = _effective_trials(share, spread, width)
    low_share, high_share = score_limits(share, trials, quantile)
    return (
        low + low_share * width,
        low + high_share * width,
    )


def _is_between(
    value: float,
    ends: Ends | None,
) -> bool:
    """Return True if the scale has ends and the value is strictly between them."""
    return ends is not None and ends[0] < value < ends[1]


def _effective_trials(
    share: float,
    spread: Spread,
    width: float,
) -> float:
    """Return the number of right-or-wrong trials whose share of successes would have the same variance."""
    binary_variance = share * (1 - share) / spread.base
    seen_ratio = spread.variance / width**2 / binary_variance
    weighted = spread.seen * seen_ratio + spread.unseen * spread.prior
    ratio_with_prior = weighted / (spread.seen + spread.unseen)
    return spread.base / max(seen_ratio, ratio_with_prior)


def _t_limits(
    value: float,
    spread: Spread,
    quantile: float,
) -> Interval:
    """Return Student's t interval, extended on the side of a long tail if the values are skewed."""
    stderr = math.sqrt(spread.variance)
    below = max(quantile, _undo_skew(quantile, spread.skew))
    above = max(quantile, -_undo_skew(-quantile, spread.skew))
    return value - below * stderr, value + above * stderr


def _undo_skew(quantile: float, skew: float) -> float:
    """Return the t statistic that Hall's transformation maps to `quantile`.

    The transformation g(t) = t + a t²/3 + a² t³/27 + a/6, with the skewness a of the
    mean, makes the statistic nearly symmetric.
    """
    if abs(skew) < _NO_SKEW:
        return quantile
    cube = 1 + skew * (quantile - skew / 6)
    return 3 / skew * (math.copysign(abs(cube) ** (1 / 3), cube) - 1)


def stretched_limits(
    value: float,
    spread: Spread,
    ends: Ends | None,
    level: float,
) -> tuple[Interval, str]:
    """Return Student's t interval computed on a log or logit scale, and the name of that scale."""
    quantile = t_quantile((1 + level) / 2, spread.df)
    if not _is_between(value, ends):
        return _t_limits(value, spread, quantile), "t"
    assert ends is not None
    half = quantile * math.sqrt(spread.variance)
    low, high = ends
    if math.isinf(high):
        return _log_limits(value, half, low), "log t"
    return _logit_limits(value, half, ends), "logit t"


def _log_limits(
    value: float,
    half: float,
    low: float,
) -> Interval:
    """Return the limits of an interval that is symmetric in the logarithm of the distance from `low`."""
    above = value - low
    factor = math.exp(min(half / above, _LARGEST_EXPONENT))
    return low + above / factor, low + above * factor


def _logit_limits(
    value: float,
    half: float,
    ends: Ends,
) -> Interval:
    """Return the limits of an interval that is symmetric in the log odds between two ends."""
    low, high = ends
    width = high - low
    below = value - low
    above = high - value
    odds = below / above
    slope = width / (below * above)
    factor = math.exp(min(half * slope, _LARGEST_EXPONENT))
    limits = []
    for limit in (odds / factor, odds * factor):
        share = limit / (1 + limit)
        limits.append(low + share * width)
    return limits[0], limits[1]

"""Confidence intervals of a share k / n, and of values that are all equal.

The rows of a summary use `share_interval`. Below 64 trials it is exact, because there
every approximation covers less than 93.5 % for some shares. From 64 trials on it is
Wilson's interval, except that an end near 0 or 1 is never nearer to it than an exact
bound. Wilson's interval alone covers as little as 84 % if one success, or one failure,
is expected in ten runs (Brown, Cai and DasGupta 2001).
"""

import math

from .distributions import beta_quantile, normal_quantile
from .estimate import Ends

EXACT_BELOW = 64
_NEAR_END = 0.7
"""The error rate of the exact bound near 0 or 1, divided by 1 - level. It was chosen by computing the coverage."""
_NEAR_COUNT = 40
"""The largest number of successes or failures for which the exact bound is used.

With more it changes less than 0.001.
"""


def wilson(
    k: float,
    n: int,
    level: float = 0.95,
) -> tuple[float, float]:
    """Return Wilson's score interval of k successes in n."""
    _check_counts(k, n)
    low, high = score_limits(k / n, n, _z(level))
    # If k is 0 or n, the bound is exactly 0 or 1; rounding would move it by 1e-17.
    return (0.0 if k == 0 else low), (1.0 if k == n else high)


def score_limits(
    share: float,
    n: float,
    quantile: float,
) -> tuple[float, float]:
    """Return Wilson's limits: the two shares that are exactly `quantile` standard errors from the observed share."""
    push = quantile * quantile / n
    centre = (share + push / 2) / (1 + push)
    half = math.sqrt(share * (1 - share) * push + push * push / 4) / (1 + push)
    return max(0.0, centre - half), min(1.0, centre + half)


def clopper_pearson(
    k: int,
    n: int,
    level: float = 0.95,
) -> tuple[float, float]:
    """Return Clopper and Pearson's exact interval of k successes in n. It covers at least `level`, and is wide."""
    _check_counts(k, n)
    tail = (1 - level) / 2
    low = 0.0 if k == 0 else beta_quantile(tail, k, n - k + 1)
    if k == n:
        high = 1.0
    else:
        high = beta_quantile(1 - tail, k + 1, n - k)
    return low, high


def share_interval(
    k: int,
    n: int,
    level: float = 0.95,
) -> tuple[tuple[float, float], str]:
    """Return the interval of k right answers in n, and the name of its method."""
    if n < EXACT_BELOW:
        return clopper_pearson(k, n, level), "clopper-pearson"
    low, high = wilson(k, n, level)
    wrong = n - k
    tail = _NEAR_END * (1 - level)
    if 0 < k <= _NEAR_COUNT:
        exact_low = beta_quantile(tail, k, wrong + 1)
        low = min(low, exact_low)
    if 0 < wrong <= _NEAR_COUNT:
        exact_high = 1 - beta_quantile(tail, wrong, k + 1)
        high = max(high, exact_high)
    return (low, high), "wilson"


def wald(
    k: int,
    n: int,
    level: float = 0.95,
) -> tuple[float, float]:
    """Return the textbook (Wald) interval of k successes in n, for comparison only: for
    0 or n successes it has no width.
    """
    _check_counts(k, n)
    share = k / n
    half = _z(level) * math.sqrt(share * (1 - share) / n)
    return max(0.0, share - half), min(1.0, share + half)


def unseen_spread(
    value: float,
    trials: int,
    ends: Ends,
    level: float = 0.95,
) -> tuple[float, float]:
    """Return an interval for a mean if every trial gave `value`.

    Other values may still exist. Their share is at most Clopper and Pearson's upper
    bound for 0 of `trials`. The ends of the interval are the means if all other values
    were at the low end, or all at the high end, of the scale. If `value` itself is at
    an end, the interval is Clopper and Pearson's.
    """
    share = clopper_pearson(0, trials, level)[1]
    return value - share * (value - ends[0]), value + share * (ends[1] - value)


def _check_counts(k: float, n: int) -> None:
    if n < 1 or not 0 <= k <= n:
        raise ValueError(f"a proportion needs 0 <= k <= n and n >= 1, got k={k}, n={n}")


def _z(level: float) -> float:
    return normal_quantile((1 + level) / 2)

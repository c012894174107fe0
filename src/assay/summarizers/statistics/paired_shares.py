"""Compare two models that are right or wrong on the same samples: the interval of the difference, and tests.

The test is McNemar's mid-p. The interval is Tango's: all differences that are less than
z standard errors from the observed difference, where the standard error is computed for
each possible difference. The statistic is multiplied by a factor, so that it gives
exactly the mid-p at a difference of 0. Therefore the interval excludes 0 if and only if
p < 1 - level. The factor approaches 1 as more samples differ. See Tango 1998,
Statistics in Medicine 17:891; Fagerland, Lydersen and Laake 2013 (mid-p).
"""

import math
from collections.abc import Sequence
from functools import lru_cache

from .distributions import normal_quantile
from .estimate import Estimate, Spread


@lru_cache(maxsize=64)
def mcnemar(
    b: int,
    c: int,
) -> float:
    """Return McNemar's mid-p value.

    `b` samples were right only with the first model, `c` only with the second.
    """
    if b < 0 or c < 0:
        raise ValueError(f"counts of pairs cannot be negative, got {b} and {c}")
    n = b + c
    if not n:
        return 1.0
    fewer = min(b, c)
    whole = 1 << n
    # Each binomial term follows from the previous one. They stay integers until the last division, so they are exact.
    term = tail = 1
    for i in range(fewer):
        term = term * (n - i) // (i + 1)
        tail += term
    return (2 * tail - term) / whole


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values adjusted for multiple tests by Holm's method."""
    _check_p(p_values)
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(
        sorted(range(len(p_values)), key=p_values.__getitem__)
    ):
        corrected = (len(p_values) - rank) * p_values[index]
        highest = max(highest, min(1.0, corrected))
        adjusted[index] = highest
    return adjusted


def _check_p(p_values: Sequence[float]) -> None:
    for index, p in enumerate(p_values):
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"p-value {index} is {p}: it must be in [0, 1]")


METHOD = "paired score"
_CERTAIN = 1e-12
"""The p value below which the statistic is not scaled, because both tests agree and the normal quantile is inexact."""


def paired_share_difference(
    wins: int,
    losses: int,
    n: int,
    level: float = 0.95,
    *,
    mid_p: bool = True,
) -> Estimate:
    """Return the difference of two shares of n samples, with its interval.

    Only the first model got `wins` samples right, only the second `losses`. Without
    `mid_p` the interval is Tango's as published, which agrees with McNemar's
    chi-square.
    """
    if n < 1 or min(wins, losses) < 0 or wins + losses > n:
        raise ValueError(
            f"{wins} wins and {losses} losses of {n} samples is impossible"
        )
    value = (wins - losses) / n
    if n < 2:
        return Estimate(value, None, None, None, n, None, "n/a: one sample")
    mean_square = (wins + losses) / n
    variance = max(0.0, mean_square - value**2) / (n - 1)
    quantile = normal_quantile((1 + level) / 2) / (
        _scaling(wins, losses) if mid_p else 1.0
    )
    low = _bound(wins, losses, n, quantile)
    high = -_bound(losses, wins, n, quantile)
    spread = Spread(
        variance,
        n,
        seen=wins + losses,
        df=n - 1,
    )
    return Estimate(
        value,
        math.sqrt(variance),
        low,
        high,
        n,
        None,
        METHOD,
        (-1.0, 1.0),
        spread,
    )


def _scaling(
    wins: int,
    losses: int,
) -> float:
    """Return the factor for the score statistic that makes its p value at a difference of 0 equal to the mid-p."""
    if wins == losses:
        return 1.0
    p = mcnemar(wins, losses)
    if p < _CERTAIN:
        return 1.0
    deviations = abs(wins - losses) / math.sqrt(wins + losses)
    return -normal_quantile(p / 2) / deviations


def _bound(
    wins: int,
    losses: int,
    n: int,
    quantile: float,
) -> float:
    """Return the lower end of the interval: the lowest difference that the test does not reject."""
    low = -1.0
    high = (wins - losses) / n
    for _ in range(200):
        middle = (low + high) / 2
        if middle <= low or middle >= high:
            break
        if _score(wins, losses, n, middle) > quantile:
            low = middle
        else:
            high = middle
    return high


def _score(
    wins: int,
    losses: int,
    n: int,
    difference: float,
) -> float:
    """Return how many standard errors the observed difference is above `difference` (Tango 1998).

    The standard error is the one that holds if `difference` is true. It uses the most
    likely share of losses in this case.
    """
    share = _likeliest_losses(wins, losses, n, difference)
    spread = difference * (1 - difference)
    variance = n * (2 * share + spread)
    above = wins - losses - n * difference
    if variance > 0:
        return above / math.sqrt(variance)
    if above:
        return math.copysign(math.inf, above)
    return 0.0


def _likeliest_losses(
    wins: int,
    losses: int,
    n: int,
    difference: float,
) -> float:
    """Return the maximum likelihood share of losses, a root of a quadratic equation.

    There are two equal formulas for the root. The one that loses no precision by
    cancellation is used.
    """
    slope = (2 * n - wins + losses) * difference
    slope -= wins + losses
    constant = -losses * difference * (1 - difference)
    square = slope * slope - 8 * n * constant
    root = math.sqrt(max(0.0, square))
    if slope <= 0:
        return (root - slope) / (4 * n)
    return -2 * constant / (root + slope)

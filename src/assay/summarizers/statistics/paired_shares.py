"""Two models that are right or wrong on the same samples: the interval of the difference, and the test it agrees with.

The test is McNemar's mid-p. The interval is Tango's: every difference from which the one seen is less than z standard
errors away, the error being the one under that difference. Its statistic is scaled so that at a difference of 0 it
gives the mid-p exactly: the interval excludes 0 where p < 1 - level, and only there. The factor goes to 1 as more
samples differ. Tango 1998, Statistics in Medicine 17:891; Fagerland, Lydersen and Laake 2013 (mid-p).
"""

import math

from .distributions import normal_quantile
from .estimate import Estimate, Spread
from .paired_tests import mcnemar

METHOD = "paired score"
_CERTAIN = 1e-12
"""Below this p both statistics say the same, and the quantile of the normal distribution loses its digits."""


def paired_share_difference(
    wins: int, losses: int, n: int, level: float = 0.95, *, mid_p: bool = True
) -> Estimate:
    """The difference of two shares: `wins` samples only the first got right, `losses` only the second, of n.

    Without `mid_p` it is Tango's interval as published, which agrees with McNemar's chi-square.
    """
    if n < 1 or min(wins, losses) < 0 or wins + losses > n:
        raise ValueError(
            f"{wins} wins and {losses} losses of {n} samples is impossible"
        )
    value = (wins - losses) / n
    if n < 2:
        return Estimate(value, None, None, None, n, None, "n/a: one sample")
    variance = max(0.0, (wins + losses) / n - value**2) / (n - 1)
    quantile = normal_quantile((1 + level) / 2) / (
        _scaling(wins, losses) if mid_p else 1.0
    )
    low, high = _bound(wins, losses, n, quantile), -_bound(losses, wins, n, quantile)
    spread = Spread(variance, n, seen=wins + losses, df=n - 1)
    return Estimate(
        value, math.sqrt(variance), low, high, n, None, METHOD, (-1.0, 1.0), spread
    )


def _scaling(wins: int, losses: int) -> float:
    """What the score statistic at a difference of 0 is multiplied with to give the mid-p."""
    if wins == losses:
        return 1.0
    p = mcnemar(wins, losses)
    if p < _CERTAIN:
        return 1.0
    return -normal_quantile(p / 2) / (abs(wins - losses) / math.sqrt(wins + losses))


def _bound(wins: int, losses: int, n: int, quantile: float) -> float:
    """The lowest difference that the test does not reject."""
    low, high = -1.0, (wins - losses) / n
    for _ in range(200):
        middle = (low + high) / 2
        if middle <= low or middle >= high:
            break
        if _score(wins, losses, n, middle) > quantile:
            low = middle
        else:
            high = middle
    return high


def _score(wins: int, losses: int, n: int, difference: float) -> float:
    """How many standard errors the difference seen lies above `difference`; the error is the one under it."""
    slope = (2 * n - wins + losses) * difference - wins - losses
    constant = -losses * difference * (1 - difference)
    root = math.sqrt(max(0.0, slope * slope - 8 * n * constant))
    # The likeliest share of losses if the difference were this; of two equal forms the one that does not cancel.
    share = (root - slope) / (4 * n) if slope <= 0 else -2 * constant / (root + slope)
    variance = n * (2 * share + difference * (1 - difference))
    above = wins - losses - n * difference
    if variance <= 0:
        return math.copysign(math.inf, above) if above else 0.0
    return above / math.sqrt(variance)

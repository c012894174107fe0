"""Sample sizes for comparisons, and decisions by intervals whether a value is above a limit.

The power is computed for the tests that `compare_paired` uses: the paired t for means
of normal differences, and McNemar's mid-p for right-or-wrong scores, computed exactly
over all outcomes. The search starts at the textbook formula ("Adding error bars to
evals", Miller), which overestimates the power of McNemar's test by up to 6 points.

Whether a value is above a limit is decided by its interval: yes, no, or not yet. With a
paired difference and the limit -max_drop this is a test of non-inferiority. A value
passes if its whole interval is at or above the limit, and fails if all of it is below.
Several values that are decided together pass only if each of them passes, which needs
no correction (intersection-union test). But the more values there are, the more likely
one of them fails by chance. So the interval for failing a value is widened by
Bonferroni's rule.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

from .distributions import incomplete_beta, normal_quantile, t_power


def sample_size(
    difference: float,
    variance: float,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
) -> int:
    """Return the number of samples needed to show a `difference` between two models.

    `variance` is the variance of the difference on one sample.
    """
    if difference == 0:
        raise ValueError("no number of samples can show a difference of 0")
    if variance < 0:
        raise ValueError("a variance cannot be negative")
    if not variance:
        return 2
    start = normal_size(abs(difference) / math.sqrt(variance), alpha, power)

    def reaches(n: int) -> bool:
        return t_power(abs(difference) / math.sqrt(variance / n), n - 1, alpha) >= power

    return _first(reaches, max(2, start))


def normal_size(
    difference: float,
    alpha: float = 0.05,
    power: float = 0.8,
) -> int:
    """Return the sample size by the textbook formula, for an effect in standard deviations with a known variance."""
    # A result that is above an integer only by rounding is that integer.
    return math.ceil(_factor(alpha, power) / difference**2 - 1e-9)


def sample_size_paired_binary(
    difference: float,
    discordance: float,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
) -> int:
    """Return the samples needed for right-or-wrong answers of two models that differ on
    a share `discordance` of them.
    """
    _check_discordance(discordance)
    if abs(difference) > discordance:
        raise ValueError(
            f"models that differ on {discordance:g} of the samples cannot be {difference:g} apart"
        )
    if difference == 0:
        raise ValueError("no number of samples can show a difference of 0")
    spread = math.sqrt(max(discordance - difference**2, 1e-9))
    start = normal_size(abs(difference) / spread, alpha, power)
    return _first(
        lambda n: paired_binary_power(n, difference, discordance, alpha=alpha) >= power,
        max(2, start),
    )


def paired_binary_power(
    n: int,
    difference: float,
    discordance: float,
    *,
    alpha: float = 0.05,
) -> float:
    """Return the power of McNemar's mid-p test with n samples for a true `difference`, summed over all outcomes.

    Outcomes are left out if their number of discordant samples is more than 5 standard
    deviations from the expected one.
    """
    _check_discordance(discordance)
    share = min(1.0, max(0.0, (1 + difference / discordance) / 2))
    centre = n * discordance
    width = 5 * math.sqrt(n * discordance * (1 - discordance)) + 1
    total = 0.0
    counts = range(
        max(1, math.floor(centre - width)), min(n, math.ceil(centre + width)) + 1
    )
    for count in counts:
        fewest = _most_losses(count, alpha)
        if fewest >= 0:
            rejected = _at_most(fewest, count, share) + _at_most(
                fewest,
                count,
                1 - share,
            )
            total += rejected * _exactly(count, n, discordance)
    return total


@lru_cache(maxsize=65_536)
def _most_losses(count: int, alpha: float) -> int:
    """Return the largest number of losses among `count` discordant samples with a mid-p below alpha; -1 if none has."""
    fewer = max(
        0,
        math.floor((count - normal_quantile(1 - alpha / 2) * math.sqrt(count)) / 2) + 2,
    )
    while fewer >= 0 and _mid_p(fewer, count) >= alpha:
        fewer -= 1
    return fewer


def _mid_p(fewer: int, count: int) -> float:
    return 2 * _at_most(fewer, count, 0.5) - _exactly(fewer, count, 0.5)


def _at_most(
    k: int,
    n: int,
    share: float,
) -> float:
    """Return P(X <= k) of a binomial distribution."""
    if k >= n:
        return 1.0
    return incomplete_beta(1 - share, n - k, k + 1)


def _exactly(
    k: int,
    n: int,
    share: float,
) -> float:
    """Return P(X = k) of a binomial distribution."""
    if share in (0.0, 1.0):
        return float(k == n * share)
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(ways + k * math.log(share) + (n - k) * math.log1p(-share))


def _first(
    reaches: Callable[[int], bool],
    start: int,
) -> int:
    """Return the smallest n for which `reaches` is True. Near this n, the power may decrease a little as n grows."""
    low = high = start
    while not reaches(high):
        low = high
        high += max(1, high // 8)
    while low > 2 and reaches(low):
        low -= max(1, low // 16)
    low = max(low, 1)
    while high - low > 1:
        middle = (low + high) // 2
        if reaches(middle):
            high = middle
        else:
            low = middle
    return high


def minimum_detectable_difference(
    n: int,
    variance: float,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
) -> float:
    """Return the smallest true difference of two models that n samples detect with this power.

    `variance` is the variance of the difference on one sample.
    """
    if n < 2:
        raise ValueError(f"a detectable difference needs at least two samples, got {n}")
    if variance < 0:
        raise ValueError("a variance cannot be negative")
    stderr = math.sqrt(variance / n)
    return stderr * _least(lambda errors: t_power(errors, n - 1, alpha) >= power, 1e6)


def minimum_detectable_paired_binary(
    n: int,
    discordance: float,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
) -> float:
    """Return the smallest difference that n samples detect, for models that differ on a share `discordance` of them."""
    _check_discordance(discordance)

    def shows(difference: float) -> bool:
        return paired_binary_power(n, difference, discordance, alpha=alpha) >= power

    if not shows(discordance):
        raise ValueError(
            f"{n} samples show no difference between models that differ on {discordance:g} of them"
        )
    return _least(shows, discordance)


def _least(
    shows: Callable[[float], bool],
    high: float,
) -> float:
    """Return the smallest number up to `high` for which `shows` is True, with a relative error of 1e-9."""
    low = 0.0
    while high - low > 1e-9 * max(1.0, high):
        middle = (low + high) / 2
        if shows(middle):
            high = middle
        else:
            low = middle
    return high


def _factor(alpha: float, power: float) -> float:
    return (normal_quantile(1 - alpha / 2) + normal_quantile(power)) ** 2


def _check_discordance(discordance: float) -> None:
    if not 0 < discordance <= 1:
        raise ValueError(
            f"discordance is the share of samples the models differ on, in (0, 1], got {discordance}"
        )


Decision = Literal["pass", "fail", "inconclusive"]
LEVEL = 0.95
MOST_SAMPLES = 10_000_000
"""The largest sample size that is reported. A larger one would be impractical."""
_ROUNDING = 1e-12


def decide(
    value: float,
    interval: tuple[float, float],
    limit: float,
    *,
    together: int = 1,
    level: float = LEVEL,
) -> Decision:
    """Return whether a value is at or above `limit`, by its interval. `together` is the
    number of values decided at once.

    If all values are truly above their limits, the probability that any of them fails
    is at most (1 - level) / 2.
    """
    low, high = interval
    if low >= limit - _ROUNDING:
        return "pass"
    error = (1 - level) / 2
    wider = normal_quantile(1 - error / together) / normal_quantile(1 - error)
    if value + (high - value) * wider < limit - _ROUNDING:
        return "fail"
    return "inconclusive"


def deciding_size(
    n: int,
    value: float,
    interval: tuple[float, float],
    limit: float,
    stderr: float | None,
    *,
    power: float = 0.8,
) -> int | None:
    """Estimate how many samples would decide with the given power, if the value stays the same.

    Return None if no number of samples would. If no spread was observed, the width of
    the interval is assumed to shrink with 1/n instead of 1/√n.
    """
    margin = abs(value - limit)
    if value > limit:
        reach = value - interval[0]
    else:
        reach = interval[1] - value
    if not margin or n * (reach / margin) ** 2 > MOST_SAMPLES:
        return None
    if not stderr:
        return max(n + 1, math.ceil((n + 4) * reach / margin))
    return max(
        n + 1,
        sample_size(
            margin,
            stderr * stderr * n,
            alpha=1 - LEVEL,
            power=power,
        ),
    )


def rounded_up(count: int) -> int:
    """Round a sample size up to two digits, because it is not known more precisely."""
    unit = int(10 ** max(0, len(str(count)) - 2))
    return -(-count // unit) * unit

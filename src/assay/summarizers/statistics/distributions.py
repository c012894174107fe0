"""The few distributions the intervals and tests need: normal, Student t, beta.

Written on the regularised incomplete beta function, so that the base install needs no scipy.
"""

import math
from functools import lru_cache
from statistics import NormalDist

_STANDARD_NORMAL = NormalDist()
_TINY = 1e-300
_MAX_TERMS = 100_000


def normal_quantile(p: float) -> float:
    """The z with P(Z <= z) = p."""
    if not 0.0 < p < 1.0:
        raise ValueError(f"a normal quantile needs 0 < p < 1, got {p}")
    return _STANDARD_NORMAL.inv_cdf(p)


def normal_cdf(z: float) -> float:
    """P(Z <= z)."""
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b): the CDF of Beta(a, b) at x."""
    if a <= 0.0 or b <= 0.0:
        raise ValueError(
            f"the beta distribution needs positive parameters, got a={a}, b={b}"
        )
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    # The continued fraction converges fast only left of the mean; on the right, its mirror image does.
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - _beta_left(1.0 - x, b, a)
    return _beta_left(x, a, b)


def _beta_left(x: float, a: float, b: float) -> float:
    log_front = (
        math.lgamma(a + b)
        - math.lgamma(a)
        - math.lgamma(b)
        + a * math.log(x)
        + b * math.log1p(-x)
    )
    return math.exp(log_front) * _beta_fraction(x, a, b) / a


def _beta_fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete beta function, evaluated forwards (Lentz)."""
    numerator = 1.0
    denominator = 1.0 / _away_from_zero(1.0 - (a + b) * x / (a + 1.0))
    fraction = denominator
    for m in range(1, _MAX_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        change = 1.0
        for coefficient in (even, odd):
            denominator = 1.0 / _away_from_zero(1.0 + coefficient * denominator)
            numerator = _away_from_zero(1.0 + coefficient / numerator)
            change = numerator * denominator
            fraction *= change
        if abs(change - 1.0) < 1e-15:
            return fraction
    raise ArithmeticError(
        f"the incomplete beta function did not converge at x={x}, a={a}, b={b}"
    )


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


@lru_cache(maxsize=4096)
def beta_quantile(p: float, a: float, b: float) -> float:
    """The x with I_x(a, b) = p."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"a beta quantile needs 0 <= p <= 1, got {p}")
    low, high = 0.0, 1.0
    while True:
        middle = (low + high) / 2.0
        if middle <= low or middle >= high or high - low < 1e-15 * high:
            return middle
        if incomplete_beta(middle, a, b) < p:
            low = middle
        else:
            high = middle


def t_two_sided(t: float, df: float) -> float:
    """P(|T| >= |t|), the two-sided p of a t statistic."""
    if df <= 0.0:
        raise ValueError(f"Student's t needs df > 0, got {df}")
    if math.isinf(t):
        return 0.0
    return incomplete_beta(df / (df + t * t), df / 2.0, 0.5)


@lru_cache(maxsize=4096)
def t_quantile(p: float, df: float) -> float:
    """The t with P(T <= t) = p for Student's t with `df` degrees of freedom."""
    if not 0.0 < p < 1.0:
        raise ValueError(f"a t quantile needs 0 < p < 1, got {p}")
    if p == 0.5:
        return 0.0
    tail = 2.0 * min(p, 1.0 - p)
    low, high = 0.0, 1.0
    while t_two_sided(high, df) > tail:
        low, high = high, high * 2.0
    while True:
        middle = (low + high) / 2.0
        if middle <= low or middle >= high or high - low < 1e-15 * high:
            break
        if t_two_sided(middle, df) > tail:
            low = middle
        else:
            high = middle
    return math.copysign(middle, p - 0.5)


def t_power(shift: float, df: float, alpha: float) -> float:
    """How often a two-sided t test at `alpha` rejects where the mean lies `shift` standard errors from 0.

    The noncentral t as an integral over the estimated standard error (Simpson's rule, 2,000 steps of 10 deviations each
    side of its mode).
    """
    bar = t_quantile(1 - alpha / 2, df)
    centre, deviation = math.sqrt(max(df - 1, 0.0) / df), 1 / math.sqrt(2 * df)
    low, high = max(1e-12, centre - 10 * deviation), centre + 10 * deviation
    steps = 2000
    width = (high - low) / steps
    log_front = math.log(2) + df / 2 * math.log(df / 2) - math.lgamma(df / 2)

    def part(error: float) -> float:
        density = math.exp(
            log_front + (df - 1) * math.log(error) - df * error * error / 2
        )
        return density * (
            normal_cdf(shift - bar * error) + normal_cdf(-shift - bar * error)
        )

    inner = math.fsum(
        (4 if step % 2 else 2) * part(low + step * width) for step in range(1, steps)
    )
    return (part(low) + part(high) + inner) * width / 3

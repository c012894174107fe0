"""The distributions that intervals and tests need: normal, Student t, beta.

They are computed from the regularised incomplete beta function, so that the base
install needs no scipy.
"""

import math
from functools import lru_cache
from statistics import NormalDist

_STANDARD_NORMAL = NormalDist()
_TINY = 1e-300
_MAX_TERMS = 100_000


def normal_quantile(p: float) -> float:
    """Return the quantile z of the standard normal distribution with P(Z <= z) = p."""
    if not 0.0 < p < 1.0:
        raise ValueError(f"a normal quantile needs 0 < p < 1, got {p}")
    return _STANDARD_NORMAL.inv_cdf(p)


def normal_cdf(z: float) -> float:
    """Return P(Z <= z) of the standard normal distribution."""
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def incomplete_beta(
    x: float,
    a: float,
    b: float,
) -> float:
    """Return the regularised incomplete beta function I_x(a, b): the CDF of Beta(a, b) at x."""
    if a <= 0.0 or b <= 0.0:
        raise ValueError(
            f"the beta distribution needs positive parameters, got a={a}, b={b}"
        )
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    # The continued fraction converges fast only left of the mean; right of it, its mirror image does.
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - _beta_left(1.0 - x, b, a)
    return _beta_left(x, a, b)


def _beta_left(
    x: float,
    a: float,
    b: float,
) -> float:
    log_front = (
        math.lgamma(a + b)
        - math.lgamma(a)
        - math.lgamma(b)
        + a * math.log(x)
        + b * math.log1p(-x)
    )
    return math.exp(log_front) * _beta_fraction(x, a, b) / a


def _beta_fraction(
    x: float,
    a: float,
    b: float,
) -> float:
    """Return the continued fraction of the incomplete beta function, computed forwards (Lentz's method)."""
    numerator = 1.0
    first = 1.0 - (a + b) * x / (a + 1.0)
    denominator = 1.0 / _away_from_zero(first)
    fraction = denominator
    for m in range(1, _MAX_TERMS):
        end = a + 2 * m
        even = m * (b - m) * x / ((end - 1) * end)
        odd = -(a + m) * (a + b + m) * x / (end * (end + 1))
        change = 1.0
        for coefficient in (even, odd):
            next_denominator = _away_from_zero(1.0 + coefficient * denominator)
            denominator = 1.0 / next_denominator
            numerator = _away_from_zero(1.0 + coefficient / numerator)
            change = numerator * denominator
            fraction *= change
        if abs(change - 1.0) < 1e-15:
            return fraction
    point = f"x={x}, a={a}, b={b}"
    raise ArithmeticError(f"the incomplete beta function did not converge at {point}")


def _away_from_zero(value: float) -> float:
    if abs(value) > _TINY:
        return value
    return _TINY


@lru_cache(maxsize=4096)
def beta_quantile(
    p: float,
    a: float,
    b: float,
) -> float:
    """Return the x with I_x(a, b) = p."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"a beta quantile needs 0 <= p <= 1, got {p}")
    low = 0.0
    high = 1.0
    while True:
        middle = (low + high) / 2.0
        if middle <= low or middle >= high or high - low < 1e-15 * high:
            return middle
        if incomplete_beta(middle, a, b) < p:
            low = middle
        else:
            high = middle


def t_two_sided(t: float, df: float) -> float:
    """Return P(|T| >= |t|), the two-sided p of a t statistic."""
    if df <= 0.0:
        raise ValueError(f"Student's t needs df > 0, got {df}")
    if math.isinf(t):
        return 0.0
    return incomplete_beta(df / (df + t * t), df / 2.0, 0.5)


@lru_cache(maxsize=4096)
def t_quantile(p: float, df: float) -> float:
    """Return the t with P(T <= t) = p for Student's t with `df` degrees of freedom."""
    if not 0.0 < p < 1.0:
        raise ValueError(f"a t quantile needs 0 < p < 1, got {p}")
    if p == 0.5:
        return 0.0
    tail = 2.0 * min(p, 1.0 - p)
    low = 0.0
    high = 1.0
    while t_two_sided(high, df) > tail:
        low = high
        high = high * 2.0
    while True:
        middle = (low + high) / 2.0
        if middle <= low or middle >= high or high - low < 1e-15 * high:
            break
        if t_two_sided(middle, df) > tail:
            low = middle
        else:
            high = middle
    return math.copysign(middle, p - 0.5)


def t_power(
    shift: float,
    df: float,
    alpha: float,
) -> float:
    """Return the power of a two-sided t test at `alpha` if the mean is `shift` standard errors from 0.

    The probability of rejection given the estimated standard error is integrated over
    the distribution of that error, in units of the true one (Simpson's rule, 2,000
    steps, up to 10 deviations on each side of the mode).
    """
    if df < 1:
        raise ValueError(f"the power of a t test needs df >= 1, got {df}")
    critical = t_quantile(1 - alpha / 2, df)
    centre = math.sqrt(max(df - 1, 0.0) / df)
    deviation = 1 / math.sqrt(2 * df)
    low = max(1e-12, centre - 10 * deviation)
    high = centre + 10 * deviation
    steps = 2000
    width = (high - low) / steps
    half_df = df / 2
    log_front = math.log(2) + half_df * math.log(half_df) - math.lgamma(half_df)

    def integrand(error: float) -> float:
        log_error = math.log(error)
        density = math.exp(log_front + (df - 1) * log_error - df * error * error / 2)
        bar = critical * error
        rejected = normal_cdf(shift - bar) + normal_cdf(-shift - bar)
        return density * rejected

    terms = []
    for step in range(1, steps):
        weight = 4 if step % 2 else 2
        terms.append(weight * integrand(low + step * width))
    ends = integrand(low) + integrand(high)
    return (ends + math.fsum(terms)) * width / 3

"""Means with their standard error and interval: what every summary row prints.

A binary mean gets Wilson's interval, a clustered mean Student's t on clusters, any other mean the central
limit theorem with t. Fewer than two samples, or one cluster, has no standard error: it is `None`, never 0.
Values without any spread would make an interval without width: `unseen_spread` takes its place.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from .clusters import cluster_codes, cluster_sums, finite
from .distributions import beta_quantile, normal_quantile, t_quantile

NO_SPREAD = "no spread seen"
Ends = tuple[float, float]
"""The lowest and the highest value a score can have."""
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with what is known about its error."""

    value: float
    stderr: float | None
    """`None` where it cannot be known: fewer than two samples, or a single cluster. 0 says that no spread was seen,
    not that there is none: an interval, where there is one, has a width all the same."""
    low: float | None
    high: float | None
    n: int
    clusters: int | None
    """How many clusters the samples fall into; `None` where the samples count as independent."""
    method: str
    """How the interval was made, in words a table can print."""


def wilson(k: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of k successes in n: the default for a proportion."""
    _check_counts(k, n)
    z = _z(level)
    share = k / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # At the ends the bound is exactly the end; rounding would leave it 1e-17 away.
    return (0.0 if k == 0 else max(0.0, centre - half)), (1.0 if k == n else min(1.0, centre + half))


def clopper_pearson(k: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The exact interval: covers at least `level` for every true share, and is therefore wide."""
    _check_counts(k, n)
    tail = (1 - level) / 2
    low = 0.0 if k == 0 else beta_quantile(tail, k, n - k + 1)
    high = 1.0 if k == n else beta_quantile(1 - tail, k + 1, n - k)
    return low, high


def jeffreys(k: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The equal-tailed interval of Beta(k + 1/2, n - k + 1/2), not stretched to 0 or 1 at the ends."""
    _check_counts(k, n)
    tail = (1 - level) / 2
    return beta_quantile(tail, k + 0.5, n - k + 0.5), beta_quantile(1 - tail, k + 0.5, n - k + 0.5)


def wald(k: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The textbook interval, for comparison only: at 0 or n successes it has no width. Cut to [0, 1]."""
    _check_counts(k, n)
    share = k / n
    half = _z(level) * math.sqrt(share * (1 - share) / n)
    return max(0.0, share - half), min(1.0, share + half)


def unseen_spread(value: float, trials: int, ends: Ends, level: float = 0.95) -> tuple[float, float]:
    """An interval for a mean of which every trial gave `value`.

    How many of all others may differ is known: with 0 of `trials` seen, at most Clopper and Pearson's upper bound.
    Should these lie at an end of the scale, the mean lies where this interval ends. At an end of the scale it is
    Clopper and Pearson's own interval.
    """
    share = clopper_pearson(0, trials, level)[1]
    return value - share * (value - ends[0]), value + share * (ends[1] - value)


def is_constant(low: float, high: float) -> bool:
    """Whether two numbers differ by no more than rounding."""
    return high - low <= _ROUNDING * max(abs(low), abs(high))


def _mean(numbers: Sequence[float]) -> float:
    """The mean, which rounding does not carry outside of its numbers: on equal ones it is the number itself."""
    return min(max(math.fsum(numbers) / len(numbers), min(numbers)), max(numbers))


def _has_no_spread(stderr: float, numbers: Sequence[float]) -> bool:
    largest = max(map(abs, numbers))
    return is_constant(largest, largest + stderr)


def without_spread(value: float, n: int, clusters: int | None, ends: Ends | None, level: float) -> Estimate:
    """What is known of a mean whose samples, or clusters, are all alike: nothing, unless the scale ends somewhere."""
    if ends is None or not ends[0] <= value <= ends[1]:
        return Estimate(value, 0.0, None, None, n, clusters, f"n/a: {NO_SPREAD}")
    low, high = unseen_spread(value, n if clusters is None else clusters, ends, level)
    where = "" if clusters is None else " on clusters"
    return Estimate(value, 0.0, low, high, n, clusters, f"exact{where}, {NO_SPREAD}")


def mean_interval(values: Sequence[float], level: float = 0.95, *, ends: Ends | None = None) -> Estimate:
    """The mean, its standard error (ddof = 1) and Student's t interval, which may leave the score's range.

    Equal values have an interval only where `ends` says between which values the score lies.
    """
    numbers = finite(values)
    n = len(numbers)
    mean = _mean(numbers)
    if n < 2:
        return Estimate(mean, None, None, None, n, None, "n/a: one sample")
    stderr = math.sqrt(math.fsum((number - mean) ** 2 for number in numbers) / (n - 1) / n)
    if _has_no_spread(stderr, numbers):
        return without_spread(mean, n, None, ends, level)
    half = t_quantile((1 + level) / 2, n - 1) * stderr
    return Estimate(mean, stderr, mean - half, mean + half, n, None, "t")


def proportion(values: Sequence[float], level: float = 0.95) -> Estimate:
    """The share of ones among values of 0 and 1, with Wilson's interval."""
    numbers = finite(values)
    if not _all_binary(numbers):
        raise ValueError("a proportion needs values of 0 or 1; use mean_interval for other scores")
    plain = mean_interval(numbers, level, ends=(0.0, 1.0))
    if plain.stderr is None:
        return plain
    low, high = wilson(math.fsum(numbers), plain.n, level)
    return Estimate(plain.value, plain.stderr, low, high, plain.n, None, "wilson")


def clustered_mean(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    level: float = 0.95,
    *,
    binary: bool | None = None,
    ends: Ends | None = None,
) -> Estimate:
    """The mean over samples; its error allows for samples of one cluster going right or wrong together.

    Residuals are summed within clusters, and the variance has the factor C / (C - 1), so that clusters of
    one sample each give the plain standard error. The t interval of binary values is cut to [0, 1]. Where
    all clusters are alike they show no variance and t would have no width: an interval with each cluster as one
    trial takes its place, Wilson's for binary values that are all equal, else that of `unseen_spread`.
    """
    numbers = finite(values)
    codes = cluster_codes(clusters, len(numbers))
    n, count = len(numbers), max(codes) + 1
    mean = _mean(numbers)
    if count < 2:
        return Estimate(mean, None, None, None, n, count, "n/a: one cluster")
    residuals = cluster_sums([number - mean for number in numbers], codes)
    variance = math.fsum(residual**2 for residual in residuals) / n**2 * count / (count - 1)
    stderr = math.sqrt(variance)
    if binary is None:
        binary = _all_binary(numbers)
    if binary and mean in (0.0, 1.0):
        low, high = wilson(mean * count, count, level)
        return Estimate(mean, stderr, low, high, n, count, "wilson on clusters")
    if _has_no_spread(stderr, numbers):
        return without_spread(mean, n, count, (0.0, 1.0) if binary else ends, level)
    half = t_quantile((1 + level) / 2, count - 1) * stderr
    low, high = mean - half, mean + half
    if binary:
        low, high = max(0.0, low), min(1.0, high)
    return Estimate(mean, stderr, low, high, n, count, "t on clusters")


def estimate_mean(
    values: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
    *,
    binary: bool | None = None,
    ends: Ends | None = None,
) -> Estimate:
    """The mean with the interval its data call for: Wilson, t on clusters, or t.

    `binary` says whether the score can only be 0 or 1; left out, it is read off the values. Say `False` for
    a rating or another open scale: a run where everybody got 1 of 5 looks binary and is not. `ends` are the
    lowest and the highest value the score can have, where they are known.
    """
    if clusters is not None:
        return clustered_mean(values, clusters, level, binary=binary, ends=ends)
    if binary is None:
        binary = _all_binary(finite(values))
    return proportion(values, level) if binary else mean_interval(values, level, ends=ends)


def _all_binary(numbers: Sequence[float]) -> bool:
    return all(number in (0.0, 1.0) for number in numbers)


def _check_counts(k: float, n: int) -> None:
    if n < 1 or not 0 <= k <= n:
        raise ValueError(f"a proportion needs 0 <= k <= n and n >= 1, got k={k}, n={n}")


def _z(level: float) -> float:
    return normal_quantile((1 + level) / 2)

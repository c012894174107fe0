"""Means with their standard error and interval: what every summary row prints.

Right-or-wrong scores have `share_interval`; other means, and all means over clusters, the score interval of `spreads`
where the scale has ends, else Student's t. Fewer than two samples, or one cluster, has no standard error: it is `None`,
never 0. Values without any spread would make an interval without width: `unseen_spread` takes its place.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace

from .clusters import cluster_codes, cluster_sums, finite
from .estimate import Ends, Estimate, Spread, flag_few_units
from .proportions import share_interval, unseen_spread
from .spreads import cluster_prior, fourth_moment_df, limits, seen_units

NO_SPREAD = "no spread seen"
UNIT: Ends = (0.0, 1.0)
_ROUNDING = 1e-12


def is_constant(low: float, high: float) -> bool:
    """Whether two numbers differ by no more than rounding."""
    return high - low <= _ROUNDING * max(abs(low), abs(high))


def _mean(numbers: Sequence[float]) -> float:
    """The mean, which rounding does not carry outside of its numbers: on equal ones it is the number itself."""
    return min(max(math.fsum(numbers) / len(numbers), min(numbers)), max(numbers))


def _has_no_spread(stderr: float, numbers: Sequence[float]) -> bool:
    largest = max(map(abs, numbers))
    return is_constant(largest, largest + stderr)


def without_spread(
    value: float, n: int, clusters: int | None, ends: Ends | None, level: float
) -> Estimate:
    """What is known of a mean whose samples, or clusters, are all alike: nothing, unless the scale ends somewhere."""
    if ends is None or math.isinf(ends[1]) or not ends[0] <= value <= ends[1]:
        return Estimate(value, 0.0, None, None, n, clusters, f"n/a: {NO_SPREAD}")
    low, high = unseen_spread(value, n if clusters is None else clusters, ends, level)
    where = "" if clusters is None else " on clusters"
    return Estimate(
        value, 0.0, low, high, n, clusters, f"exact{where}, {NO_SPREAD}", ends
    )


def _known(ends: Ends | None, numbers: Sequence[float]) -> Ends | None:
    """The ends of the scale; `None` where a value lies outside of them."""
    return (
        ends
        if ends is not None and ends[0] <= min(numbers) and max(numbers) <= ends[1]
        else None
    )


def mean_interval(
    values: Sequence[float], level: float = 0.95, *, ends: Ends | None = None
) -> Estimate:
    """The mean, its standard error (ddof = 1) and its interval: the score interval between `ends`, else Student's t.

    Equal values have an interval only where `ends` says between which values the score lies.
    """
    numbers = finite(values)
    n = len(numbers)
    mean = _mean(numbers)
    if n < 2:
        return Estimate(
            mean,
            None,
            None,
            None,
            n,
            None,
            "n/a: one sample",
            _known(ends, numbers),
            Spread(0.0, n),
        )
    squares = [(number - mean) ** 2 for number in numbers]
    variance = math.fsum(squares) / (n - 1) / n
    scale = _known(ends, numbers)
    if _has_no_spread(math.sqrt(variance), numbers):
        return replace(
            without_spread(mean, n, None, ends, level),
            scale=scale,
            spread=Spread(0.0, n, df=n - 1),
        )
    units = seen_units(squares)
    # Between ends the prior allows for what was not seen; on an open scale only the degrees of freedom can.
    spread = Spread(
        variance, n, 1.0, units, fourth_moment_df(units, n) if scale is None else n - 1
    )
    low, high = limits(mean, spread, scale, level)
    estimate = Estimate(
        mean,
        math.sqrt(variance),
        low,
        high,
        n,
        None,
        "t" if scale is None else "score",
        scale,
        spread,
    )
    return flag_few_units(estimate) if scale is None else estimate


def proportion(values: Sequence[float], level: float = 0.95) -> Estimate:
    """The share of ones among values of 0 and 1, with its exact or Wilson's interval."""
    numbers = finite(values)
    if not _all_binary(numbers):
        raise ValueError(
            "a proportion needs values of 0 or 1; use mean_interval for other scores"
        )
    n, k = len(numbers), int(math.fsum(numbers))
    if n < 2:
        return Estimate(
            k / n, None, None, None, n, None, "n/a: one sample", UNIT, Spread(0.0, n)
        )
    variance = k * (n - k) / n / (n - 1) / n
    (low, high), method = share_interval(k, n, level)
    # The squares of k residuals (n - k) / n and of n - k residuals k / n, in units of 1 / n².
    fourth = k * (n - k) ** 4 + (n - k) * k**4
    units = (k * (n - k) * n) ** 2 / fourth if fourth else 0.0
    spread = Spread(variance, n, 1.0, units, n - 1)
    return Estimate(
        k / n, math.sqrt(variance), low, high, n, None, method, UNIT, spread
    )


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
    one sample each give the plain standard error. The interval also allows for clusters that weigh much, and for a
    spread that few of them make up. Where all clusters are alike they show no variance: the interval of `unseen_spread`
    with each cluster as one trial takes its place.
    """
    numbers = finite(values)
    codes = cluster_codes(clusters, len(numbers))
    n, count = len(numbers), max(codes) + 1
    mean = _mean(numbers)
    if binary is None:
        binary = _all_binary(numbers)
    scale = UNIT if binary else _known(ends, numbers)
    sizes = cluster_sums([1.0] * n, codes)
    prior = cluster_prior(n, n * n / math.fsum(size * size for size in sizes))
    if count < 2:
        return Estimate(
            mean,
            None,
            None,
            None,
            n,
            count,
            "n/a: one cluster",
            scale,
            Spread(0.0, n, prior),
        )
    squares = [
        residual**2
        for residual in cluster_sums([number - mean for number in numbers], codes)
    ]
    stderr = math.sqrt(math.fsum(squares) * count / (count - 1)) / n
    if _has_no_spread(stderr, numbers):
        estimate = without_spread(mean, n, count, UNIT if binary else ends, level)
        return replace(
            estimate, scale=scale, spread=Spread(0.0, n, prior, df=count - 1)
        )
    variance = (
        math.fsum(
            square / (1 - size / n) for square, size in zip(squares, sizes, strict=True)
        )
        / n**2
    )
    units = seen_units(squares)
    spread = Spread(variance, n, prior, units, fourth_moment_df(units, count))
    low, high = limits(mean, spread, scale, level)
    method = "t on clusters" if scale is None else "score on clusters"
    return flag_few_units(
        Estimate(mean, stderr, low, high, n, count, method, scale, spread)
    )


def estimate_mean(
    values: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
    *,
    binary: bool | None = None,
    ends: Ends | None = None,
) -> Estimate:
    """The mean with the interval its data call for: that of a share, a score interval, or t; on clusters if given.

    `binary` says whether the score can only be 0 or 1; left out, it is read off the values. Say `False` for
    a rating or another open scale: a run where everybody got 1 of 5 looks binary and is not. `ends` are the
    lowest and the highest value the score can have, where they are known.
    """
    if clusters is not None and max(
        cluster_codes(clusters, len(values)), default=0
    ) + 1 < len(values):
        return clustered_mean(values, clusters, level, binary=binary, ends=ends)
    if binary is None:
        binary = _all_binary(finite(values))
    estimate = (
        proportion(values, level) if binary else mean_interval(values, level, ends=ends)
    )
    # Where each sample is a cluster of its own they are independent.
    return estimate if clusters is None else replace(estimate, clusters=estimate.n)


def _all_binary(numbers: Sequence[float]) -> bool:
    return all(number in (0.0, 1.0) for number in numbers)

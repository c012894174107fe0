"""Means with their standard error and interval, as in every row of a summary.

Right-or-wrong scores get `share_interval`. Other means, and all means over clusters,
get the score interval of `spreads` if the scale has ends, otherwise Student's t. With
fewer than two samples or one cluster the standard error is None, never 0. Values
without any spread would give an interval without width; they get `unseen_spread`
instead.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace

from .estimate import (
    Ends,
    Estimate,
    Spread,
    cluster_codes,
    cluster_sums,
    expected_variances,
    finite,
    flag_few_units,
    flag_skewed,
    kish_size,
    size_balance,
)
from .proportions import share_interval, unseen_spread
from .spreads import (
    cluster_prior,
    fourth_moment_df,
    large_share,
    limits,
    seen_units,
    skewness_of_sum,
)

NO_SPREAD = "no spread seen"
ONE_SAMPLE = "one sample"
ONE_CLUSTER = "one cluster"
UNIT: Ends = (0.0, 1.0)
UNSEEN_SAMPLES = 1.25
"""How many imagined observations with the largest possible variance are added to a mean of graded scores.

If all scores so far are low (as with pass^k), there may still be a 1 to come. The
number was found by simulation (bench/coverage.py); with half an observation, the
intervals cover 90 to 92 % in this case.
"""
UNSEEN_CLUSTERS = 0.5
"""The same for a mean over clusters of equal size. The assumed variance allows for correlated samples."""
_ROUNDING = 1e-12


def is_constant(low: float, high: float) -> bool:
    """Return True if two numbers differ by no more than rounding."""
    return high - low <= _ROUNDING * max(abs(low), abs(high))


def without_spread(
    value: float,
    n: int,
    clusters: int | None,
    ends: Ends | None,
    level: float,
) -> Estimate:
    """Return the estimate of a mean if all samples or clusters are equal. It has an
    interval only if the scale has ends.
    """
    if not _has_scale(value, ends):
        method = f"n/a: {NO_SPREAD}"
        return Estimate(value, 0.0, None, None, n, clusters, method)
    assert ends is not None
    trials = n
    method = f"exact, {NO_SPREAD}"
    if clusters is not None:
        trials = clusters
        method = f"exact on clusters, {NO_SPREAD}"
    low, high = unseen_spread(value, trials, ends, level)
    return Estimate(value, 0.0, low, high, n, clusters, method, ends)


def _has_scale(
    value: float,
    ends: Ends | None,
) -> bool:
    """Return True if the scale has two finite ends and contains the value."""
    if ends is None or math.isinf(ends[1]):
        return False
    return ends[0] <= value <= ends[1]


def mean_interval(
    values: Sequence[float],
    level: float = 0.95,
    *,
    ends: Ends | None = None,
    correct_skew: bool = True,
) -> Estimate:
    """Return the mean, its standard error (ddof = 1) and its interval.

    With `ends` it is the score interval between them. Otherwise it is Student's t
    interval, corrected for skewed values unless `correct_skew` is False. Equal values
    have an interval only if `ends` are known.
    """
    numbers = finite(values)
    n = len(numbers)
    mean = _mean(numbers)
    scale = _scale_of(ends, numbers)
    if n < 2:
        spread = Spread(0.0, n)
        return Estimate.without_interval(
            mean,
            n,
            ONE_SAMPLE,
            scale=scale,
            spread=spread,
        )
    residuals = [number - mean for number in numbers]
    squares = [residual * residual for residual in residuals]
    variance = math.fsum(squares) / (n - 1) / n
    stderr = math.sqrt(variance)
    if _has_no_spread(stderr, numbers):
        spread = Spread(0.0, n, df=n - 1)
        estimate = without_spread(mean, n, None, ends, level)
        return replace(estimate, scale=scale, spread=spread)
    units = seen_units(squares)
    if scale is not None:
        # Between ends the prior allows for unseen values; on an open scale only the degrees of freedom can.
        spread = Spread(variance, n, 1.0, units, n - 1, UNSEEN_SAMPLES)
        low, high = limits(mean, spread, scale, level)
        return Estimate(mean, stderr, low, high, n, None, "score", scale, spread)
    if correct_skew:
        skew = skewness_of_sum(residuals)
    else:
        skew = 0.0
    df = fourth_moment_df(units, n)
    spread = Spread(variance, n, 1.0, units, df, skew=skew)
    low, high = limits(mean, spread, None, level)
    estimate = Estimate(mean, stderr, low, high, n, None, "t", None, spread)
    return flag_skewed(flag_few_units(estimate))


def proportion(
    values: Sequence[float],
    level: float = 0.95,
) -> Estimate:
    """Return the share of ones among values of 0 and 1, with its exact or Wilson's interval."""
    numbers = finite(values)
    if not _all_binary(numbers):
        raise ValueError(
            "a proportion needs values of 0 or 1; use mean_interval for other scores"
        )
    n = len(numbers)
    right = int(math.fsum(numbers))
    share = right / n
    if n < 2:
        spread = Spread(0.0, n)
        return Estimate.without_interval(
            share,
            n,
            ONE_SAMPLE,
            scale=UNIT,
            spread=spread,
        )
    wrong = n - right
    variance = right * wrong / n / (n - 1) / n
    (low, high), method = share_interval(right, n, level)
    units = _units_of_share(right, wrong)
    spread = Spread(variance, n, 1.0, units, n - 1)
    stderr = math.sqrt(variance)
    return Estimate(share, stderr, low, high, n, None, method, UNIT, spread)


def _units_of_share(right: int, wrong: int) -> float:
    """Return the result of `seen_units` for a share, by a direct formula.

    The residuals of a share are wrong / n for each of `right` samples, and right / n
    for each of `wrong` samples.
    """
    n = right + wrong
    fourth_powers = right * wrong**4 + wrong * right**4
    if not fourth_powers:
        return 0.0
    squares = right * wrong * n
    return float(squares**2 / fourth_powers)


def clustered_mean(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    level: float = 0.95,
    *,
    binary: bool | None = None,
    ends: Ends | None = None,
    correct_skew: bool = True,
) -> Estimate:
    """Return the mean over samples with an error that allows for samples of one cluster being right or wrong together.

    Residuals are summed within clusters, and the variance has the factor C / (C - 1),
    so that clusters of one sample give the ordinary standard error. The interval also
    allows for clusters with a large weight, and for a spread that comes from few
    clusters. If all clusters are alike they show no variance: the interval is then that
    of `unseen_spread`, with each cluster as one trial.
    """
    numbers = finite(values)
    codes = cluster_codes(clusters, len(numbers))
    n = len(numbers)
    count = max(codes) + 1
    mean = _mean(numbers)
    if binary is None:
        binary = _all_binary(numbers)
    scale = UNIT if binary else _scale_of(ends, numbers)
    sizes = cluster_sums([1.0] * n, codes)
    balance = size_balance(sizes)
    prior = cluster_prior(n, kish_size(sizes), balance)
    unseen = UNSEEN_CLUSTERS / balance
    if count < 2:
        return Estimate.without_interval(
            mean,
            n,
            ONE_CLUSTER,
            clusters=count,
            scale=scale,
            spread=Spread(0.0, n, prior, unseen=unseen),
        )
    residuals = cluster_sums([number - mean for number in numbers], codes)
    squares = [residual * residual for residual in residuals]
    stderr = math.sqrt(math.fsum(squares) * count / (count - 1)) / n
    if _has_no_spread(stderr, numbers):
        spread = Spread(
            0.0,
            n,
            prior,
            df=count - 1,
            unseen=unseen,
        )
        estimate = without_spread(mean, n, count, UNIT if binary else ends, level)
        return replace(estimate, scale=scale, spread=spread)
    units = seen_units(squares) * large_share(squares, sizes, expected_variances(sizes))
    spread = Spread(
        variance=_leverage_corrected(squares, sizes, n),
        base=n,
        prior=prior,
        seen=units,
        df=fourth_moment_df(units, count),
        unseen=unseen,
        skew=skewness_of_sum(residuals) if correct_skew and scale is None else 0.0,
    )
    low, high = limits(mean, spread, scale, level)
    method = "t on clusters" if scale is None else "score on clusters"
    estimate = Estimate(mean, stderr, low, high, n, count, method, scale, spread)
    return flag_skewed(flag_few_units(estimate, sizes))


def _leverage_corrected(
    squares: Sequence[float],
    sizes: Sequence[float],
    n: int,
) -> float:
    """Return the CR2 variance of a mean over clusters. It divides each squared sum by 1
    minus the cluster's share of samples.
    """
    terms = []
    for square, size in zip(squares, sizes, strict=True):
        terms.append(square / (1 - size / n))
    return math.fsum(terms) / n**2


def estimate_mean(
    values: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
    *,
    binary: bool | None = None,
    ends: Ends | None = None,
) -> Estimate:
    """Return the mean with the interval that fits the data: that of a share, a score interval, or Student's t.

    `binary` is True if the score can only be 0 or 1. By default the values decide. Set
    it to False for a rating or another open scale: a run in which all samples got 1 of
    5 looks binary but is not. `ends` are the lowest and the highest possible score, if
    known.
    """
    if clusters is not None:
        count = max(cluster_codes(clusters, len(values)), default=0) + 1
        if count < len(values):
            return clustered_mean(
                values,
                clusters,
                level,
                binary=binary,
                ends=ends,
            )
    if binary is None:
        binary = _all_binary(finite(values))
    if binary:
        estimate = proportion(values, level)
    else:
        estimate = mean_interval(values, level, ends=ends)
    if clusters is None:
        return estimate
    # Each sample is a separate cluster, so the samples are independent.
    return replace(estimate, clusters=estimate.n)


def _mean(numbers: Sequence[float]) -> float:
    """Return the mean. Rounding never moves it outside the range of the values, so it is exact if all are equal."""
    mean = math.fsum(numbers) / len(numbers)
    return min(max(mean, min(numbers)), max(numbers))


def _has_no_spread(
    stderr: float,
    numbers: Sequence[float],
) -> bool:
    """Return True if the standard error is a rounding error."""
    largest = max(map(abs, numbers))
    return is_constant(largest, largest + stderr)


def _scale_of(
    ends: Ends | None,
    numbers: Sequence[float],
) -> Ends | None:
    """Return the ends of the scale; None if they are unknown or a value is outside of them."""
    if ends is None or min(numbers) < ends[0] or max(numbers) > ends[1]:
        return None
    return ends


def _all_binary(numbers: Sequence[float]) -> bool:
    return all(number in (0.0, 1.0) for number in numbers)

"""Aggregates over groups of samples or over tasks: micro, macro and weighted means."""

import math
from collections.abc import Sequence

from .estimate import Ends, Estimate, Spread, flag_few_units
from .proportions import unseen_spread
from .spreads import limits


def micro(
    parts: Sequence[Estimate],
    level: float = 0.95,
) -> Estimate:
    """Return the mean over all samples of all parts, so that each part is weighted by its number of samples."""
    if not sum(part.n for part in parts):
        raise ValueError("no samples in any part: there is nothing to aggregate")
    return weighted_mean(parts, [part.n for part in parts], "micro", level)


def macro(
    parts: Sequence[Estimate],
    level: float = 0.95,
) -> Estimate:
    """Return the mean of the parts' values, in which all parts have the same weight, whatever their size."""
    if not parts:
        raise ValueError("no parts: there is nothing to aggregate")
    return weighted_mean(parts, [1.0] * len(parts), "macro", level)


def weighted_mean(
    parts: Sequence[Estimate],
    weights: Sequence[float],
    method: str,
    level: float = 0.95,
) -> Estimate:
    """Combine independent estimates into a weighted mean with an interval.

    The variances are added, and the degrees of freedom follow Satterthwaite. If all
    parts have the same bounded scale, the result has a score interval, which has a
    width even if every part is perfect.

    A part with a single sample has no standard error. On a bounded scale its variance
    is replaced by the largest possible one, (value - low) * (high - value). On an open
    scale the result has no interval.
    """
    shares = _normalize(weights)
    value = math.fsum(s * part.value for s, part in zip(shares, parts, strict=True))
    n = sum(part.n for part in parts)
    clusters = _total_clusters(parts)
    scale = _common_scale(parts)
    reason = _why_no_interval(parts, scale)
    if reason:
        return Estimate.without_interval(
            value,
            n,
            reason,
            clusters=clusters,
            scale=scale,
            method=method,
        )
    single_variance = _worst_case_variance(shares, parts, value, scale)
    stderr = _standard_error(shares, parts, single_variance)
    if scale is None and stderr == 0:
        return Estimate.without_interval(
            value,
            n,
            "no spread seen",
            clusters=clusters,
            method=method,
        )
    spread = _combined_spread(shares, parts, single_variance)
    low, high = _interval(value, spread, scale, level)
    return flag_few_units(
        Estimate(value, stderr, low, high, n, clusters, method, scale, spread)
    )


def _normalize(weights: Sequence[float]) -> list[float]:
    """Return the weights divided by their sum."""
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def _total_clusters(parts: Sequence[Estimate]) -> int | None:
    """Return the number of clusters of all parts; None if a part has no clusters."""
    total = 0
    for part in parts:
        if part.clusters is None:
            return None
        total += part.clusters
    return total


def _common_scale(parts: Sequence[Estimate]) -> Ends | None:
    """Return the scale of all parts; None if they have different scales."""
    scales = {part.scale for part in parts}
    if len(scales) == 1:
        return scales.pop()
    return None


def _why_no_interval(
    parts: Sequence[Estimate],
    scale: Ends | None,
) -> str:
    """Return the reason why the mean of these parts has no interval; an empty text if it has one."""
    missing = sum(part.stderr is None for part in parts)
    if missing and scale is None:
        return "a part has no interval"
    if missing == len(parts):
        return "no part has an interval"
    return ""


def _worst_case_variance(
    shares: Sequence[float],
    parts: Sequence[Estimate],
    value: float,
    scale: Ends | None,
) -> float:
    """Return the largest variance that the scale allows around the value, for parts with a single sample."""
    if scale is None:
        return 0.0
    largest = max(0.0, (value - scale[0]) * (scale[1] - value))
    squares = [
        share * share
        for share, part in zip(shares, parts, strict=True)
        if part.stderr is None
    ]
    return math.fsum(squares) * largest


def _standard_error(
    shares: Sequence[float],
    parts: Sequence[Estimate],
    single_variance: float,
) -> float:
    """Return the standard error of the weighted sum."""
    variances = []
    for share, part in zip(shares, parts, strict=True):
        variances.append((share * (part.stderr or 0.0)) ** 2)
    return math.sqrt(math.fsum(variances) + single_variance)


def _interval(
    value: float,
    spread: Spread,
    scale: Ends | None,
    level: float,
) -> tuple[float, float]:
    """Return the interval of a weighted mean.

    If the mean is at an end of the scale, it is the interval of values without any
    spread.
    """
    if scale is None or scale[0] < value < scale[1]:
        return limits(value, spread, scale, level)
    trials = max(1, int(spread.base / spread.prior))
    return unseen_spread(value, trials, scale, level)


def _combined_spread(
    shares: Sequence[float],
    parts: Sequence[Estimate],
    single_variance: float,
) -> Spread:
    """Return the spread of the weighted sum. Parts without a variance get `single_variance`."""
    spreads = [part.spread or _spread_of(part) for part in parts]
    weights = [share * share for share in shares]
    variances = [w * s.variance for w, s in zip(weights, spreads, strict=True)]
    total = math.fsum(variances)
    inverse_bases = [w / s.base for w, s in zip(weights, spreads, strict=True)]
    inverse_base = math.fsum(inverse_bases)
    priors = [s.prior * x for s, x in zip(spreads, inverse_bases, strict=True)]

    # Use each variance as a share of the sum, because the square of a small variance may be 0 as a float.
    per_unit = []
    per_df = []
    skews = []
    for variance, spread in zip(variances, spreads, strict=True):
        if not variance:
            continue
        part = variance / total
        per_unit.append(part * part / spread.seen)
        per_df.append(part * part / spread.df)
        skews.append(part**1.5 * spread.skew)
    units_seen = 0.0
    df = float(sum(part.n for part in parts))
    if per_unit:
        units_seen = 1 / math.fsum(per_unit)
        df = max(1.0, 1 / math.fsum(per_df))
    return Spread(
        variance=total + single_variance,
        base=1 / inverse_base,
        prior=math.fsum(priors) / inverse_base,
        seen=units_seen,
        df=df,
        skew=math.fsum(skews),
    )


def _spread_of(part: Estimate) -> Spread:
    """Return the spread of a part that has only a standard error, from its number of samples or clusters."""
    units = part.n if part.clusters is None else part.clusters
    variance = (part.stderr or 0.0) ** 2
    return Spread(
        variance,
        part.n,
        seen=units,
        df=max(1, units - 1),
    )

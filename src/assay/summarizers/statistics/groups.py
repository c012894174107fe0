"""Aggregates over groups of samples or over tasks: micro, macro and pooled errors."""

import math
from collections.abc import Sequence

from .estimate import Estimate, Spread, flag_few_units
from .proportions import unseen_spread
from .spreads import limits


def micro(parts: Sequence[Estimate], level: float = 0.95) -> Estimate:
    """The mean over all samples of all parts: each part weighs as many as it has."""
    if not sum(part.n for part in parts):
        raise ValueError("no samples in any part: there is nothing to aggregate")
    return weighted_mean(parts, [part.n for part in parts], "micro", level)


def macro(parts: Sequence[Estimate], level: float = 0.95) -> Estimate:
    """The mean of the parts' values: each part weighs the same, however small."""
    if not parts:
        raise ValueError("no parts: there is nothing to aggregate")
    return weighted_mean(parts, [1.0] * len(parts), "macro", level)


def weighted_mean(
    parts: Sequence[Estimate],
    weights: Sequence[float],
    method: str,
    level: float = 0.95,
) -> Estimate:
    """A weighted mean of independent estimates; the weights are made to add up to 1.

    Variances add up, with Satterthwaite's degrees of freedom. Where all parts lie on one scale with ends the interval
    is the score interval of `spreads`, which has a width even where every part is perfect. A part of a single sample
    shows no spread of its own: it counts with the widest there can be around the value of all. On an open scale nothing
    is known of it, and there is no interval.
    """
    total = math.fsum(weights)
    shares = [weight / total for weight in weights]
    value = math.fsum(
        share * part.value for share, part in zip(shares, parts, strict=True)
    )
    n = sum(part.n for part in parts)
    counts = [part.clusters for part in parts]
    clusters = (
        sum(count or 0 for count in counts)
        if all(count is not None for count in counts)
        else None
    )
    scale = (
        parts[0].scale if all(part.scale == parts[0].scale for part in parts) else None
    )
    lone = [
        share for share, part in zip(shares, parts, strict=True) if part.stderr is None
    ]
    if lone and scale is None:
        return Estimate(
            value,
            None,
            None,
            None,
            n,
            clusters,
            f"{method}; n/a: a part has no interval",
        )
    with_error = [
        (share, part)
        for share, part in zip(shares, parts, strict=True)
        if part.stderr is not None
    ]
    if not with_error:
        return Estimate(
            value,
            None,
            None,
            None,
            n,
            clusters,
            f"{method}; n/a: no part has an interval",
            scale,
        )
    widest = 0.0 if scale is None else max(0.0, (value - scale[0]) * (scale[1] - value))
    unknown = math.fsum(share * share for share in lone) * widest
    spread = _joint_spread(
        [(share, part) for share, part in zip(shares, parts, strict=True)], unknown
    )
    stderr = math.sqrt(
        math.fsum((share * (part.stderr or 0.0)) ** 2 for share, part in with_error)
        + unknown
    )
    if scale is None and not stderr:
        return Estimate(
            value, None, None, None, n, clusters, f"{method}; n/a: no spread seen"
        )
    if scale is not None and not scale[0] < value < scale[1]:
        low, high = unseen_spread(
            value, max(1, int(spread.base / spread.prior)), scale, level
        )
    else:
        low, high = limits(value, spread, scale, level)
    return flag_few_units(
        Estimate(value, stderr, low, high, n, clusters, method, scale, spread)
    )


def _joint_spread(parts: Sequence[tuple[float, Estimate]], unknown: float) -> Spread:
    """The spread of a weighted sum; `unknown` is the variance of the parts that show none of their own."""
    spreads = [(share**2, part.spread or _spread_of(part)) for share, part in parts]
    variance_sum = math.fsum(weight * spread.variance for weight, spread in spreads)
    base = math.fsum(weight / spread.base for weight, spread in spreads)
    # Each variance as a share of the sum: the square of a small one may be 0 as a float.
    shares = [
        (weight * spread.variance / variance_sum, spread)
        for weight, spread in spreads
        if variance_sum
    ]
    terms = [share**2 / spread.seen for share, spread in shares if share]
    freedom = [share**2 / spread.df for share, spread in shares if share]
    return Spread(
        variance=variance_sum + unknown,
        base=1 / base,
        prior=math.fsum(
            spread.prior * weight / spread.base for weight, spread in spreads
        )
        / base,
        seen=1 / math.fsum(terms) if terms else 0.0,
        df=max(1.0, 1 / math.fsum(freedom))
        if freedom
        else math.fsum(part.n for _, part in parts),
    )


def _spread_of(part: Estimate) -> Spread:
    """The spread of an estimate that says no more than its standard error."""
    units = part.n if part.clusters is None else part.clusters
    return Spread((part.stderr or 0.0) ** 2, part.n, seen=units, df=max(1, units - 1))

"""Corpus metrics and ratios of sums: the interval from what the value would be without each sample, or cluster.

A metric is a function of column sums (errors and words for WER, n-gram counts for BLEU), so leaving a unit out is a
subtraction instead of a second scoring: exact, the same in every run, and one pass however many units there are. Where
a stratum (a task, a group) keeps its size, variances of strata add up.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .clusters import cluster_codes
from .estimate import Ends, Estimate, Floats, Spread, flag_few_units, flag_rare
from .intervals import UNIT, estimate_mean, is_constant, without_spread
from .spreads import cluster_prior, fourth_moment_df, limits, stretched_limits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

POSITIVE: Ends = (0.0, math.inf)
"""The scale of an error rate or a perplexity."""


def jackknife(
    statistics: "Floats | Sequence[Sequence[float]]",
    function: "Callable[[Floats], Floats]",
    clusters: Sequence[Hashable] | None = None,
    strata: Sequence[Hashable] | None = None,
    *,
    ends: Ends | None = None,
    level: float = 0.95,
) -> Estimate:
    """`function` of the column sums of `statistics` (n samples x d), with its jackknife interval.

    `function` takes many rows of d sums at once and gives one value for each. For a mean over tasks, give each task its
    own columns and its name as stratum. `ends` are those of the metric: (0, 100) for BLEU, `POSITIVE` for an error
    rate; the interval then is Student's t on the logit, or on the logarithm. There is none where all units are alike,
    where a stratum has one unit, or where the value is undefined without one of them.
    """
    import numpy as np

    table = _checked(statistics)
    n = len(table)
    units, labels = unit_sums(table, clusters, strata)
    total = table.sum(axis=0)
    value = value_of(function, total)
    count = len(units) if clusters is not None else None
    sizes = np.bincount(labels)
    if sizes.min() < 2:
        what = "sample" if clusters is None else "cluster"
        where = "" if strata is None else " in a stratum"
        return Estimate(
            value, None, None, None, n, count, f"n/a: one {what}{where}", ends
        )
    without = np.asarray(function(total - units), float)
    if not np.isfinite(without).all():
        lost = "sample" if clusters is None else "cluster"
        return Estimate(
            value,
            None,
            None,
            None,
            n,
            count,
            f"n/a: undefined without one {lost}",
            ends,
        )
    spread = jackknife_spread(without, labels, n)
    stderr = math.sqrt(spread.variance)
    if is_constant(abs(value), abs(value) + stderr) or (value == 0.0 and stderr == 0.0):
        return Estimate(value, 0.0, None, None, n, count, "n/a: no spread seen", ends)
    (low, high), scale = stretched_limits(value, spread, ends, level)
    method = f"jackknife {scale}" + ("" if clusters is None else " on clusters")
    estimate = flag_few_units(
        Estimate(value, stderr, low, high, n, count, method, ends, spread)
    )
    is_open = ends is not None and math.isinf(ends[1])
    return (
        flag_rare(estimate, float(np.abs(without - value).max()))
        if is_open
        else estimate
    )


def jackknife_spread(without: "Floats", labels: "NDArray[np.intp]", n: int) -> Spread:
    """The variance of a value from what it is without each unit, and how much of it is known."""
    import numpy as np

    sizes = np.bincount(labels).astype(float)
    centres = np.bincount(labels, weights=without) / sizes
    squares = (without - centres[labels]) ** 2 * ((sizes - 1) / sizes)[labels]
    variance, largest = float(squares.sum()), float(squares.max())
    if not largest:
        return Spread(0.0, n)
    shares = squares / largest  # the square of a small one may be 0 as a float
    units = float(shares.sum()) ** 2 / float((shares**2).sum())
    free = len(without) - len(sizes) + 1
    return Spread(
        variance,
        n,
        seen=units,
        df=max(1.0, min(free - 1, fourth_moment_df(units, len(without)))),
    )


def ratio_estimate(
    numerators: Sequence[float],
    denominators: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    *,
    ends: Ends | None = POSITIVE,
    level: float = 0.95,
) -> Estimate:
    """The ratio of the two sums with its interval.

    Between two finite `ends` (a share of questions, an F1) it has the score interval of a mean, with denominators as
    the weights of its samples; else that of a corpus metric.
    """
    import numpy as np

    if len(numerators) != len(denominators):
        raise ValueError(
            f"{len(numerators)} numerators but {len(denominators)} denominators"
        )
    table = _checked(
        np.column_stack(
            [np.asarray(numerators, float), np.asarray(denominators, float)]
        )
    )
    if ends is None or math.isinf(ends[1]):
        return jackknife(
            table, ratio_of_sums, clusters, ends=_open_scale(table, ends), level=level
        )
    value = value_of(ratio_of_sums, table.sum(axis=0))
    counting = table[:, 1] != 0
    if ends == UNIT and np.isin(table, (0.0, 1.0)).all():
        keys = (
            None
            if clusters is None
            else [key for key, counts in zip(clusters, counting, strict=True) if counts]
        )
        return replace(
            estimate_mean(table[counting, 0].tolist(), keys, level, binary=True),
            n=len(table),
        )
    return _bounded_ratio(table, clusters, value, ends, level)


def _bounded_ratio(
    table: "Floats",
    clusters: Sequence[Hashable] | None,
    value: float,
    ends: Ends,
    level: float,
) -> Estimate:

    n = len(table)
    units, _ = unit_sums(table, clusters, None)
    count = len(units) if clusters is not None else None
    below = float(table[:, 1].sum())
    base = below**2 / float((table[:, 1] ** 2).sum())
    base_of_units = below**2 / float((units[:, 1] ** 2).sum())
    weighing = units[units[:, 1] != 0]
    if len(weighing) < 2:
        what = "sample" if clusters is None else "cluster"
        return Estimate(value, None, None, None, n, count, f"n/a: one {what}", ends)
    residuals = weighing[:, 0] - value * weighing[:, 1]
    squares = residuals**2 / (1 - weighing[:, 1] / below) / below**2
    variance = float(squares.sum())
    prior = 1.0 if clusters is None else cluster_prior(base, base_of_units)
    if is_constant(1.0, 1.0 + math.sqrt(variance) / (ends[1] - ends[0])):
        trials = max(1, int(base_of_units))
        estimate = without_spread(
            value,
            n,
            trials if clusters is not None or trials < n else None,
            ends,
            level,
        )
        return replace(estimate, clusters=count, spread=Spread(0.0, base, prior))
    effective_units = variance**2 / float((squares**2).sum())
    df = (
        len(weighing) - 1
        if clusters is None
        else fourth_moment_df(effective_units, len(weighing))
    )
    spread = Spread(variance, base, prior, effective_units, df)
    low, high = limits(value, spread, ends, level)
    method = "score" if clusters is None else "score on clusters"
    estimate = Estimate(
        value, math.sqrt(variance), low, high, n, count, method, ends, spread
    )
    return estimate if clusters is None else flag_few_units(estimate)


def ratio_of_sums(sums: "Floats") -> "Floats":
    """The first column over the second."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[:, 0] / sums[:, 1], float)


def unit_sums(
    table: "Floats",
    clusters: Sequence[Hashable] | None,
    strata: Sequence[Hashable] | None,
) -> "tuple[Floats, NDArray[np.intp]]":
    """What is left out or drawn as a whole (samples, or clusters summed), and the stratum of each."""
    import numpy as np

    n = len(table)
    labels = np.asarray(cluster_codes(strata, n) if strata is not None else [0] * n)
    if clusters is None:
        return table, labels
    codes = np.asarray(cluster_codes(clusters, n))
    first = np.unique(codes, return_index=True)[1]
    if (labels != labels[first][codes]).any():
        raise ValueError(
            "a cluster has samples in two strata: clusters must lie within one stratum"
        )
    units = np.zeros((len(first), table.shape[1]))
    np.add.at(units, codes, table)
    return units, labels[first]


def _open_scale(table: "Floats", ends: Ends | None) -> Ends | None:
    """An open scale that starts where `ends` says, unless a row lies below: a mean of cosines has no logarithm."""
    if ends is None or (table[:, 0] < ends[0] * table[:, 1]).any():
        return None
    return ends


def _checked(statistics: "Floats | Sequence[Sequence[float]]") -> "Floats":
    import numpy as np

    table = np.asarray(statistics, float)
    if table.ndim != 2 or not len(table):
        raise ValueError(
            "statistics must be a table with one row for each sample, and at least one row"
        )
    if not np.isfinite(table).all():
        raise ValueError("statistics must be finite numbers")
    return table


def value_of(function: "Callable[[Floats], Floats]", total: "Floats") -> float:
    """The value of a metric from the sums of its counts; an error where it has none."""
    value = float(function(total[None, :])[0])
    if not math.isfinite(value):
        raise ValueError(
            "the statistic is undefined on the full data: is the denominator 0?"
        )
    return value

"""Jackknife intervals of corpus metrics and of ratios of sums: each sample (or cluster) is left out in turn.

A metric is a function of column sums: errors and words for WER, n-gram counts for BLEU.
To leave out a sample or cluster, its counts are subtracted; nothing is scored again.
The result is exact and deterministic, and needs one pass over the data. Samples may be
in strata (tasks, groups) of fixed size. Then the variances of the strata are added up.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .estimate import (
    Ends,
    Estimate,
    Floats,
    Spread,
    cluster_codes,
    expected_variances,
    flag_few_units,
    flag_rare,
    flag_skewed,
    kish_size,
    size_balance,
)
from .intervals import (
    UNIT,
    UNSEEN_CLUSTERS,
    estimate_mean,
    is_constant,
    without_spread,
)
from .spreads import (
    cluster_prior,
    fourth_moment_df,
    large_share,
    limits,
    stretched_limits,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

POSITIVE: Ends = (0.0, math.inf)
"""Bounds of a metric without an upper limit, such as an error rate or a perplexity."""


def jackknife(
    statistics: "Floats | Sequence[Sequence[float]]",
    function: "Callable[[Floats], Floats]",
    clusters: Sequence[Hashable] | None = None,
    strata: Sequence[Hashable] | None = None,
    *,
    ends: Ends | None = None,
    level: float = 0.95,
) -> Estimate:
    """Return `function` of the column sums of `statistics` (n samples x d), with its jackknife interval.

    `function` takes many rows of d sums at once and returns one value for each. For a
    mean over tasks, give each task its own columns, and its name as stratum. `ends` is
    the scale of the metric: (0, 100) for BLEU, `POSITIVE` for an error rate. With
    `ends`, the interval is Student's t on the logit or logarithm.

    The result has no interval if all units (samples or clusters) are equal, if a
    stratum has only one, or if the value is undefined without one of them. On a logit or
    logarithm two units have none: with one degree of freedom the interval of an error
    rate may end at 24,000.
    """
    import numpy as np

    table = _check_sums(statistics)
    n = len(table)
    units, labels = unit_sums(table, clusters, strata)
    total = table.sum(axis=0)
    value = value_of(function, total)
    count = None if clusters is None else len(units)
    unit_name = "sample" if clusters is None else "cluster"

    def no_interval(reason: str) -> Estimate:
        return Estimate.without_interval(
            value,
            n,
            reason,
            clusters=count,
            scale=ends,
        )

    if np.bincount(labels).min() < 2:
        where = "" if strata is None else " in a stratum"
        return no_interval(f"one {unit_name}{where}")
    without = np.asarray(function(total - units), float)
    if not np.isfinite(without).all():
        return no_interval(f"undefined without one {unit_name}")
    spread = jackknife_spread(without, labels, n)
    stderr = math.sqrt(spread.variance)
    if is_constant(abs(value), abs(value) + stderr) or (value == 0.0 and stderr == 0.0):
        return Estimate(value, 0.0, None, None, n, count, "n/a: no spread seen", ends)
    (low, high), scale = stretched_limits(value, spread, ends, level)
    if scale != "t" and len(units) == 2:
        return no_interval(f"two {unit_name}s")
    method = f"jackknife {scale}" + ("" if clusters is None else " on clusters")
    estimate = Estimate(value, stderr, low, high, n, count, method, ends, spread)
    estimate = flag_few_units(estimate, cluster_sizes(clusters))
    if scale == "t":
        return flag_skewed(estimate)
    if ends is not None and math.isinf(ends[1]):
        return flag_rare(estimate, float(np.abs(without - value).max()))
    return estimate


def cluster_sizes(clusters: Sequence[Hashable] | None) -> list[float] | None:
    """Return the number of samples in each cluster, from the cluster key of each sample; None without clusters."""
    if clusters is None:
        return None
    return [float(size) for size in Counter(clusters).values()]


def jackknife_spread(
    without: "Floats",
    labels: "NDArray[np.intp]",
    n: int,
) -> Spread:
    """Return the spread of a value: its variance, degrees of freedom and skewness.

    `without` has the values that result if each sample or cluster is left out.
    """
    import numpy as np

    sizes = np.bincount(labels).astype(float)
    centres = np.bincount(labels, weights=without) / sizes
    # If the value is lower without a unit, that unit raised it.
    contributions = (centres[labels] - without) * np.sqrt((sizes - 1) / sizes)[labels]
    largest = float(np.abs(contributions).max())
    if not largest:
        return Spread(0.0, n)
    scaled = contributions / largest  # the square of a small number may be 0 as a float
    second = float((scaled**2).sum())
    units = second**2 / float((scaled**4).sum())
    most_df = len(without) - len(sizes)
    skew = float((scaled**3).sum()) / second**1.5
    return Spread(
        largest * largest * second,
        n,
        seen=units,
        df=max(1.0, min(most_df, fourth_moment_df(units, len(without)))),
        skew=skew,
    )


def ratio_estimate(
    numerators: Sequence[float],
    denominators: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    *,
    ends: Ends | None = POSITIVE,
    level: float = 0.95,
) -> Estimate:
    """Return the sum of the numerators divided by the sum of the denominators, with its interval.

    If both `ends` are finite (a share of questions, an F1), it is the score interval of
    a mean whose weights are the denominators. Otherwise it is the interval of a corpus
    metric.
    """
    import numpy as np

    if len(numerators) != len(denominators):
        raise ValueError(
            f"{len(numerators)} numerators but {len(denominators)} denominators"
        )
    columns = [np.asarray(numerators, float), np.asarray(denominators, float)]
    table = _check_sums(np.column_stack(columns))
    if ends is None or math.isinf(ends[1]):
        open_ends = _open_scale(table, ends)
        return jackknife(
            table,
            ratio_of_sums,
            clusters,
            ends=open_ends,
            level=level,
        )
    value = value_of(ratio_of_sums, table.sum(axis=0))
    if ends == UNIT and np.isin(table, (0.0, 1.0)).all():
        return _share_of_counted(table, clusters, level)
    return _bounded_ratio(table, clusters, value, ends, level)


def _share_of_counted(
    table: "Floats",
    clusters: Sequence[Hashable] | None,
    level: float,
) -> Estimate:
    """Return the share of ones among the rows that count, whose denominator is 1 and not 0."""
    counted = table[:, 1] != 0
    keys = None
    if clusters is not None:
        pairs = zip(clusters, counted, strict=True)
        keys = [key for key, counts in pairs if counts]
    estimate = estimate_mean(table[counted, 0].tolist(), keys, level, binary=True)
    return replace(estimate, n=len(table))


def _bounded_ratio(
    table: "Floats",
    clusters: Sequence[Hashable] | None,
    value: float,
    ends: Ends,
    level: float,
) -> Estimate:
    """Return a ratio of sums on a scale with two ends, with its score interval."""
    n = len(table)
    units, _ = unit_sums(table, clusters, None)
    count = None if clusters is None else len(units)
    weighing = units[units[:, 1] != 0]
    if len(weighing) < 2:
        reason = "one sample" if clusters is None else "one cluster"
        return Estimate.without_interval(
            value,
            n,
            reason,
            clusters=count,
            scale=ends,
        )
    sizes = weighing[:, 1].tolist()
    below = math.fsum(sizes)
    base = below**2 / float((table[:, 1] ** 2).sum())
    prior = 1.0
    # A few heavy samples decide nearly everything, as a few large clusters do.
    balance = size_balance(sizes)
    unseen = UNSEEN_CLUSTERS / balance
    if clusters is not None:
        prior = cluster_prior(base, kish_size(sizes), balance)
    residuals = weighing[:, 0] - value * weighing[:, 1]
    squares = residuals**2 / (1 - weighing[:, 1] / below) / below**2
    variance = float(squares.sum())
    stderr = math.sqrt(variance)
    if is_constant(1.0, 1.0 + stderr / (ends[1] - ends[0])):
        trials = max(1, int(kish_size(sizes)))
        trials_are_samples = clusters is None and trials >= n
        estimate = without_spread(
            value,
            n,
            None if trials_are_samples else trials,
            ends,
            level,
        )
        spread = Spread(0.0, base, prior, unseen=unseen)
        return replace(estimate, clusters=count, spread=spread)
    effective_units = variance**2 / float((squares**2).sum())
    df = float(len(weighing) - 1)
    expected = [size * size for size in sizes]
    if clusters is not None:
        df = fourth_moment_df(effective_units, len(weighing))
        expected = expected_variances(sizes)
    seen_size = effective_units * large_share(squares.tolist(), sizes, expected)
    spread = Spread(variance, base, prior, seen_size, df, unseen)
    low, high = limits(value, spread, ends, level)
    method = "score" if clusters is None else "score on clusters"
    estimate = Estimate(value, stderr, low, high, n, count, method, ends, spread)
    if clusters is None:
        return estimate
    return flag_few_units(estimate, cluster_sizes(clusters))


def ratio_of_sums(sums: "Floats") -> "Floats":
    """Return the first column divided by the second, for each row of sums."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[:, 0] / sums[:, 1], float)


def unit_sums(
    table: "Floats",
    clusters: Sequence[Hashable] | None,
    strata: Sequence[Hashable] | None,
) -> "tuple[Floats, NDArray[np.intp]]":
    """Return the counts of each unit (sample or cluster) that is left out as a whole, and its stratum."""
    import numpy as np

    n = len(table)
    labels = np.asarray(cluster_codes(strata, n) if strata is not None else [0] * n)
    if clusters is None:
        return table, labels
    codes = np.asarray(cluster_codes(clusters, n))
    first = np.unique(codes, return_index=True)[1]
    if (labels != labels[first][codes]).any():
        raise ValueError(
            "a cluster has samples in two strata: clusters must be within one stratum"
        )
    units = np.zeros((len(first), table.shape[1]))
    np.add.at(units, codes, table)
    return units, labels[first]


def _open_scale(
    table: "Floats",
    ends: Ends | None,
) -> Ends | None:
    """Return `ends`, a scale that is open upwards. Return None if a row is below its
    low end and so has no logarithm.
    """
    if ends is None or (table[:, 0] < ends[0] * table[:, 1]).any():
        return None
    return ends


def _check_sums(statistics: "Floats | Sequence[Sequence[float]]") -> "Floats":
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
    """Return the metric for one row of column sums. Raise if it is undefined for them."""
    value = float(function(total[None, :])[0])
    if not math.isfinite(value):
        raise ValueError(
            "the statistic is undefined on the full data: is the denominator 0?"
        )
    return value

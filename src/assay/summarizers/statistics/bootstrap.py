"""The bootstrap for ratios and corpus metrics, over sums of statistics stored with each sample.

A metric is a function of column sums (errors and words for WER, n-gram counts for BLEU), so a resample is a
matrix product instead of a second scoring. Clusters are drawn whole; strata (tasks) keep their sizes.
"""

import hashlib
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from .distributions import normal_cdf, normal_quantile
from .estimate import Ends, Estimate
from .intervals import is_constant, without_spread
from .jackknife import unit_sums

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RESAMPLES = 2000
_MAX_UNDEFINED = 0.05


def seed_of(run_id: str) -> int:
    """A seed that depends on nothing but the run's id; Python's own `hash` changes between processes."""
    return int.from_bytes(hashlib.sha256(run_id.encode()).digest()[:8], "big")


def bootstrap_ratio(
    numerators: Sequence[float],
    denominators: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    *,
    strata: Sequence[Hashable] | None = None,
    resamples: int = RESAMPLES,
    seed: int,
    level: float = 0.95,
    method: Literal["percentile", "bca"] = "percentile",
) -> Estimate:
    """The ratio of the two sums, as in a word error rate, with its bootstrap interval."""
    import numpy as np

    if len(numerators) != len(denominators):
        raise ValueError(f"{len(numerators)} numerators but {len(denominators)} denominators")
    statistics = np.column_stack([np.asarray(numerators, float), np.asarray(denominators, float)])

    def ratio(sums: "Floats") -> "Floats":
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(sums[:, 0] / sums[:, 1], float)

    return bootstrap(statistics, ratio, clusters, strata, resamples=resamples, seed=seed, level=level, method=method)


def bootstrap(
    statistics: "Floats | Sequence[Sequence[float]]",
    function: "Callable[[Floats], Floats]",
    clusters: Sequence[Hashable] | None = None,
    strata: Sequence[Hashable] | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int,
    level: float = 0.95,
    method: Literal["percentile", "bca"] = "percentile",
    ends: Ends | None = None,
) -> Estimate:
    """`function` of the column sums of `statistics` (n samples x d), with its bootstrap interval.

    `function` takes many rows of d sums at once and gives one value for each. For a macro mean over tasks,
    give each task its own columns and its name as stratum. A resample where the value is undefined (0 / 0)
    is left out and `method` says how many were; above 5 % there is no interval. Neither is there one where all
    resamples give the same value: samples that are all alike do not say how others would differ. Only for a mean whose
    scale has `ends` is that known, as by `unseen_spread`.
    """
    import numpy as np

    table = np.asarray(statistics, float)
    if table.ndim != 2 or not len(table):
        raise ValueError("statistics must be a table with one row for each sample, and at least one row")
    if not np.isfinite(table).all():
        raise ValueError("statistics must be finite numbers")
    n = len(table)
    units, labels = unit_sums(table, clusters, strata)
    blocks = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    value = float(function(table.sum(axis=0, keepdims=True))[0])
    if not np.isfinite(value):
        raise ValueError("the statistic is undefined on the full data: is the denominator 0?")
    count = len(units) if clusters is not None else None
    # A stratum with a single unit comes out the same in every resample, which would pass for certainty.
    if min(len(block) for block in blocks) < 2:
        what = "sample" if clusters is None else "cluster"
        where = "" if strata is None else " in a stratum"
        return Estimate(value, None, None, None, n, count, f"n/a: one {what}{where}")

    rng = np.random.default_rng(seed)
    sums: Any = sum(resampled_sums(units[block], resamples, rng) for block in blocks)
    draws = np.asarray(function(sums), float)
    defined = draws[np.isfinite(draws)]
    undefined = resamples - len(defined)
    label = f"bootstrap {method}, {resamples} resamples"
    if undefined:
        label += f", {undefined} undefined"
    if len(defined) < 2 or undefined > _MAX_UNDEFINED * resamples:
        return Estimate(value, None, None, None, n, count, f"n/a: {label}")
    tails = ((1 - level) / 2, (1 + level) / 2)
    if method == "bca":
        left_out = np.asarray(function(table.sum(axis=0) - units), float)
        tails = _bca_tails(value, defined, left_out[np.isfinite(left_out)], tails)
    low, high = np.quantile(defined, tails)
    if is_constant(float(low), float(high)):
        return without_spread(value, n, count, ends, level)
    return Estimate(value, float(defined.std(ddof=1)), float(low), float(high), n, count, label)


def resampled_sums(units: "Floats", resamples: int, rng: "np.random.Generator") -> "Floats":
    """The column sums of `resamples` draws of as many units as there are, with replacement."""
    import numpy as np

    n = len(units)
    sums = np.empty((resamples, units.shape[1]))
    # One resample at a time: its counts stay in the cache, and memory does not grow with `resamples`.
    for row in sums:
        row[:] = np.bincount(rng.integers(0, n, size=n), minlength=n) @ units
    return sums


def _bca_tails(value: float, draws: "Floats", left_out: "Floats", tails: tuple[float, float]) -> tuple[float, float]:
    """Where to cut the draws so that their bias and skew are corrected (Efron's BCa)."""
    below = (float((draws < value).mean()) + float((draws <= value).mean())) / 2
    if not 0.0 < below < 1.0:
        return tails
    bias = normal_quantile(below)
    deviations = left_out.mean() - left_out
    spread = float((deviations**2).sum())
    skew = float((deviations**3).sum()) / (6 * spread**1.5) if spread else 0.0

    def corrected(tail: float) -> float:
        z = bias + normal_quantile(tail)
        return normal_cdf(bias + z / (1 - skew * z))

    return corrected(tails[0]), corrected(tails[1])

"""Compare two models by a metric of the whole corpus, such as two error rates or two BLEU scores.

The interval and p of the difference come from the jackknife: each sample (or cluster)
is left out in turn, both metrics are computed again, and Student's t is applied to the
differences. The paired bootstrap, which papers report, is given in addition. With few
samples, its intervals cover the true value less often than their level promises.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

from .difference_intervals import (
    Comparison,
    PairedBootstrap,
    cluster_keys,
    common_ids,
    difference_p,
)
from .distributions import t_quantile
from .estimate import Estimate, Floats, flag_few_units, flag_skewed
from .intervals import is_constant
from .jackknife import cluster_sizes, jackknife_spread, unit_sums, value_of

if TYPE_CHECKING:
    import numpy as np

TEST = "paired jackknife t"
RESAMPLES = 1000
SEED = 0
"""The seed of the bootstrap: the same two runs always give the same interval."""


def compare_corpus(
    a: Mapping[str, Sequence[float]],
    b: Mapping[str, Sequence[float]],
    function: "Callable[[Floats], Floats]",
    clusters: Mapping[str, Hashable] | None = None,
    force: bool = False,
    *,
    level: float = 0.95,
) -> Comparison:
    """Compare a corpus metric of two models. `function` computes the metric from the sums of the samples' counts.

    `function` takes many rows of sums at once and returns one value for each. If a
    sample has several answers, their counts are added up first. A sample is a win if
    its own counts give the first model the higher value.
    """
    import numpy as np

    common = common_ids(a, b, force=force)
    n = len(common)
    first = np.asarray([a[key] for key in common], float)
    second = np.asarray([b[key] for key in common], float)
    width = first.shape[1]
    if clusters is None:
        keys = None
    else:
        keys = cluster_keys(common, clusters)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = [value_of(function, table.sum(axis=0)) for table in (first, second)]
        each = np.asarray(function(first), float) - np.asarray(function(second), float)
    units, _ = unit_sums(np.hstack([first, second]), keys, None)
    total = units.sum(axis=0)

    def gap(sums: "Floats") -> "Floats":
        return np.asarray(function(sums[:, :width]) - function(sums[:, width:]), float)

    size = max(abs(value) for value in values)
    difference = _difference(gap, total, units, n, keys, level, size)
    return Comparison(
        mean_a=values[0],
        mean_b=values[1],
        difference=difference,
        p=difference_p(difference),
        test=TEST if keys is None else f"{TEST} on clusters",
        wins=int((each > 0).sum()),
        losses=int((each < 0).sum()),
        n=n,
        only_a=len(a) - n,
        only_b=len(b) - n,
        bootstrap=_paired_bootstrap(gap, units, level, size),
    )


def _paired_bootstrap(
    gap: "Callable[[Floats], Floats]",
    units: "Floats",
    level: float,
    size: float,
) -> PairedBootstrap | None:
    """Return a bootstrap interval of the difference between two corpus scores, and its p value.

    `size`, the larger score, determines which differences are mere rounding errors.
    Return None if more than one draw in twenty has no value, or if all draws are equal
    except for rounding.
    """
    import numpy as np

    if len(units) < 2:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        draws = gap(_resampled_sums(units, RESAMPLES, np.random.default_rng(SEED)))
    draws = draws[np.isfinite(draws)]
    if len(draws) < RESAMPLES * 0.95:
        return None
    if is_constant(size, size + float(draws.max() - draws.min())):
        return None
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    beyond = min(int((draws <= 0).sum()), int((draws >= 0).sum()))
    return PairedBootstrap(
        float(low),
        float(high),
        min(1.0, 2 * (beyond + 1) / (len(draws) + 1)),
        len(draws),
    )


def _difference(
    gap: "Callable[[Floats], Floats]",
    total: "Floats",
    units: "Floats",
    n: int,
    keys: Sequence[Hashable] | None,
    level: float,
    size: float,
) -> Estimate:
    """Return the difference of two corpus scores, with an interval from the jackknife and Student's t.

    A spread that is tiny compared with `size`, the larger of the two scores, is treated
    as a rounding error.
    """
    import numpy as np

    value = float(gap(total[None, :])[0])
    count = None if keys is None else len(units)
    if len(units) < 2:
        reason = "one sample" if keys is None else "one cluster"
        return Estimate.without_interval(value, n, reason, clusters=count)
    without = gap(total - units)
    if not np.isfinite(without).all():
        reason = "undefined without one sample"
        return Estimate.without_interval(value, n, reason, clusters=count)
    spread = jackknife_spread(without, np.zeros(len(units), int), n)
    stderr = math.sqrt(spread.variance)
    # A spread that is tiny compared with the two values is rounding.
    if is_constant(size, size + stderr):
        return Estimate(value, 0.0, None, None, n, count, "n/a: no spread seen")
    half = t_quantile((1 + level) / 2, spread.df) * stderr
    low = value - half
    high = value + half
    method = "jackknife t" if keys is None else "jackknife t on clusters"
    estimate = Estimate(value, stderr, low, high, n, count, method, spread=spread)
    estimate = flag_few_units(estimate, cluster_sizes(keys))
    return flag_skewed(estimate, kind="differences")


def _resampled_sums(
    units: "Floats",
    resamples: int,
    rng: "np.random.Generator",
) -> "Floats":
    """Return the column sums for each of `resamples` draws of all units with replacement."""
    import numpy as np

    n = len(units)
    sums = np.empty((resamples, units.shape[1]))
    # One resample at a time: its counts stay in the cache, and memory does not grow with `resamples`.
    for row in sums:
        row[:] = np.bincount(rng.integers(0, n, size=n), minlength=n) @ units
    return sums

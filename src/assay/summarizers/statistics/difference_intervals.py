"""Compare two models on the same samples: the difference, its interval, and its p value.

Scores are always paired by sample id. If the samples have clusters, the interval and the test are on clusters.
Interval and p come from the same test: a 95 % interval excludes 0 exactly if p < 0.05.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .distributions import t_two_sided
from .estimate import Ends, Estimate, cluster_codes, cluster_sums, flag_skewed
from .intervals import clustered_mean, mean_interval, without_spread
from .paired_shares import mcnemar, paired_share_difference
from .spreads import skewness_of_sum

MINIMUM_OVERLAP_PERCENT = 95


@dataclass(frozen=True, slots=True)
class PairedBootstrap:
    """The bootstrap interval of a difference. The same samples are drawn for both models (Koehn 2004)."""

    low: float
    high: float
    p: float
    """The p value from the share of draws below and above 0: twice the smaller share, counting at least one draw."""
    resamples: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of two models' scores on their common samples."""

    mean_a: float
    mean_b: float
    difference: Estimate
    """The difference a - b over the common samples, with the paired standard error and
    an interval cut to possible values.
    """
    p: float
    """The p value of the difference. If and only if the interval excludes 0, it is below 1 - level."""
    test: str
    wins: int
    """The number of samples on which the first model, `a`, scored higher than the second."""
    losses: int
    n: int
    only_a: int
    only_b: int
    bootstrap: PairedBootstrap | None = None
    """The bootstrap as reported in papers on WER and BLEU; only for corpus metrics. It does not change `p`."""

    @property
    def overlap(self) -> float:
        """The share of samples that both models have, among all samples that either has."""
        return self.n / (self.n + self.only_a + self.only_b)


def compare_paired(
    a: Mapping[str, float],
    b: Mapping[str, float],
    clusters: Mapping[str, Hashable] | None = None,
    force: bool = False,
    *,
    level: float = 0.95,
    bounds: tuple[float, float] | None = None,
) -> Comparison:
    """Compare the scores by sample id. Raise if less than 95 % of the samples are common.

    The test is McNemar's mid-p for right-or-wrong scores without clusters, and the
    paired t for all others. The paired t has fewer degrees of freedom if the spread
    comes from few samples or clusters. `bounds` are the lowest and the highest value of
    the score, if known: a difference is not wider than the scale.
    """
    common = common_ids(a, b, force=force)
    n = len(common)
    only_a = len(a) - len(common)
    only_b = len(b) - len(common)
    first = [float(a[key]) for key in common]
    second = [float(b[key]) for key in common]
    differences = [x - y for x, y in zip(first, second, strict=True)]
    wins = sum(d > 0 for d in differences)
    losses = sum(d < 0 for d in differences)
    # A score with other bounds is not right-or-wrong, even if every value of a run is 1.
    binary = bounds in (None, (0.0, 1.0)) and all(
        score in (0.0, 1.0) for score in (*first, *second)
    )
    ends = _widest(first, second, (0.0, 1.0) if binary else bounds)

    if clusters is not None and len(set(cluster_keys(common, clusters))) == n:
        clusters = None  # each sample is a cluster of its own
    if clusters is None and binary:
        difference = paired_share_difference(wins, losses, n, level)
        # A single sample has no interval, and its mid-p is no evidence.
        p = mcnemar(wins, losses) if n > 1 else 1.0
        test = "McNemar mid-p"
    else:
        difference = _mean_difference(differences, common, clusters, level, ends)
        p = difference_p(difference)
        test = "paired t" if clusters is None else "paired t on clusters"

    return Comparison(
        mean_a=math.fsum(first) / n,
        mean_b=math.fsum(second) / n,
        difference=_clip(difference, ends),
        p=p,
        test=test,
        wins=wins,
        losses=losses,
        n=n,
        only_a=only_a,
        only_b=only_b,
    )


def common_ids(
    a: Mapping[str, Any],
    b: Mapping[str, Any],
    *,
    force: bool = False,
) -> list[str]:
    """Return the sorted ids of the common samples. Raise if there are none or, without `force`, less than 95 %."""
    common = sorted(a.keys() & b.keys())
    n = len(common)
    only_a = len(a) - len(common)
    only_b = len(b) - len(common)
    if not n:
        raise ValueError(
            "the two have no sample in common: were they run on the same task?"
        )
    if n * 100 < (n + only_a + only_b) * MINIMUM_OVERLAP_PERCENT and not force:
        raise ValueError(
            f"only {n} of {n + only_a + only_b} samples are in both "
            f"({only_a} only in the first, {only_b} only in the second): a paired comparison "
            f"needs {MINIMUM_OVERLAP_PERCENT} %; force it to use the common ones"
        )
    return common


def _widest(
    first: list[float],
    second: list[float],
    bounds: Ends | None,
) -> Ends | None:
    """Return the lowest and highest possible difference of two scores.

    Return None if the bounds of the score are not known, or if a score is outside of
    them.
    """
    if bounds is None or not all(
        bounds[0] <= score <= bounds[1] for score in (*first, *second)
    ):
        return None
    return bounds[0] - bounds[1], bounds[1] - bounds[0]


def _clip(
    difference: Estimate,
    ends: Ends | None,
) -> Estimate:
    """Cut the interval of a difference to possible values, without changing the standard error."""
    low = difference.low
    high = difference.high
    if (
        ends is None
        or low is None
        or high is None
        or (ends[0] <= low and high <= ends[1])
    ):
        return difference
    method = f"{difference.method}, cut to bounds"
    return replace(
        difference,
        low=max(low, ends[0]),
        high=min(high, ends[1]),
        method=method,
    )


def _mean_difference(
    differences: list[float],
    ids: Sequence[str],
    clusters: Mapping[str, Hashable] | None,
    level: float,
    ends: Ends | None,
) -> Estimate:
    """Return the mean difference with its t interval.

    If all differences are equal, use the interval that the scale allows.
    """
    mean = math.fsum(differences) / len(differences)
    residuals = [difference - mean for difference in differences]
    if clusters is None:
        estimate = mean_interval(differences, level, correct_skew=False)
    else:
        keys = cluster_keys(ids, clusters)
        residuals = cluster_sums(residuals, cluster_codes(keys, len(keys)))
        estimate = clustered_mean(
            differences,
            keys,
            level,
            binary=False,
            correct_skew=False,
        )
    if estimate.stderr != 0.0:
        skew = skewness_of_sum(residuals)
        return flag_skewed(estimate, skew, "differences")
    return without_spread(estimate.value, estimate.n, estimate.clusters, ends, level)


def cluster_keys(
    ids: Sequence[str],
    clusters: Mapping[str, Hashable],
) -> list[Hashable]:
    """Return the cluster of each sample. Raise if a sample has no cluster."""
    missing = [key for key in ids if clusters.get(key) is None]
    if missing:
        raise ValueError(
            f"sample {missing[0]!r} has no cluster key ({len(missing)} of {len(ids)} samples lack one)"
        )
    return [clusters[key] for key in ids]


def difference_p(difference: Estimate) -> float:
    """Return a p value that agrees with the interval of a difference.

    It is below 1 - level exactly if the interval excludes 0, and 1 - level if one of
    its ends is 0.
    """
    spread = difference.spread
    value = difference.value
    if spread is not None and spread.variance:
        return t_two_sided(value / math.sqrt(spread.variance), spread.df)
    if difference.stderr is None or not value:
        return 1.0
    if difference.clusters is None:
        trials = difference.n
    else:
        trials = difference.clusters
    # All differences are equal. With a mean of 0, some share of unseen differences must be at the far end of the scale.
    # On an open scale only the signs are known, and each could have been the opposite.
    if difference.scale is None:
        far = None
    elif value > 0:
        far = difference.scale[0]
    else:
        far = difference.scale[1]
    others = 0.5 if far is None else value / (value - far)
    return min(1.0, 2 * (1 - others) ** trials)

"""Two models on the same samples: the difference, its interval, and how likely it is by chance.

Always paired on sample ids. Where the samples have clusters, the interval and the test are on clusters. Where all
differences are equal there is an interval for right-or-wrong scores only: of others the scale is not known.
"""

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

from .clusters import cluster_codes, cluster_sums
from .distributions import t_two_sided
from .intervals import Ends, Estimate, clustered_mean, mean_interval
from .paired_tests import EXACT_SIGN_FLIPS, mcnemar, sign_flip

MINIMUM_OVERLAP_PERCENT = 95


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two models' scores on their common samples say about each other."""

    mean_a: float
    mean_b: float
    difference: Estimate
    """a - b over the common samples, with the paired standard error and t interval, cut to what the scale allows."""
    unpaired_stderr: float | None
    """What the error would be had the models seen different samples; pairing is worth the gap."""
    p: float
    test: str
    t_p: float | None
    """The p of the paired t test; too small for few samples that differ, so `p` is the one to report."""
    wins: int
    """Samples on which a scored higher."""
    losses: int
    n: int
    only_a: int
    only_b: int

    @property
    def overlap(self) -> float:
        """Common samples among all samples either model has."""
        return self.n / (self.n + self.only_a + self.only_b)


def compare_paired(
    a: Mapping[str, float],
    b: Mapping[str, float],
    clusters: Mapping[str, Hashable] | None = None,
    force: bool = False,
    *,
    seed: int = 0,
    level: float = 0.95,
    bounds: tuple[float, float] | None = None,
) -> Comparison:
    """Compare the scores by sample id; refused when the two have less than 95 % of their samples in common.

    The test is McNemar's exact one for right-or-wrong scores and the sign-flip permutation for others. With
    clusters, whole clusters flip their sign, whatever the scores: samples of one cluster move together.
    `bounds` are the lowest and the highest value of the score, where they are known: no difference is wider.
    """
    # Sorted, so that the seeded draws do not depend on the order the records were read in.
    common = sorted(a.keys() & b.keys())
    n, only_a, only_b = len(common), len(a) - len(common), len(b) - len(common)
    if not n:
        raise ValueError("the two have no sample in common: were they run on the same task?")
    if n * 100 < (n + only_a + only_b) * MINIMUM_OVERLAP_PERCENT and not force:
        raise ValueError(
            f"only {n} of {n + only_a + only_b} samples are in both "
            f"({only_a} only in the first, {only_b} only in the second): a paired comparison "
            f"needs {MINIMUM_OVERLAP_PERCENT} %; force it to use the common ones"
        )
    first, second = [float(a[key]) for key in common], [float(b[key]) for key in common]
    differences = [x - y for x, y in zip(first, second, strict=True)]
    wins, losses = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    # A scale that ends elsewhere is no right-or-wrong one, though every score of a run may be 1.
    binary = bounds in (None, (0.0, 1.0)) and all(score in (0.0, 1.0) for score in (*first, *second))
    ends = _widest(first, second, (0.0, 1.0) if binary else bounds)

    if clusters is not None:
        missing = [key for key in common if clusters.get(key) is None]
        if missing:
            raise ValueError(f"sample {missing[0]!r} has no cluster key ({len(missing)} of {n} samples lack one)")
        keys = [clusters[key] for key in common]
        difference = clustered_mean(differences, keys, level, binary=False, ends=ends)
        moves = cluster_sums(differences, cluster_codes(keys, n))
        p, test = sign_flip(moves, seed=seed), _sign_flip_name(moves) + " on clusters"
    elif binary:
        difference = mean_interval(differences, level, ends=ends)
        p, test = mcnemar(wins, losses).exact, "McNemar exact"
    else:
        difference = mean_interval(differences, level, ends=ends)
        p, test = sign_flip(differences, seed=seed), _sign_flip_name(differences)

    apart = (mean_interval(first).stderr, mean_interval(second).stderr)
    return Comparison(
        mean_a=math.fsum(first) / n,
        mean_b=math.fsum(second) / n,
        difference=_cut(difference, ends),
        unpaired_stderr=None if apart[0] is None or apart[1] is None else math.hypot(apart[0], apart[1]),
        p=p,
        test=test,
        t_p=_t_p(difference),
        wins=wins,
        losses=losses,
        n=n,
        only_a=only_a,
        only_b=only_b,
    )


def _widest(first: list[float], second: list[float], bounds: Ends | None) -> Ends | None:
    """Between what two scores can differ at all; `None` if the scale is not known, or a score lies outside of it."""
    if bounds is None or not all(bounds[0] <= score <= bounds[1] for score in (*first, *second)):
        return None
    return bounds[0] - bounds[1], bounds[1] - bounds[0]


def _cut(difference: Estimate, ends: Ends | None) -> Estimate:
    """The difference with an interval that promises none that cannot be; its standard error stays what it is."""
    low, high = difference.low, difference.high
    if ends is None or low is None or high is None or (ends[0] <= low and high <= ends[1]):
        return difference
    method = f"{difference.method}, cut to bounds"
    return replace(difference, low=max(low, ends[0]), high=min(high, ends[1]), method=method)


def _sign_flip_name(differences: list[float]) -> str:
    exact = sum(d != 0 for d in differences) <= EXACT_SIGN_FLIPS
    return "sign-flip exact" if exact else "sign-flip draws"


def _t_p(difference: Estimate) -> float | None:
    if not difference.stderr:
        return None  # without spread there is no t, and a p of 0 would be certainty from a handful of samples
    df = (difference.clusters or difference.n) - 1
    return t_two_sided(difference.value / difference.stderr, df)

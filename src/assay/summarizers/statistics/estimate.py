"""The type of an estimate: a value with its standard error, its interval and its number of clusters."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CORRELATION = 0.2
"""The assumed correlation of samples within a cluster, used while the clusters show no spread."""
UNEQUAL_CORRELATION = 0.5
"""The correlation added to `CORRELATION` for clusters of extremely unequal size,
because then a few large ones decide.
"""


def cluster_codes(
    clusters: Sequence[Hashable],
    n: int,
) -> list[int]:
    """Return each sample's cluster as a code 0, 1, 2 … in order of appearance. Raise if a sample has no cluster."""
    if len(clusters) != n:
        raise ValueError(
            f"{n} values but {len(clusters)} cluster keys: give one key for each value"
        )
    numbers: dict[Hashable, int] = {}
    codes = []
    for index, key in enumerate(clusters):
        if key is None or (isinstance(key, float) and math.isnan(key)):
            raise ValueError(
                f"value {index} has no cluster key: a task that declares a cluster needs one on every sample"
            )
        codes.append(numbers.setdefault(key, len(numbers)))
    return codes


def cluster_sums(
    values: Sequence[float],
    codes: Sequence[int],
) -> list[float]:
    """Return the sum of the values in each cluster. The order of the samples never
    changes the result, not even by rounding.
    """
    members: list[list[float]] = [[] for _ in range(max(codes) + 1)]
    for value, code in zip(values, codes, strict=True):
        members[code].append(value)
    return [math.fsum(member) for member in members]


def kish_size(weights: Sequence[float]) -> float:
    """Return Kish's effective sample size: the number of equal weights with the same sum and sum of squares."""
    total = math.fsum(weights)
    return total * total / math.fsum(weight * weight for weight in weights)


def effective_clusters(sizes: Sequence[float]) -> float:
    """Return the effective number of clusters (Carter, Schnepel and Steigerwald 2017).

    A cluster of m samples adds m (1 + (m - 1) rho) to the variance of the sum; rho is
    `CORRELATION`. The result is the number of clusters of equal size that would give an
    equally certain estimate of the variance.
    """
    return kish_size(expected_variances(sizes))


def expected_variances(sizes: Sequence[float]) -> list[float]:
    """Return the variance that a cluster of each size adds to a sum, if its samples
    have the correlation `CORRELATION`.
    """
    return [size * (1 + (size - 1) * CORRELATION) for size in sizes]


def size_balance(sizes: Sequence[float]) -> float:
    """Return how equal the cluster sizes are: 1 if all are equal, near 0 if one cluster has almost all samples."""
    return kish_size(sizes) / len(sizes)


def assumed_correlation(balance: float) -> float:
    """Return the correlation to assume within clusters while none has been observed.

    `balance` is from `size_balance`.
    """
    return CORRELATION + UNEQUAL_CORRELATION * (1 - balance)


def finite(
    values: Sequence[float],
    what: str = "value",
) -> list[float]:
    """Return the values as floats. Raise if the list is empty or a value is not a finite number."""
    if not len(values):
        raise ValueError(f"no {what}s: there is nothing to estimate")
    numbers = [float(value) for value in values]
    for index, number in enumerate(numbers):
        if not math.isfinite(number):
            raise ValueError(
                f"{what} {index} is {number}: every {what} must be a finite number"
            )
    return numbers


Ends = tuple[float, float]
"""The lowest and the highest possible value of a metric."""
Floats: TypeAlias = "NDArray[np.float64]"
"""A numpy array of floats. The name is quoted, because importing this package must not import numpy."""
FEWEST_UNITS = 12
"""The number of clusters (or of samples without clusters) below which an interval is flagged.

With fewer, no method that uses their spread covers 93.5 % in all cases
(docs/development/coverage.md has the figures).
"""
FEWEST_EFFECTIVE_CLUSTERS = 7
"""The effective number of clusters of unequal size below which an interval is flagged."""

RARE_SHARE = 0.3
"""Limit for the share of a value that comes from a single sample or cluster, on an open
scale. A larger share is flagged.

Another such sample could double the value, as one endless transcript in 100 recordings
does with an error rate (docs/development/coverage.md has the figures).
"""

MOST_SKEW = 1 / 3
"""The highest skewness of a mean whose interval is not flagged.

The skewness of a mean is that of the values divided by the root of n: 0.33 for n = 100
values with skewness 3.3 (docs/development/coverage.md has the figures).
"""


@dataclass(frozen=True, slots=True)
class Spread:
    """The variance of an estimated value, and how well that variance is known."""

    variance: float
    """The square of the standard error, corrected for large clusters."""
    base: float
    """The effective number of samples, if samples within a cluster were independent."""
    prior: float = 1.0
    """The variance assumed while no spread has been observed, relative to the variance of right-or-wrong trials."""
    seen: float = 0.0
    """The effective number of samples or clusters from which the variance is computed.
    It is lower if few cause most of the spread.
    """
    df: float = 1.0
    """Degrees of freedom of the variance."""
    unseen: float = 0.5
    """The number of pseudo-observations with the prior variance, in addition to the `seen` real ones."""
    skew: float = 0.0
    """Skewness of the distribution of the estimate, from the third moments of the samples' contributions."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated value with its standard error and its interval."""

    value: float
    stderr: float | None
    """The standard error.

    It is None if it cannot be known: with fewer than two samples, or with a single
    cluster. 0 means that no spread was observed, not that there is none; an interval,
    if there is one, still has a width.
    """
    low: float | None
    high: float | None
    n: int
    clusters: int | None
    """The number of clusters; `None` if the samples are independent."""
    method: str
    """The method of the interval, in words for a table."""
    scale: Ends | None = None
    """The lowest and the highest possible value, if known."""
    spread: Spread | None = None
    unreliable: str = ""
    """The reason why the interval may cover less than its level; empty if there is none."""

    @classmethod
    def without_interval(
        cls,
        value: float,
        n: int,
        reason: str,
        *,
        clusters: int | None = None,
        scale: Ends | None = None,
        spread: Spread | None = None,
        method: str = "",
    ) -> "Estimate":
        """Return an estimate without a standard error and an interval, with the reason."""
        prefix = f"{method}; " if method else ""
        words = f"{prefix}n/a: {reason}"
        return cls(value, None, None, None, n, clusters, words, scale, spread)


def flag_few_units(
    estimate: Estimate,
    sizes: Sequence[float] | None = None,
) -> Estimate:
    """Return the estimate with a flag if its interval comes from too few clusters or samples.

    `sizes` are the sizes of the clusters: a few large clusters among many small ones
    are treated as few.
    """
    if estimate.low is None:
        return estimate
    if estimate.clusters is None:
        units = estimate.n
    else:
        units = estimate.clusters
    if units < FEWEST_UNITS:
        kind = "samples" if estimate.clusters is None else "clusters"
        return replace(estimate, unreliable=f"interval unreliable: {units} {kind}")
    if sizes is None:
        return estimate
    effective = effective_clusters(sizes)
    if kish_size(sizes) >= FEWEST_UNITS and effective >= FEWEST_EFFECTIVE_CLUSTERS:
        return estimate
    reason = f"{effective:.0f} effective clusters ({units} of very unequal size)"
    return replace(estimate, unreliable=f"interval unreliable: {reason}")


def flag_skewed(
    estimate: Estimate,
    skew: float | None = None,
    kind: str = "values",
) -> Estimate:
    """Return the estimate with a flag if most of its spread on one side comes from a few large values.

    Pass `skew` if the interval does not already correct for skewness.
    """
    spread = estimate.spread
    if estimate.unreliable or estimate.low is None or spread is None:
        return estimate
    if skew is None:
        skew = spread.skew
    if abs(skew) <= MOST_SKEW:
        return estimate
    if estimate.clusters is not None:
        kind = "clusters"
    return replace(estimate, unreliable=f"interval unreliable: skewed {kind}")


def flag_rare(estimate: Estimate, largest: float) -> Estimate:
    """Return the estimate with a flag if much of its value comes from one sample or cluster.

    `largest` is the largest change of the value when one of them is left out.
    """
    if estimate.unreliable or estimate.low is None:
        return estimate
    if largest <= RARE_SHARE * abs(estimate.value):
        return estimate
    unit = "sample" if estimate.clusters is None else "cluster"
    if estimate.value:
        share = f"{largest / abs(estimate.value):.0%}"
    else:
        share = "all"
    reason = f"one {unit} makes {share} of the value"
    return replace(estimate, unreliable=f"interval unreliable: {reason}")

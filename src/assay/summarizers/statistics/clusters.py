"""Cluster keys: which samples share a passage, an image, a speaker, and so are not independent."""

import math
from collections.abc import Hashable, Sequence

CORRELATION = 0.2
"""Correlation of samples within a cluster that is assumed before any spread between clusters was seen."""
UNEQUAL_CORRELATION = 0.5
"""Added to it for clusters of extremely unequal size: a few large ones then decide, and may not have failed yet."""


def cluster_codes(clusters: Sequence[Hashable], n: int) -> list[int]:
    """Return the keys as numbers 0, 1, 2 … in order of appearance; raise if a sample has no key."""
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


def cluster_sums(values: Sequence[float], codes: Sequence[int]) -> list[float]:
    """Return the sum of the values in each cluster; the same to the last bit in any order of the samples."""
    members: list[list[float]] = [[] for _ in range(max(codes) + 1)]
    for value, code in zip(values, codes, strict=True):
        members[code].append(value)
    return [math.fsum(member) for member in members]


def kish_size(weights: Sequence[float]) -> float:
    """Return Kish's effective number of units: how many equal weights have the same sum and sum of squares."""
    total = math.fsum(weights)
    return total * total / math.fsum(weight * weight for weight in weights)


def effective_clusters(sizes: Sequence[float]) -> float:
    """Return the effective number of clusters (Carter, Schnepel and Steigerwald 2017).

    A cluster of m samples adds m (1 + (m - 1) rho) to the variance of the mean; rho is `CORRELATION`. The number is
    that of equal clusters whose variance is known as well.
    """
    variances = [size * (1 + (size - 1) * CORRELATION) for size in sizes]
    return kish_size(variances)


def size_balance(sizes: Sequence[float]) -> float:
    """Return how equal the clusters are: 1 if all have the same size, towards 0 if one is nearly everything."""
    return kish_size(sizes) / len(sizes)


def assumed_correlation(balance: float) -> float:
    """Return the correlation within clusters that is assumed before any spread was seen."""
    return CORRELATION + UNEQUAL_CORRELATION * (1 - balance)


def finite(values: Sequence[float], what: str = "value") -> list[float]:
    """Return the values as floats; raise if there are none, or one is not a finite number."""
    if not len(values):
        raise ValueError(f"no {what}s: there is nothing to estimate")
    numbers = [float(value) for value in values]
    for index, number in enumerate(numbers):
        if not math.isfinite(number):
            raise ValueError(
                f"{what} {index} is {number}: every {what} must be a finite number"
            )
    return numbers

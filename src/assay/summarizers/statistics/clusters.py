"""Cluster keys: which samples share a passage, an image, a speaker, and so are not independent."""

import math
from collections.abc import Hashable, Sequence


def cluster_codes(clusters: Sequence[Hashable], n: int) -> list[int]:
    """The keys as numbers 0, 1, 2 … in order of appearance; a sample without a key is an error."""
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
    """The sum of the values in each cluster; the same to the last bit in any order of the samples."""
    members: list[list[float]] = [[] for _ in range(max(codes) + 1)]
    for value, code in zip(values, codes, strict=True):
        members[code].append(value)
    return [math.fsum(member) for member in members]


def finite(values: Sequence[float], what: str = "value") -> list[float]:
    """The values as floats; none at all, or one that is not a finite number, is an error."""
    if not len(values):
        raise ValueError(f"no {what}s: there is nothing to estimate")
    numbers = [float(value) for value in values]
    for index, number in enumerate(numbers):
        if not math.isfinite(number):
            raise ValueError(
                f"{what} {index} is {number}: every {what} must be a finite number"
            )
    return numbers

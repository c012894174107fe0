"""McNemar's test of a paired difference of shares, and Holm's correction for many tests."""

from collections.abc import Sequence
from functools import lru_cache


@lru_cache(maxsize=64)
def mcnemar(b: int, c: int) -> float:
    """Return the mid-p of b pairs that only the first got right against c pairs that only the second did."""
    if b < 0 or c < 0:
        raise ValueError(f"counts of pairs cannot be negative, got {b} and {c}")
    n = b + c
    if not n:
        return 1.0
    fewer = min(b, c)
    whole = 1 << n
    # Each binomial term follows from the one before. They are integers until the last division, so exact for any n.
    term = tail = 1
    for i in range(fewer):
        term = term * (n - i) // (i + 1)
        tail += term
    return (2 * tail - term) / whole


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's adjusted p-values: below alpha means significant with all tests counted. The default."""
    _check_p(p_values)
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(
        sorted(range(len(p_values)), key=p_values.__getitem__)
    ):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def _check_p(p_values: Sequence[float]) -> None:
    for index, p in enumerate(p_values):
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"p-value {index} is {p}: it must be in [0, 1]")

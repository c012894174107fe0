"""McNemar's test of a paired difference of shares, and Holm's correction for many tests."""

from collections.abc import Sequence


def mcnemar(b: int, c: int) -> float:
    """The mid-p of b pairs that only the first got right against c pairs that only the second did."""
    if b < 0 or c < 0:
        raise ValueError(f"counts of pairs cannot be negative, got {b} and {c}")
    n = b + c
    if not n:
        return 1.0
    fewer = min(b, c)
    whole = 1 << n
    # Binomial terms, each from the one before; whole numbers until the last division, so exact for any n.
    term = tail = 1
    for i in range(fewer):
        term = term * (n - i) // (i + 1)
        tail += term
    return (2 * tail - term) / whole


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values: below alpha means significant with all tests counted. The default."""
    _check_p(p_values)
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for place, index in enumerate(
        sorted(range(len(p_values)), key=p_values.__getitem__)
    ):
        highest = max(highest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def _check_p(p_values: Sequence[float]) -> None:
    for index, p in enumerate(p_values):
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"p-value {index} is {p}: it must lie in [0, 1]")

"""Tests of a paired difference: McNemar, sign-flip permutation, Wilcoxon; and corrections for many tests."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .clusters import finite
from .distributions import chi_square_tail, normal_cdf

EXACT_SIGN_FLIPS = 20
SIGN_FLIP_DRAWS = 10_000
_EXACT_WILCOXON = 50


@dataclass(frozen=True, slots=True)
class McNemar:
    """The p-values of b pairs only the first got right against c pairs only the second did."""

    exact: float
    mid_p: float
    chi_square: float
    """Without the continuity correction."""
    chi_square_corrected: float


def mcnemar(b: int, c: int) -> McNemar:
    """All four versions; `exact` is the one to report."""
    if b < 0 or c < 0:
        raise ValueError(f"counts of pairs cannot be negative, got {b} and {c}")
    n = b + c
    if not n:
        return McNemar(1.0, 1.0, 1.0, 1.0)
    fewer = min(b, c)
    whole = 1 << n
    # Binomial terms, each from the one before; whole numbers until the last division, so exact for any n.
    term = tail = 1
    for i in range(fewer):
        term = term * (n - i) // (i + 1)
        tail += term
    return McNemar(
        exact=min(whole, 2 * tail) / whole,
        mid_p=(2 * tail - term) / whole,
        chi_square=chi_square_tail((b - c) ** 2 / n),
        chi_square_corrected=chi_square_tail(max(0, abs(b - c) - 1) ** 2 / n),
    )


def sign_flip(differences: Sequence[float], *, seed: int = 0, draws: int = SIGN_FLIP_DRAWS) -> float:
    """The two-sided p of the mean difference if each difference could as well have had the other sign.

    Exact over all signs for up to 20 differences that are not zero; else seeded draws, with the observed
    signs counted among them so that p is never 0.
    """
    import numpy as np

    sizes = np.array([abs(d) for d in finite(differences, "difference") if d != 0.0])
    observed = abs(math.fsum(differences))
    if not len(sizes):
        return 1.0
    # Sums that are equal on paper may differ in the last bits: 0.1 + 0.2 against 0.3.
    bar = observed - 1e-9 * float(sizes.sum())
    if len(sizes) <= EXACT_SIGN_FLIPS:
        sums = np.zeros(1)
        for size in sizes:
            sums = np.concatenate([sums + size, sums - size])
        return float((np.abs(sums) >= bar).mean())
    rng = np.random.default_rng(seed)
    block = max(1, 4_000_000 // len(sizes))
    reached = 0
    for start in range(0, draws, block):
        rows = min(block, draws - start)
        bits = np.unpackbits(rng.integers(0, 256, size=(rows, -(-len(sizes) // 8)), dtype=np.uint8), axis=1)
        sums = 2.0 * (bits[:, : len(sizes)].astype(float) @ sizes) - sizes.sum()
        reached += int((np.abs(sums) >= bar).sum())
    return (1 + reached) / (1 + draws)


def wilcoxon(differences: Sequence[float]) -> float:
    """The two-sided p of Wilcoxon's signed ranks; zeros are dropped, ties share their mean rank.

    Exact for up to 50 differences that are not zero, ties included; else the normal approximation.
    """
    numbers = [d for d in finite(differences, "difference") if d != 0.0]
    if not numbers:
        return 1.0
    ranks = _double_ranks([abs(d) for d in numbers])
    negative = sum(rank for rank, d in zip(ranks, numbers, strict=True) if d < 0)
    smaller = min(negative, sum(ranks) - negative)
    if len(numbers) <= _EXACT_WILCOXON:
        ways = [1] + [0] * smaller
        for rank in ranks:
            for total in range(smaller, rank - 1, -1):
                ways[total] += ways[total - rank]
        return min(1.0, 2 * sum(ways) / (1 << len(numbers)))
    # Each rank is drawn with a fair coin: mean half its size, variance a quarter of its square.
    deviation = math.sqrt(sum(rank * rank for rank in ranks)) / 2
    return 2 * normal_cdf((smaller - sum(ranks) / 2) / deviation)


def _double_ranks(sizes: Sequence[float]) -> list[int]:
    """Twice the rank of each size, so that the mean rank of a tie is a whole number too."""
    tolerance = 1e-9 * max(sizes)
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    ranks = [0] * len(sizes)
    start = 0
    while start < len(order):
        stop = start + 1
        while stop < len(order) and sizes[order[stop]] - sizes[order[stop - 1]] <= tolerance:
            stop += 1
        for index in order[start:stop]:
            ranks[index] = start + 1 + stop
        start = stop
    return ranks


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values: below alpha means significant with all tests counted. The default."""
    _check_p(p_values)
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values that bound the share of false discoveries instead of the chance of any."""
    _check_p(p_values)
    adjusted = [0.0] * len(p_values)
    lowest = 1.0
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    for place in range(len(order), 0, -1):
        index = order[place - 1]
        lowest = min(lowest, len(order) / place * p_values[index])
        adjusted[index] = lowest
    return adjusted


def _check_p(p_values: Sequence[float]) -> None:
    for index, p in enumerate(p_values):
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"p-value {index} is {p}: it must lie in [0, 1]")

"""pass@k and pass^k: the chance that at least one, or every one, of k answers is right.

Both are the unbiased estimates from c right answers out of n, by counting subsets in whole numbers; the
plug-in 1 - (1 - c/n)^k is biased. Fewer answers than k do not determine either number: an error.
"""

from fractions import Fraction
from math import comb


def pass_at_k(n: int, c: int, k: int) -> float:
    """Return the share of the subsets of k answers with at least one of the c right ones in it."""
    _check(n, c, k)
    return float(1 - Fraction(comb(n - c, k), comb(n, k)))


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Return the share of the subsets of k answers that are all right (written pass^k)."""
    _check(n, c, k)
    return float(Fraction(comb(c, k), comb(n, k)))


def _check(n: int, c: int, k: int) -> None:
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    if not 0 <= c <= n:
        raise ValueError(f"{c} right answers out of {n} is impossible")
    if n < k:
        raise ValueError(
            f"k={k} needs at least {k} answers to each question, got {n}: ask for more epochs or candidates"
        )

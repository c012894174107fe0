"""Repeated answers to one question: pass@k, reducers such as the majority, and the sources of their variance.

The standard error is computed from the means of the questions. These already contain
the noise of sampling each answer; counting all n x K answers as independent would make
the error too small.

pass@k is the probability that at least one of k answers is right, pass^k that all are.
Both are unbiased estimates from c right answers out of n, computed by counting subsets
in whole numbers; the simple formula 1 - (1 - c/n)^k is biased. Fewer answers than k are
an error.
"""

import math
import re
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import TypeVar

from .estimate import Estimate, finite
from .intervals import estimate_mean


def pass_at_k(
    n: int,
    c: int,
    k: int,
) -> float:
    """Return pass@k: the share of all subsets of k answers that contain at least one of the c right ones."""
    _check(n, c, k)
    return float(1 - Fraction(comb(n - c, k), comb(n, k)))


def pass_hat_k(
    n: int,
    c: int,
    k: int,
) -> float:
    """Return pass^k: the share of all subsets of k answers in which all are right."""
    _check(n, c, k)
    return float(Fraction(comb(c, k), comb(n, k)))


def _check(
    n: int,
    c: int,
    k: int,
) -> None:
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    if not 0 <= c <= n:
        raise ValueError(f"{c} right answers out of {n} is impossible")
    if n < k:
        raise ValueError(
            f"k={k} needs at least {k} answers to each question, got {n}: ask for more epochs or candidates"
        )


Answer = TypeVar("Answer", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Decomposition:
    """The sources of the variance of repeated answers. The parts are None if there is one answer per question."""

    estimate: Estimate
    within: float | None
    """Variance between the answers to one question, pooled over questions."""
    between: float | None
    """Variance between questions without the sampling noise; 0 if the noise explains all of it."""
    stderr_at_infinity: float | None
    """The standard error if each question had infinitely many answers."""
    icc: float | None
    """Intra-class correlation: the share of the variance that is due to the questions."""

    @property
    def advice(self) -> str:
        """A sentence that recommends more epochs, or more questions if more epochs would not narrow the interval."""
        now = self.estimate.stderr
        limit = self.stderr_at_infinity
        if now is None:
            return "one question has no standard error: add questions"
        if limit is None:
            return "one answer per question: run at least 2 epochs to see whether to add epochs or questions"
        if limit >= now:
            return f"more epochs would not cut SE from {now:.3f}: add questions"
        if limit >= 0.0005:
            least = f"at most {limit:.3f}"
        else:
            least = "less than 0.001"
        advice = f"more epochs would cut SE from {now:.3f} to {least}"
        if limit < 0.8 * now:
            return advice
        return f"{advice}: add questions instead"


def decompose(
    rows: Sequence[Sequence[float]],
    clusters: Sequence[Hashable] | None = None,
) -> Decomposition:
    """Split the variance of repeated answers into its sources.

    Each row has the values of the answers to one question; rows may have different
    lengths.
    """
    if not rows:
        raise ValueError("no questions: there is nothing to decompose")
    answers = [finite(row, "answer") for row in rows]
    means = [math.fsum(row) / len(row) for row in answers]
    n = len(means)
    # If the answers agree within every question, the means are 0 and 1: a proportion of questions.
    binary = all(x in (0.0, 1.0) for row in [*answers, means] for x in row)
    estimate = estimate_mean(means, clusters, binary=binary)
    spare = sum(len(row) - 1 for row in answers)
    within = None
    if spare:
        squares = (
            (x - mean) ** 2
            for row, mean in zip(answers, means, strict=True)
            for x in row
        )
        within = math.fsum(squares) / spare
    if n < 2:
        return Decomposition(estimate, within, None, None, None)
    if within is None:
        return Decomposition(estimate, None, None, None, None)
    centre = math.fsum(means) / n
    means_variance = math.fsum((mean - centre) ** 2 for mean in means) / (n - 1)
    noise = within * math.fsum(1 / len(row) for row in answers) / n
    between = max(0.0, means_variance - noise)
    total = between + within
    if estimate.stderr is None:
        limit = None
    else:
        limit = math.sqrt(max(0.0, estimate.stderr**2 - noise / n))
    return Decomposition(
        estimate,
        within,
        between,
        limit,
        between / total if total else None,
    )


@dataclass(frozen=True, slots=True)
class Reduced:
    """The value of a question after its repeated answers were reduced to one value."""

    value: float
    tied: bool = False
    """True if `majority` found several winners. `value` is then the mean of the values of the tied answers."""


def modes(answers: Sequence[Answer]) -> list[Answer]:
    """Return the most frequent answers in order of appearance. If there are several, the caller must report a tie."""
    counts = Counter(answers)
    top = max(counts.values(), default=0)
    return [answer for answer, count in counts.items() if count == top]


def reduce_repeats(
    values: Sequence[float],
    reducer: str,
    ballots: Sequence[Hashable | None] | None = None,
) -> Reduced:
    """Reduce the repeated answers to one question to one value.

    Reducers: `mean`, `majority`, `max`, and for values of 0 and 1 `pass@K` and `pass^K`
    with a number for K. `ballots` are the answers that `majority` counts; None is an
    abstention. Without them, equal values are treated as equal answers.
    """
    numbers = finite(values, "repeat")
    if reducer == "mean":
        return Reduced(math.fsum(numbers) / len(numbers))
    if reducer == "max":
        return Reduced(max(numbers))
    if reducer == "majority":
        return _vote(numbers, numbers if ballots is None else ballots)
    match = re.fullmatch(r"pass([@^])(\d+)", reducer)
    if match is None:
        raise ValueError(
            f"unknown reducer {reducer!r}: use mean, majority, max, pass@K or pass^K, such as pass@5"
        )
    if any(number not in (0.0, 1.0) for number in numbers):
        raise ValueError(f"{reducer} counts right answers: its values must be 0 or 1")
    count = pass_at_k if match[1] == "@" else pass_hat_k
    return Reduced(count(len(numbers), int(sum(numbers)), int(match[2])))


def _vote(
    values: Sequence[float],
    ballots: Sequence[Hashable | None],
) -> Reduced:
    """Return the value of the most frequent answer; in a tie, the mean of the values of all that tied."""
    leaders = modes([ballot for ballot in ballots if ballot is not None])
    if not leaders:
        return Reduced(math.fsum(values) / len(values))
    verdicts = []
    for leader in leaders:
        own_values = [
            value
            for value, ballot in zip(values, ballots, strict=True)
            if ballot == leader
        ]
        verdicts.append(math.fsum(own_values) / len(own_values))
    return Reduced(math.fsum(verdicts) / len(verdicts), tied=len(leaders) > 1)

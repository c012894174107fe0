"""Agreement between raters, and between the two orders in which a judge saw a pair of answers."""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Verdict = Literal["A", "B", "tie"]


def cohens_kappa(
    first: Sequence[float | str],
    second: Sequence[float | str],
    weights: Literal["none", "linear", "quadratic"] = "none",
) -> float:
    """Return Cohen's kappa, the agreement of two raters beyond chance.

    With `weights`, ratings must be numbers, and a disagreement counts more if they are
    further apart.
    """
    if len(first) != len(second):
        raise ValueError(
            f"{len(first)} ratings against {len(second)}: both raters must rate the same samples"
        )
    if not first:
        raise ValueError("no ratings: there is no agreement to measure")
    n = len(first)
    observed = (
        sum(_distance(x, y, weights) for x, y in zip(first, second, strict=True)) / n
    )
    ours = Counter(first)
    theirs = Counter(second)
    expected = (
        sum(
            count * other * _distance(x, y, weights)
            for x, count in ours.items()
            for y, other in theirs.items()
        )
        / n**2
    )
    if expected == 0:
        raise ValueError(
            "kappa is undefined: both raters gave every sample the same rating"
        )
    return 1 - observed / expected


def _distance(
    x: float | str,
    y: float | str,
    weights: str,
) -> float:
    """Return how much two ratings disagree: 0 or 1, or with weights their distance."""
    if weights == "none":
        return float(x != y)
    if isinstance(x, str) or isinstance(y, str):
        raise TypeError(
            f"{weights} weights need ratings that are numbers, got {x!r} and {y!r}"
        )
    gap = abs(x - y)
    if weights == "linear":
        return gap
    return float(gap * gap)


Ratings = Sequence[Sequence[Hashable | None]]
"""One row for each rater, one column for each sample; None where a rater gave no rating."""


def krippendorff_alpha(
    ratings: Ratings,
    level: Literal["nominal", "ordinal"] = "nominal",
) -> float:
    """Return Krippendorff's alpha: 1 is full agreement, 0 is agreement by chance.

    On the nominal level all disagreements have the same weight. On the ordinal level,
    the weight of a disagreement depends on the number of ratings between the two. A sample with fewer
    than two ratings is left out.
    """
    if len({len(row) for row in ratings}) > 1:
        raise ValueError(
            "every rater needs one entry for each sample; use None where there is no rating"
        )
    units = _rated_twice(ratings)
    totals: Counter[Any] = Counter()
    for unit in units:
        totals.update(unit)
    if not totals:
        raise ValueError("no sample was rated twice: there is no agreement to measure")
    if level == "ordinal":
        distance = _ordinal_distance(totals)
    else:
        distance = _nominal_distance
    observed = 0.0
    for unit in units:
        observed += _disagreement(unit, distance) / (unit.total() - 1)
    expected = _disagreement(totals, distance) / (totals.total() - 1)
    if expected == 0:
        raise ValueError("alpha is undefined: every rating is the same")
    return 1 - observed / expected


def _rated_twice(ratings: Ratings) -> list[Counter[Any]]:
    """Return the number of times each value was given to a sample, for the samples with at least two ratings."""
    units = []
    for column in zip(*ratings, strict=True):
        counts = Counter(value for value in column if value is not None)
        if counts.total() >= 2:
            units.append(counts)
    return units


def _disagreement(
    counts: Counter[Any],
    distance: Callable[[Any, Any], float],
) -> float:
    """Return the sum of distances over all ordered pairs of ratings."""
    total = 0.0
    for x, count in counts.items():
        for y, other in counts.items():
            if x != y:
                total += count * other * distance(x, y)
    return total


def _nominal_distance(x: object, y: object) -> float:
    return float(x != y)


def _ordinal_distance(totals: Counter[Any]) -> Callable[[Any, Any], float]:
    """Return Krippendorff's ordinal distance between two values: the square of the
    number of ratings given between them.
    """
    ranks: dict[Any, float] = {}
    below = 0
    for value in sorted(totals):
        count = totals[value]
        ranks[value] = below + count / 2
        below += count

    def distance(x: object, y: object) -> float:
        gap = ranks[x] - ranks[y]
        return float(gap * gap)

    return distance


@dataclass(frozen=True, slots=True)
class PairwiseFold:
    """A judge's verdicts on pairs of answers, each shown in both orders: the win rate
    of answer A, and the position bias.
    """

    wins: int
    losses: int
    ties: int
    win_rate: float
    """The number of wins plus half the ties, divided by the number of pairs."""
    flat_win_rate: float
    """The win rate if the verdicts of the two orders are counted separately. It is shown only for comparison."""
    position_consistency: float
    """The share of pairs with the same verdict in both orders."""
    first_position_share: float | None
    """The share of verdicts, ties excluded, in which the answer shown first won: 0.5 is unbiased."""


def fold_verdicts(pairs: Sequence[tuple[Verdict, Verdict]]) -> PairwiseFold:
    """Combine the verdicts on pairs that were shown in both orders. An answer wins a pair if it won in both orders.

    Each verdict is the name of the winning answer, `A` or `B`, whatever its position.
    """
    if not pairs:
        raise ValueError("no verdicts: there is nothing to fold")
    for index, pair in enumerate(pairs):
        if len(pair) != 2 or not set(pair) <= {"A", "B", "tie"}:
            raise ValueError(
                f"pair {index} is {pair!r}: give two verdicts, each 'A', 'B' or 'tie'"
            )
    n = len(pairs)
    wins = pairs.count(("A", "A"))
    losses = pairs.count(("B", "B"))
    ties = n - wins - losses
    flat = Counter(verdict for pair in pairs for verdict in pair)
    first_won = sum((a_first == "A") + (b_first == "B") for a_first, b_first in pairs)
    decided = flat["A"] + flat["B"]
    return PairwiseFold(
        wins=wins,
        losses=losses,
        ties=ties,
        win_rate=(wins + ties / 2) / n,
        flat_win_rate=(flat["A"] + flat["tie"] / 2) / (2 * n),
        position_consistency=sum(a_first == b_first for a_first, b_first in pairs) / n,
        first_position_share=first_won / decided if decided else None,
    )

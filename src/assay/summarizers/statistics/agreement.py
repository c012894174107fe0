"""Agreement between raters, and between the two orders in which a judge saw a pair of answers."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["A", "B", "tie"]


def cohens_kappa(
    first: Sequence[float | str],
    second: Sequence[float | str],
    weights: Literal["none", "linear", "quadratic"] = "none",
) -> float:
    """Agreement of two raters beyond chance.

    Weighted, a disagreement counts by the distance of the two ratings, which must then be numbers.
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
    ours, theirs = Counter(first), Counter(second)
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


def _distance(x: float | str, y: float | str, weights: str) -> float:
    if weights == "none":
        return float(x != y)
    if isinstance(x, str) or isinstance(y, str):
        raise TypeError(
            f"{weights} weights need ratings that are numbers, got {x!r} and {y!r}"
        )
    return abs(x - y) if weights == "linear" else float((x - y) ** 2)


def krippendorff_nominal(ratings: Sequence[Sequence[Hashable | None]]) -> float:
    """Krippendorff's alpha for labels: one row per rater, one column per sample, `None` where not rated.

    A sample rated by fewer than two raters has nothing to agree on and is left out.
    """
    if len({len(row) for row in ratings}) > 1:
        raise ValueError(
            "every rater needs one entry for each sample; use None where there is no rating"
        )
    totals: Counter[Hashable] = Counter()
    disagreement = 0.0
    for column in zip(*ratings, strict=True):
        labels = Counter(label for label in column if label is not None)
        m = labels.total()
        if m < 2:
            continue
        totals.update(labels)
        disagreement += (m * m - sum(count * count for count in labels.values())) / (
            m - 1
        )
    n = totals.total()
    if not n:
        raise ValueError("no sample was rated twice: there is no agreement to measure")
    expected = (n * n - sum(count * count for count in totals.values())) / (n - 1)
    if expected == 0:
        raise ValueError("alpha is undefined: every rating is the same")
    return 1 - disagreement / expected


@dataclass(frozen=True, slots=True)
class PairwiseFold:
    """What a judge's verdicts in both orders add up to, from A's side."""

    wins: int
    losses: int
    ties: int
    win_rate: float
    """Wins plus half the ties, over all pairs."""
    flat_win_rate: float
    """The same over single verdicts, the two orders not held against each other: for comparison only."""
    position_consistency: float
    """The share of pairs judged alike in both orders."""
    first_position_share: float | None
    """How often the answer shown first won, among verdicts that are no tie: 0.5 is unbiased."""


def fold_verdicts(pairs: Sequence[tuple[Verdict, Verdict]]) -> PairwiseFold:
    """Fold verdicts with A shown first and with B shown first; a win needs the same winner in both orders.

    Each verdict names the answer, not the place: the second is already mapped back.
    """
    if not pairs:
        raise ValueError("no verdicts: there is nothing to fold")
    for index, pair in enumerate(pairs):
        if len(pair) != 2 or not set(pair) <= {"A", "B", "tie"}:
            raise ValueError(
                f"pair {index} is {pair!r}: give two verdicts, each 'A', 'B' or 'tie'"
            )
    n = len(pairs)
    wins, losses = pairs.count(("A", "A")), pairs.count(("B", "B"))
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

"""Agreement between raters: Cohen's kappa and Krippendorff's alpha."""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal


def cohens_kappa(
    first: Sequence[float | str],
    second: Sequence[float | str],
    weights: Literal["none", "linear", "quadratic"] = "none",
) -> float:
    """Return the agreement of two raters beyond chance.

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


def _distance(x: float | str, y: float | str, weights: str) -> float:
    """Return how much two ratings disagree."""
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

    On the nominal level all disagreements count the same. On the ordinal level, for ratings, a disagreement counts by
    how many ratings are between the two. A sample with fewer than two ratings is left out.
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
    distance = _ordinal_distance(totals) if level == "ordinal" else _nominal_distance
    observed = 0.0
    for unit in units:
        observed += _disagreement(unit, distance) / (unit.total() - 1)
    expected = _disagreement(totals, distance) / (totals.total() - 1)
    if expected == 0:
        raise ValueError("alpha is undefined: every rating is the same")
    return 1 - observed / expected


def _rated_twice(ratings: Ratings) -> list[Counter[Any]]:
    """Return how often each value was given, for each sample that has two ratings or more."""
    units = []
    for column in zip(*ratings, strict=True):
        counts = Counter(value for value in column if value is not None)
        if counts.total() >= 2:
            units.append(counts)
    return units


def _disagreement(counts: Counter[Any], distance: Callable[[Any, Any], float]) -> float:
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
    """Return Krippendorff's ordinal distance: the square of the number of ratings between two values."""
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

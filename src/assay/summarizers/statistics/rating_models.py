"""Ratings of several models from battles between two of them: Bradley-Terry and Elo.

In the Bradley-Terry model, each model has a strength s, and a beats b with probability
1 / (1 + exp(s_b - s_a)). The strengths are maximum likelihood estimates; a tie is half
a win for both. They are reported on the scale of chess ratings: 400 points are odds of
10 to 1, and the mean of all models is 1000. Two battles about the same sample are not
independent. So the standard errors come from the sandwich estimator, which treats them
as one unit.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .distributions import t_quantile, t_two_sided

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .estimate import Floats

POINTS = 400 / math.log(10)
"""Rating points for each unit of log odds."""
MEAN_RATING = 1000.0
ELO_STEP = 4.0
"""The maximum change of an Elo rating by one battle, as in Chatbot Arena."""
_MOST_STEPS = 100


@dataclass(frozen=True, slots=True)
class Battle:
    """The result of comparing two models on one sample."""

    first: str
    second: str
    won: float
    """1 if the first won, 0 if the second did, 0.5 for a tie."""
    sample: str = ""
    """The id of the sample: battles about one sample are not independent."""


@dataclass(frozen=True, slots=True)
class Rating:
    """The rating of one model, with its interval and its battles."""

    name: str
    value: float
    stderr: float | None
    low: float | None
    high: float | None
    wins: int
    losses: int
    ties: int


@dataclass(frozen=True, slots=True)
class Ratings:
    """The ratings of all models, the strongest first, and the covariance of their errors."""

    method: str
    ratings: tuple[Rating, ...]
    samples: int
    covariance: "Floats | None" = None
    """The covariance in squared rating points. Rows and columns are in the order of `ratings`."""

    def p_of(self, first: str, second: str) -> float:
        """Return the two-sided p value of the difference between two ratings; 1 if the covariance is not known."""
        table = self.covariance
        if table is None:
            return 1.0
        names = [rating.name for rating in self.ratings]
        a = names.index(first)
        b = names.index(second)
        sum_of_variances = table[a, a] + table[b, b]
        shared = table[a, b]
        variance = float(sum_of_variances - 2 * shared)
        gap = self.ratings[a].value - self.ratings[b].value
        if variance <= 0:
            return 0.0 if gap else 1.0
        df = max(1, self.samples - 1)
        stderr = math.sqrt(variance)
        return t_two_sided(gap / stderr, df)


def bradley_terry(
    battles: Sequence[Battle],
    level: float = 0.95,
) -> Ratings:
    """Return the Bradley-Terry ratings of all models in the battles, with intervals.

    Raise ValueError if they do not exist: a group of models that never lost to the
    others would be infinitely stronger.
    """
    import numpy as np

    names = _names(battles)
    unbeaten = _never_lost(battles, names)
    if unbeaten:
        listed = ", ".join(unbeaten)
        raise ValueError(f"{listed} never lost to the others: no finite rating exists")
    numbers = {name: index for index, name in enumerate(names)}
    first = np.array([numbers[battle.first] for battle in battles])
    second = np.array([numbers[battle.second] for battle in battles])
    won = np.array([battle.won for battle in battles], float)
    strengths = _most_likely(first, second, won, len(names))
    groups, units = _sample_codes(battles)
    covariance = None
    if units > 1:
        covariance = _sandwich(first, second, won, strengths, groups)
        covariance = covariance * POINTS**2
    order = sorted(range(len(names)), key=lambda i: (-strengths[i], names[i]))
    df = max(1, units - 1)
    quantile = t_quantile((1 + level) / 2, df)
    ratings = []
    for index in order:
        value = MEAN_RATING + POINTS * float(strengths[index])
        stderr = None
        if covariance is not None:
            variance = float(covariance[index, index])
            stderr = math.sqrt(max(0.0, variance))
        ratings.append(_rating(names[index], value, stderr, quantile, battles))
    if covariance is not None:
        covariance = covariance[np.ix_(order, order)]
    return Ratings("Bradley-Terry", tuple(ratings), units, covariance)


def _sample_codes(battles: Sequence[Battle]) -> tuple[Any, int]:
    """Return a number for each battle's sample, equal for battles about one sample, and the number of samples."""
    import numpy as np

    samples = sorted({battle.sample for battle in battles})
    codes = {sample: index for index, sample in enumerate(samples)}
    groups = np.array([codes[battle.sample] for battle in battles])
    return groups, len(samples)


def elo(
    battles: Sequence[Battle],
    step: float = ELO_STEP,
) -> Ratings:
    """Return Elo ratings, updated after each battle. They depend on the order of the battles, and have no interval."""
    values = dict.fromkeys(_names(battles), MEAN_RATING)
    for battle in battles:
        first = battle.first
        second = battle.second
        gap = values[second] - values[first]
        odds = 10 ** (gap / 400)
        expected = 1 / (1 + odds)
        change = step * (battle.won - expected)
        values[first] += change
        values[second] -= change
    ratings = []
    for name in sorted(values, key=lambda name: (-values[name], name)):
        rating = _rating(name, values[name], None, 0.0, battles)
        ratings.append(rating)
    samples = {battle.sample for battle in battles}
    return Ratings("Elo", tuple(ratings), len(samples))


def _names(battles: Sequence[Battle]) -> list[str]:
    """Return the models in the order of their first battle. Raise if a battle is invalid."""
    if not battles:
        raise ValueError("no battles: there is nothing to rate")
    names: dict[str, None] = {}
    for index, battle in enumerate(battles):
        if battle.first == battle.second:
            raise ValueError(f"battle {index}: {battle.first!r} against itself")
        if not 0.0 <= battle.won <= 1.0:
            raise ValueError(f"battle {index}: won is {battle.won}, not 0 to 1")
        names.update({battle.first: None, battle.second: None})
    return list(names)


def _never_lost(
    battles: Sequence[Battle],
    names: Sequence[str],
) -> list[str]:
    """Return a group of models that never lost or tied against a model outside the group.

    The result is empty if no group is like this. Then the ratings exist (Ford 1957).
    """
    beaten_by: dict[str, set[str]] = {name: set() for name in names}
    for battle in battles:
        if battle.won < 1:
            beaten_by[battle.first].add(battle.second)
        if battle.won > 0:
            beaten_by[battle.second].add(battle.first)
    for name in names:
        reached = {name}
        waiting = [name]
        while waiting:
            new = beaten_by[waiting.pop()] - reached
            reached |= new
            waiting.extend(new)
        if len(reached) < len(names):
            return [other for other in names if other in reached]
    return []


def _most_likely(
    first: "NDArray[np.intp]",
    second: "NDArray[np.intp]",
    won: "Floats",
    count: int,
) -> "Floats":
    """Return the maximum likelihood strengths of the models, found by Newton's method. Their mean is 0."""
    import numpy as np

    strengths = np.zeros(count)
    for _ in range(_MOST_STEPS):
        chance = _chance(strengths, first, second)
        gradient = np.zeros(count)
        np.add.at(gradient, first, won - chance)
        np.add.at(gradient, second, chance - won)
        information = _information(first, second, chance, count)
        step = _inverse(information) @ gradient
        strengths += np.clip(step, -2, 2)
        largest = float(np.abs(step).max())
        if largest < 1e-10:
            break
    return np.asarray(strengths - strengths.mean(), float)


def _chance(
    strengths: "Floats",
    first: "NDArray[np.intp]",
    second: "NDArray[np.intp]",
) -> "Floats":
    """Return, for each battle, the probability that its first model wins."""
    import numpy as np

    odds_against = np.exp(strengths[second] - strengths[first])
    return np.asarray(1 / (1 + odds_against), float)


def _information(
    first: "NDArray[np.intp]",
    second: "NDArray[np.intp]",
    chance: "Floats",
    count: int,
) -> "Floats":
    """Return the Fisher information matrix of the strengths."""
    import numpy as np

    weight = chance * (1 - chance)
    table = np.zeros((count, count))
    np.add.at(table, (first, first), weight)
    np.add.at(table, (second, second), weight)
    np.add.at(table, (first, second), -weight)
    np.add.at(table, (second, first), -weight)
    return table


def _inverse(information: "Floats") -> "Floats":
    """Return the inverse of the information matrix, with the mean of the strengths fixed at 0."""
    import numpy as np

    return np.asarray(
        np.linalg.pinv(
            information,
            rcond=1e-10,
            hermitian=True,
        ),
        float,
    )


def _sandwich(
    first: "NDArray[np.intp]",
    second: "NDArray[np.intp]",
    won: "Floats",
    strengths: "Floats",
    groups: "NDArray[np.intp]",
) -> "Floats":
    """Return the covariance of the strengths by the sandwich estimator. All battles about one sample are one unit."""
    import numpy as np

    count = len(strengths)
    chance = _chance(strengths, first, second)
    units = int(groups.max()) + 1
    scores = np.zeros((units, count))
    np.add.at(scores, (groups, first), won - chance)
    np.add.at(scores, (groups, second), chance - won)
    information = _information(first, second, chance, count)
    inverse = _inverse(information)
    correction = units / (units - 1)
    middle = scores.T @ scores * correction
    return np.asarray(inverse @ middle @ inverse, float)


def _rating(
    name: str,
    value: float,
    stderr: float | None,
    quantile: float,
    battles: Sequence[Battle],
) -> Rating:
    """Return the rating of one model with its interval, and the battles that it won, lost and tied."""
    results: Counter[str] = Counter()
    for battle in battles:
        if name not in (battle.first, battle.second):
            continue
        if name == battle.first:
            won = battle.won
        else:
            won = 1 - battle.won
        if won == 0.5:
            results["tie"] += 1
        else:
            results["win" if won > 0.5 else "loss"] += 1
    low = high = None
    if stderr is not None:
        low = value - quantile * stderr
        high = value + quantile * stderr
    return Rating(
        name,
        value,
        stderr,
        low,
        high,
        results["win"],
        results["loss"],
        results["tie"],
    )

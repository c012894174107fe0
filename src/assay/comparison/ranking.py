"""Ranks with ties: the range of ranks a model may have, given which differences from others are significant.

The best rank of a model comes after all models that are significantly better, its worst rank before all that are
significantly worse. Two models that cannot be distinguished share ranks. p values are adjusted over all pairs by
Holm's method.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from ..summarizers.statistics import holm
from .comparison_rows import SIGNIFICANCE


@dataclass(frozen=True, slots=True)
class Rank:
    """The range of ranks of a model, and the models that share them."""

    best: int
    worst: int
    ties: tuple[str, ...] = ()
    """The models it cannot be distinguished from."""

    def __str__(self) -> str:
        if self.best == self.worst:
            return str(self.best)
        return f"{self.best}–{self.worst}"


@dataclass(frozen=True, slots=True)
class Duel:
    """A comparison of two models: by how much the first is better, and the p value."""

    gain: float
    p: float


def rank(
    names: Sequence[str],
    duel: Callable[[str, str], Duel | None],
) -> Mapping[str, Rank]:
    """Return the rank of each model. `duel` compares two of them; it returns None if they cannot be compared."""
    pairs = []
    duels = []
    for pair in combinations(names, 2):
        result = duel(*pair)
        if result is not None:
            pairs.append(pair)
            duels.append(result)
    adjusted = holm([result.p for result in duels])
    better: dict[str, set[str]] = {name: set() for name in names}
    worse: dict[str, set[str]] = {name: set() for name in names}
    for (first, second), result, p in zip(pairs, duels, adjusted, strict=True):
        if p >= SIGNIFICANCE:
            continue
        if result.gain > 0:
            better[second].add(first)
            worse[first].add(second)
        elif result.gain < 0:
            better[first].add(second)
            worse[second].add(first)
    ranks = {}
    for name in names:
        decided = better[name] | worse[name] | {name}
        ties = tuple(other for other in names if other not in decided)
        best = 1 + len(better[name])
        last = len(names) - len(worse[name])
        ranks[name] = Rank(best, last, ties)
    return ranks

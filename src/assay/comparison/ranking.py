"""Ranks with ties: between which places a model lies, given which differences from others are more than chance.

A model's best place is behind all that are better beyond doubt, its worst before all that are worse beyond doubt; two
that cannot be told apart share places. p values are adjusted over all pairs by Holm's method.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from ..summarizers.statistics import holm
from .rows import SIGNIFICANCE


@dataclass(frozen=True, slots=True)
class Rank:
    """The places a model may have, and with whom it shares them."""

    best: int
    worst: int
    ties: tuple[str, ...] = ()
    """Those it cannot be told apart from."""

    def __str__(self) -> str:
        return (
            str(self.best) if self.best == self.worst else f"{self.best}–{self.worst}"
        )


@dataclass(frozen=True, slots=True)
class Duel:
    """Two models compared: by how much the first is better, and how often chance does as much."""

    gain: float
    p: float


def rank(
    names: Sequence[str], duel: Callable[[str, str], Duel | None]
) -> Mapping[str, Rank]:
    """The rank of each; `duel` compares two of them, and gives none where they cannot be compared."""
    pairs = list(combinations(names, 2))
    duels = {pair: found for pair in pairs if (found := duel(*pair)) is not None}
    adjusted = dict(
        zip(duels, holm([found.p for found in duels.values()]), strict=True)
    )
    better: dict[str, set[str]] = {name: set() for name in names}
    for (first, second), found in duels.items():
        if found.gain and adjusted[first, second] < SIGNIFICANCE:
            winner, loser = (first, second) if found.gain > 0 else (second, first)
            better[loser].add(winner)
    ranks = {}
    for name in names:
        worse = {other for other in names if name in better[other]}
        ties = tuple(
            other
            for other in names
            if other != name and other not in better[name] | worse
        )
        ranks[name] = Rank(1 + len(better[name]), len(names) - len(worse), ties)
    return ranks

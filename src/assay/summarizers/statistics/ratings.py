"""Ratings from pairwise comparisons: Bradley-Terry by maximum likelihood, and online Elo for display.

A tie is half a win each way. Intervals come from resampling prompts, since games on one prompt go together.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

ELO_SCALE = 400 / math.log(10)
_PSEUDO_WINS = 0.5


@dataclass(frozen=True, slots=True)
class Game:
    """One comparison of two models."""

    a: str
    b: str
    score: float
    """1 if a won, 0 if b did, 0.5 for a tie."""
    prompt: Hashable = None


@dataclass(frozen=True, slots=True)
class Ratings:
    """Strengths on the logit scale: a beats b with probability 1 / (1 + exp(b - a))."""

    strengths: Mapping[str, float]
    regularised: bool
    note: str
    """What was done where the games alone do not fix the strengths; empty where they do."""

    def elo(self, centre: float = 0.0) -> dict[str, float]:
        """The strengths on the Elo scale, around (or, anchored, from) `centre`."""
        return {model: centre + ELO_SCALE * strength for model, strength in self.strengths.items()}

    def chance(self, a: str, b: str) -> float:
        """How likely a beats b."""
        return _logistic(self.strengths[a] - self.strengths[b])


def bradley_terry(games: Sequence[Game], anchor: str | None = None) -> Ratings:
    """The maximum-likelihood strengths, with sum 0 or, given an anchor, with that model at 0.

    Models in groups that never met cannot be ranked: an error names the groups. Where one group won every
    game against another the estimate would be infinite: half a win each way is then added to every pair
    that met, and the note says so.
    """
    models = _models(games)
    wins = _win_table(games, models)
    _check_connected(wins, models)
    if anchor is not None and anchor not in models:
        raise ValueError(f"the anchor {anchor!r} played no game; the models are {', '.join(models)}")
    regularised = not _strongly_connected(wins)
    note = ""
    if regularised:
        wins = _with_pseudo_wins(wins, wins)
        note = "some models won or lost every game: half a win each way was added to every pair that met"
    return Ratings(_named(_fit(wins), models, anchor), regularised, note)


def bradley_terry_intervals(
    games: Sequence[Game], anchor: str | None = None, *, resamples: int = 1000, seed: int, level: float = 0.95
) -> dict[str, tuple[float, float]]:
    """Percentile intervals of the strengths, from drawing prompts with all their games."""
    import numpy as np

    models = _models(games)
    full = _win_table(games, models)
    _check_connected(full, models)
    by_prompt: dict[Hashable, list[Game]] = {}
    for index, game in enumerate(games):
        if game.prompt is None:
            raise ValueError(f"game {index} ({game.a} against {game.b}) names no prompt: intervals draw prompts")
        by_prompt.setdefault(game.prompt, []).append(game)
    if len(by_prompt) < 2:
        raise ValueError("intervals need games on at least two prompts")
    tables = np.array([_win_table(group, models) for group in by_prompt.values()])
    flat = tables.reshape(len(tables), -1)
    rng = np.random.default_rng(seed)
    fits = []
    for _ in range(resamples):
        counts = rng.multinomial(len(tables), [1 / len(tables)] * len(tables))
        wins = (counts @ flat).reshape(len(models), -1).tolist()
        if not _strongly_connected(wins):
            wins = _with_pseudo_wins(wins, full)
        fits.append(list(_named(_fit(wins), models, anchor).values()))
    low, high = np.quantile(np.array(fits), [(1 - level) / 2, (1 + level) / 2], axis=0)
    return {model: (float(low[i]), float(high[i])) for i, model in enumerate(models)}


def elo(games: Iterable[Game], *, k: float = 4.0, start: float = 1000.0) -> dict[str, float]:
    """Online Elo ratings after the games in this order; another order gives others, so for display only."""
    ratings: dict[str, float] = {}
    for game in games:
        _check_game(game)
        a, b = ratings.get(game.a, start), ratings.get(game.b, start)
        change = k * (game.score - _logistic((a - b) / ELO_SCALE))
        ratings[game.a], ratings[game.b] = a + change, b - change
    return ratings


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _check_game(game: Game) -> None:
    if game.a == game.b:
        raise ValueError(f"{game.a!r} cannot play against itself")
    if not 0 <= game.score <= 1:
        raise ValueError(f"{game.a} against {game.b}: a score lies in [0, 1], got {game.score}")


def _models(games: Sequence[Game]) -> list[str]:
    if not games:
        raise ValueError("no games: there is nothing to rate")
    return list(dict.fromkeys(model for game in games for model in (game.a, game.b)))


def _win_table(games: Sequence[Game], models: Sequence[str]) -> list[list[float]]:
    """wins[i][j]: how often model i beat model j, ties as halves."""
    place = {model: index for index, model in enumerate(models)}
    wins = [[0.0] * len(models) for _ in models]
    for game in games:
        _check_game(game)
        wins[place[game.a]][place[game.b]] += game.score
        wins[place[game.b]][place[game.a]] += 1 - game.score
    return wins


def _with_pseudo_wins(wins: list[list[float]], met: list[list[float]]) -> list[list[float]]:
    size = range(len(wins))
    return [[wins[i][j] + (_PSEUDO_WINS if met[i][j] + met[j][i] else 0.0) for j in size] for i in size]


def _reached(start: int, wins: list[list[float]], *, forward: bool = True, backward: bool = False) -> set[int]:
    found, open_ends = {start}, [start]
    while open_ends:
        i = open_ends.pop()
        for j in range(len(wins)):
            if j not in found and ((forward and wins[i][j]) or (backward and wins[j][i])):
                found.add(j)
                open_ends.append(j)
    return found


def _strongly_connected(wins: list[list[float]]) -> bool:
    """Whether every model has beaten every other, if only through a chain: then the estimate is finite."""
    everybody = len(wins)
    return len(_reached(0, wins)) == everybody and len(_reached(0, wins, forward=False, backward=True)) == everybody


def _check_connected(wins: list[list[float]], models: Sequence[str]) -> None:
    groups: list[set[int]] = []
    for index in range(len(models)):
        if not any(index in group for group in groups):
            groups.append(_reached(index, wins, backward=True))
    if len(groups) > 1:
        names = "; ".join(", ".join(models[i] for i in sorted(group)) for group in groups)
        raise ValueError(
            f"the models fall into {len(groups)} groups that never met: {names}. Rate them apart or add games"
        )


def _fit(wins: list[list[float]]) -> list[float]:
    """Newton's method on the log-likelihood, with the sum held at 0 and steps cut to stay stable."""
    import numpy as np

    table = np.array(wins)
    games = table + table.T
    size = len(table)
    strengths = np.zeros(size)
    for _ in range(200):
        chance = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
        gradient = table.sum(axis=1) - (games * chance).sum(axis=1)
        information = games * chance * (1 - chance)
        # The likelihood ignores a common shift; the constant added fills that direction.
        curvature = np.diag(information.sum(axis=1)) - information + 1.0 / size
        step = np.linalg.solve(curvature, gradient)
        largest = float(np.abs(step).max())
        strengths += step * min(1.0, 2.0 / largest) if largest else 0.0
        strengths -= strengths.mean()
        if largest < 1e-12:
            break
    else:
        if largest > 1e-8:
            raise ArithmeticError("the Bradley-Terry fit did not converge")
    return [float(strength) for strength in strengths]


def _named(strengths: Sequence[float], models: Sequence[str], anchor: str | None) -> dict[str, float]:
    zero = strengths[models.index(anchor)] if anchor is not None else 0.0
    return {model: strength - zero for model, strength in zip(models, strengths, strict=True)}

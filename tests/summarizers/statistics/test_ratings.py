"""Bradley-Terry and Elo ratings from battles."""

import math

import numpy as np
import pytest

from assay.summarizers.statistics import Battle, bradley_terry, elo
from assay.summarizers.statistics.rating_models import POINTS

TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland")
BASEBALL = [
    [0, 7, 9, 7, 7, 9, 11],
    [6, 0, 7, 5, 11, 9, 9],
    [4, 6, 0, 7, 7, 8, 12],
    [6, 8, 6, 0, 6, 7, 10],
    [6, 2, 6, 7, 0, 7, 12],
    [4, 4, 5, 6, 6, 0, 6],
    [2, 4, 1, 3, 1, 7, 0],
]
"""Wins of each team over each other in the American League East, 1987 (Agresti, Categorical Data Analysis)."""
ABILITIES = (1.581, 1.436, 1.294, 1.248, 1.108, 0.684)
"""Published Bradley-Terry abilities of these data, with Baltimore at 0."""


def season():
    teams = (*TEAMS, "Baltimore")
    for row, first in enumerate(teams):
        for column, second in enumerate(teams):
            for game in range(BASEBALL[row][column]):
                yield Battle(first, second, 1.0, f"{first} {second} {game}")


def test_bradley_terry_matches_the_published_abilities_of_1987():
    ratings = {r.name: r.value for r in bradley_terry(list(season())).ratings}

    for team, ability in zip(TEAMS, ABILITIES, strict=True):
        gap = (ratings[team] - ratings["Baltimore"]) / POINTS
        assert gap == pytest.approx(ability, abs=1e-3)


def test_two_models_differ_by_the_log_odds_of_a_win_with_ties_as_half():
    battles = [Battle("a", "b", 1.0, f"w{n}") for n in range(60)]
    battles += [Battle("b", "a", 1.0, f"l{n}") for n in range(20)]
    battles += [Battle("a", "b", 0.5, f"t{n}") for n in range(20)]

    a, b = bradley_terry(battles).ratings

    assert a.value - b.value == pytest.approx(400 * math.log10(70 / 30))
    assert a.value + b.value == pytest.approx(2000)
    assert (a.wins, a.losses, a.ties) == (60, 20, 20)
    assert a.low < a.value < a.high


def test_battles_about_one_sample_are_one_unit():
    apart = [Battle("a", "b", float(n % 3 > 0), f"{n}") for n in range(60)]
    copies = [battle for battle in apart for _ in range(10)]

    once, often = (bradley_terry(battles).ratings[0] for battles in (apart, copies))

    assert often.value == pytest.approx(once.value)
    assert often.stderr == pytest.approx(once.stderr)


def test_the_intervals_cover_the_true_ratings():
    strengths = {"a": 0.6, "b": 0.1, "c": -0.7}
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(200):
        battles = []
        for sample in range(60):
            luck = (
                rng.random()
            )  # shared by the battles about one sample, which are so dependent
            for x, y in (("a", "b"), ("a", "c"), ("b", "c")):
                chance = 1 / (1 + math.exp(strengths[y] - strengths[x]))
                battles.append(Battle(x, y, float(luck < chance), str(sample)))
        first = {r.name: r for r in bradley_terry(battles).ratings}["a"]
        covered += first.low <= 1000 + POINTS * 0.6 <= first.high

    assert covered >= 0.91 * 200


def test_a_model_that_never_lost_has_no_finite_rating():
    battles = [Battle("a", "b", 1.0, "1"), Battle("b", "c", 0.0, "2")]
    battles += [Battle("b", "c", 1.0, "3")]

    with pytest.raises(ValueError, match="a never lost to the others"):
        bradley_terry(battles)


def test_elo_moves_both_models_by_the_surprise():
    a, b = elo([Battle("a", "b", 1.0)]).ratings

    assert (a.name, a.value, b.value) == ("a", 1002.0, 998.0)
    assert a.low is None


@pytest.mark.parametrize(
    "battles",
    [[], [Battle("a", "a", 1.0)], [Battle("a", "b", 2.0)]],
    ids=["none", "itself", "two"],
)
def test_invalid_battles_are_refused(battles):
    for method in (bradley_terry, elo):
        with pytest.raises(ValueError):
            method(battles)

"""Ratings from pairwise comparisons: METRICS §3.10."""

import pytest

from assay.summarizers.statistics import Game, bradley_terry, bradley_terry_intervals, elo


def games(a, b, won, lost):
    scores = [1.0] * won + [0.0] * lost
    return [Game(a, b, score, prompt=index) for index, score in enumerate(scores)]


GAMES = [*games("m0", "m1", 7, 3), *games("m0", "m2", 8, 2), *games("m1", "m2", 6, 4)]


def test_bradley_terry_matches_the_published_vector():
    ratings = bradley_terry(GAMES)

    assert ratings.strengths == pytest.approx({"m0": 0.740570, "m1": -0.149102, "m2": -0.591468}, abs=1e-6)
    assert ratings.elo() == pytest.approx({"m0": 128.65, "m1": -25.90, "m2": -102.75}, abs=0.005)
    assert ratings.chance("m0", "m1") == pytest.approx(0.708823, abs=1e-6)
    assert (ratings.regularised, ratings.note) == (False, "")


def test_an_anchor_is_zero_and_the_gaps_stay():
    ratings = bradley_terry(GAMES, anchor="m1")

    assert ratings.strengths["m1"] == 0.0
    assert ratings.strengths["m0"] == pytest.approx(0.740570 + 0.149102, abs=1e-6)
    assert ratings.elo(1000)["m1"] == 1000


def test_a_tie_is_half_a_win_each_way():
    tied = [Game("a", "b", 0.5), Game("a", "b", 0.5), Game("a", "b", 1.0), Game("a", "b", 0.0)]

    assert bradley_terry(tied).strengths == pytest.approx({"a": 0.0, "b": 0.0}, abs=1e-9)


def test_the_order_of_games_does_not_matter_to_bradley_terry_but_does_to_elo():
    assert bradley_terry(GAMES[::-1]).strengths == pytest.approx(bradley_terry(GAMES).strengths, abs=1e-9)
    assert elo(GAMES) == pytest.approx({"m0": 1017.788, "m1": 995.944, "m2": 986.268}, abs=1e-3)
    assert elo(GAMES[::-1]) == pytest.approx({"m0": 1019.172, "m1": 996.661, "m2": 984.167}, abs=1e-3)


def test_one_elo_game_moves_half_of_k():
    assert elo([Game("a", "b", 1.0)], k=32) == {"a": 1016.0, "b": 984.0}


def test_groups_that_never_met_are_named():
    with pytest.raises(ValueError, match="2 groups that never met: m0, m1, m2; x, y"):
        bradley_terry([*GAMES, Game("x", "y", 1.0)])


def test_a_model_that_won_everything_is_regularised_and_that_is_said():
    ratings = bradley_terry([*games("best", "m", 5, 0), *games("m", "n", 3, 3)])

    assert ratings.regularised
    assert "half a win each way was added" in ratings.note
    # 5.5 wins to 0.5 between the two that met.
    assert ratings.chance("best", "m") == pytest.approx(5.5 / 6, abs=1e-9)


def test_lopsided_but_finite_records_converge():
    ratings = bradley_terry(games("a", "b", 9999, 1))

    assert ratings.chance("a", "b") == pytest.approx(0.9999, abs=1e-9)


def test_intervals_hold_the_estimate_and_repeat_with_the_seed():
    intervals = bradley_terry_intervals(GAMES, resamples=200, seed=1)

    for model, strength in bradley_terry(GAMES).strengths.items():
        low, high = intervals[model]
        assert low < strength < high
    assert intervals == bradley_terry_intervals(GAMES, resamples=200, seed=1)


def test_an_anchor_has_no_width():
    assert bradley_terry_intervals(GAMES, "m1", resamples=50, seed=1)["m1"] == (0.0, 0.0)


def test_resamples_that_lose_a_pair_are_still_fitted():
    sparse = [
        Game("a", "b", 1.0, "p"),
        Game("a", "b", 0.0, "q"),
        Game("b", "c", 1.0, "r"),
        Game("b", "c", 0.0, "s"),
    ]

    intervals = bradley_terry_intervals(sparse, resamples=100, seed=1)

    assert all(low < high for low, high in intervals.values())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bradley_terry([]), "no games"),
        (lambda: bradley_terry(GAMES, anchor="z"), "anchor 'z' played no game; the models are m0, m1, m2"),
        (lambda: bradley_terry([Game("a", "a", 1.0)]), "against itself"),
        (lambda: elo([Game("a", "b", 2.0)]), r"a score lies in \[0, 1\]"),
        (lambda: bradley_terry_intervals([Game("a", "b", 0.5)], seed=0), "names no prompt"),
        (lambda: bradley_terry_intervals([Game("a", "b", 0.5, "p")], seed=0), "at least two prompts"),
    ],
)
def test_games_that_cannot_be_rated_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()

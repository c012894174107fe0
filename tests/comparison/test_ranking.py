"""Ranks with ties: who cannot be distinguished shares places."""

from hypothesis import given
from hypothesis import strategies as st

from assay.comparison.leaderboard import Duel, rank


def by(values, noise):
    """Models of known values: a gap larger than the noise is certain."""
    return lambda a, b: Duel(
        values[a] - values[b], 0.0001 if abs(values[a] - values[b]) > noise else 0.5
    )


def test_models_that_differ_significantly_have_a_rank_each():
    found = rank(["a", "b", "c"], by({"a": 1, "b": 3, "c": 2}, 0.5))

    assert {name: str(one) for name, one in found.items()} == {
        "a": "3",
        "b": "1",
        "c": "2",
    }


def test_models_that_cannot_be_distinguished_share_ranks():
    found = rank(["a", "b", "c"], by({"a": 3.0, "b": 2.9, "c": 1.0}, 0.5))

    assert {name: str(one) for name, one in found.items()} == {
        "a": "1–2",
        "b": "1–2",
        "c": "3",
    }
    assert found["a"].ties == ("b",) and found["c"].ties == ()


def test_pairs_that_were_not_compared_are_ties():
    found = rank(["a", "b"], lambda a, b: None)

    assert str(found["a"]) == str(found["b"]) == "1–2"


def test_p_values_are_adjusted_over_all_pairs():
    names = [f"m{n}" for n in range(5)]

    found = rank(names, lambda a, b: Duel(1.0, 0.03))

    assert {str(one) for one in found.values()} == {
        "1–5"
    }  # each alone would be below 0.05


@given(st.lists(st.floats(0, 10), min_size=2, max_size=7), st.floats(0.01, 3))
def test_a_better_value_never_has_a_worse_rank(values, noise):
    known = {f"m{n}": value for n, value in enumerate(values)}

    found = rank(list(known), by(known, noise))

    for a, x in known.items():
        assert 1 <= found[a].best <= found[a].worst <= len(known)
        for b, y in known.items():
            assert x < y or (
                found[a].best <= found[b].best and found[a].worst <= found[b].worst
            )

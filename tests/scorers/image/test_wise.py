"""WISE: its two versions."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core import Json, Outcome, Output, Sample
from assay.scorers.image.wise import WiseLegacy, WiseVerified


def legacy(rating):
    return WiseLegacy()(Sample(id="a"), Output.of(rating))


@pytest.mark.parametrize(
    "rating",
    [
        Json({"consistency": 2, "realism": 1, "aesthetic_quality": 2}),
        Json({"rating": {"Consistency": "2", "Realism": 1, "Aesthetic Quality": 2}}),
        "**Consistency:** 2\n**Realism:** 1\n**Aesthetic Quality:** 2",
        "Consistency: 2, Realism: 1, Aesthetics = 2",
    ],
)
def test_three_ratings_become_one_score(rating):
    assert legacy(rating).value == pytest.approx(0.9)


@pytest.mark.parametrize(
    "rating",
    [
        "good",
        "Consistency: 2",
        "Consistency: -1\nRealism: 2\nAesthetic Quality: 2",
        Json({"consistency": 3, "realism": 1, "aesthetic": 1}),
        Json({"consistency": None}),
    ],
)
def test_ratings_that_are_missing_or_off_the_scale_are_not_verdict(rating):
    assert legacy(rating).outcome is Outcome.JUDGE_ERROR


@pytest.mark.parametrize(
    ("verdict", "value"),
    [
        (Json({"score": 1}), 1.0),
        (Json(0), 0.0),
        ("Score: 1", 1.0),
        ("0", 0.0),
        (Json({"score": True}), 1.0),
    ],
)
def test_the_verified_version_is_right_or_wrong(verdict, value):
    assert WiseVerified()(Sample(id="a"), Output.of(verdict)).value == value


@pytest.mark.parametrize(
    "verdict", ["2", "perhaps", "10", "-1", "Score: -1", Json({"score": 0.5})]
)
def test_anything_but_0_and_1_is_not_a_verdict(verdict):
    assert (
        WiseVerified()(Sample(id="a"), Output.of(verdict)).outcome
        is Outcome.JUDGE_ERROR
    )


@settings(deadline=None)
@given(*[st.integers(0, 2)] * 3)
def test_the_score_is_highest_for_the_highest_ratings(consistency, realism, aesthetic):
    value = legacy(
        Json({"consistency": consistency, "realism": realism, "aesthetic": aesthetic})
    ).value

    assert 0.0 <= value <= 1.0 + 1e-12
    assert (value == pytest.approx(1.0)) == (consistency == realism == aesthetic == 2)

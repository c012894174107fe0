"""CLIPScore: two scales."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core import Json, Outcome, Output, Sample, UsageError
from assay.scorers.image.text_alignment import ClipScore, clip_score


@pytest.mark.parametrize(
    ("cosine", "official", "percent"),
    [(0.31, 0.775, 31), (0.18, 0.45, 18), (-0.05, 0, 0)],
)
def test_the_two_scales_differ_by_a_factor(cosine, official, percent):
    assert clip_score(cosine) == pytest.approx(official)
    assert clip_score(cosine, "torchmetrics") == pytest.approx(percent)


@pytest.mark.parametrize(
    "output",
    [
        Output.of(Json({"cosine": 0.2})),
        Output.of(Json(0.2)),
        Output(details={"cosine": 0.2}),
    ],
)
def test_the_cosine_is_taken_from_where_it_was_saved(output):
    assert ClipScore()(Sample(id="a"), output).value == pytest.approx(0.5)


def test_a_cosine_may_be_in_the_row():
    assert ClipScore("torchmetrics")(
        Sample(id="a", fields={"cosine": 0.2}), Output()
    ).value == pytest.approx(20)


@pytest.mark.parametrize("cosine", [None, "high", float("nan"), {"text": 0.2}, True])
def test_without_a_cosine_there_is_no_verdict(cosine):
    assert (
        ClipScore()(Sample(id="a"), Output.of(Json(cosine))).outcome
        is Outcome.JUDGE_ERROR
    )


def test_an_unknown_variant_is_refused():
    with pytest.raises(UsageError, match="does not know variant='openai'"):
        ClipScore("openai")


@settings(deadline=None)
@given(st.floats(-1, 1), st.sampled_from(["official", "torchmetrics"]))
def test_the_score_stays_in_the_bounds_of_its_variant(cosine, variant):
    low, high = ClipScore(variant).bounds

    assert low <= clip_score(cosine, variant) <= high

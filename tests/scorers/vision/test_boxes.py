"""Boxes: reading them and their overlap."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core import Json, Outcome, Output, Sample, UsageError
from assay.scorers.vision.boxes import BoxIou, find_box, iou

EDGES = st.floats(0, 1000, allow_nan=False)
BOXES = st.tuples(EDGES, EDGES, st.floats(1, 500), st.floats(1, 500)).map(
    lambda edges: (edges[0], edges[1], edges[0] + edges[2], edges[1] + edges[3])
)


@pytest.mark.parametrize(
    "text",
    [
        "[10, 20, 30, 40]",
        "The dog is at (10,20,30,40).",
        "<ref>dog</ref><box>(10,20),(30,40)</box>",
        '```json\n[{"bbox_2d": [10, 20, 30, 40], "label": "dog"}]\n```',
        "[[10 20 30 40]]",
        "10, 20, 30, 40",
        "10.0 20.0 30.0 40.0.",
        "first [10,20,30,40], then [1,2,3,4]",
        "{10, 20, 30, 40}",
    ],
)
def test_common_ways_to_write_a_box_are_read(text):
    assert find_box(text) == (10, 20, 30, 40)


@pytest.mark.parametrize(
    "text",
    ["", "no box", "[1, 2, 3]", "10 20 30 40 dogs", "at 10, 20 and 30, 40 in 2024"],
)
def test_a_text_without_a_box_has_none(text):
    assert find_box(text) is None


def test_half_an_overlap_is_enough_by_default():
    score = BoxIou()(Sample(id="a", target=(0, 0, 10, 10)), Output.of("[0, 0, 10, 5]"))

    assert score.value == {"acc@0.5": 1.0, "iou": 0.5}


@pytest.mark.parametrize(
    ("scale", "answer"),
    [("unit", "[0.1, 0.1, 0.5, 0.5]"), ("thousand", "[100, 100, 500, 500]")],
)
def test_shares_are_compared_with_pixels_through_the_size_of_the_image(scale, answer):
    sample = Sample(
        id="a", target="[64, 48, 320, 240]", fields={"width": 640, "height": 480}
    )

    assert BoxIou(scale=scale)(sample, Output.of(answer)).value["iou"] == pytest.approx(
        1.0
    )


def test_different_scales_without_the_size_of_the_image_are_a_data_error():
    score = BoxIou(scale="unit")(
        Sample(id="a", target=(0, 0, 10, 10)), Output.of("[0, 0, 1, 1]")
    )

    assert score.outcome is Outcome.DATA_ERROR
    assert "width and height" in score.details["reason"]


def test_a_target_may_be_given_by_corner_and_size():
    score = BoxIou(target_corners="xywh")(
        Sample(id="a", target=[10, 10, 5, 5]), Output.of(Json([10, 10, 15, 15]))
    )

    assert score.value["iou"] == 1.0


def test_an_answer_without_a_box_is_unparsed():
    score = BoxIou()(Sample(id="a", target=(0, 0, 10, 10)), Output.of("on the left"))

    assert (score.outcome, score.value) == (
        Outcome.UNPARSED,
        {"acc@0.5": 0.0, "iou": 0.0},
    )


def test_a_sample_without_a_box_is_a_fault_of_the_data():
    assert (
        BoxIou()(Sample(id="a", target="left"), Output.of("[0,0,1,1]")).outcome
        is Outcome.DATA_ERROR
    )


@pytest.mark.parametrize(
    "option", ["scale", "target_scale", "corners", "target_corners"]
)
def test_an_unknown_way_to_measure_is_refused(option):
    with pytest.raises(UsageError, match=f"does not know {option}='inches'"):
        BoxIou(**{option: "inches"})


@settings(deadline=None)
@given(BOXES, BOXES)
def test_overlap_is_symmetric_and_stays_in_range(one, other):
    assert 0.0 <= iou(one, other) <= 1.0
    assert iou(one, other) == pytest.approx(iou(other, one))


@settings(deadline=None)
@given(BOXES)
def test_the_target_itself_overlaps_wholly(box):
    assert iou(box, box) == pytest.approx(1.0)

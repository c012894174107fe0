"""GenEval: the verdict on one image, from saved detections."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core import Json, Outcome, Output, Sample
from assay.scorers.image.geneval import GenEval, directions

PROMPTS = (
    Path(__file__).parents[3].parent
    / "shared"
    / "data"
    / "geneval"
    / "evaluation_metadata.jsonl"
)
AT_LEFT, AT_RIGHT = [0, 0, 10, 10, 0.95], [50, 0, 60, 10, 0.95]


def score(metadata, detections, **options):
    return GenEval(**options)(
        Sample(id="a", fields=metadata), Output.of(Json(detections))
    )


def test_an_object_that_is_there_is_right():
    verdict = score(
        {"tag": "single_object", "include": [{"class": "dog", "count": 1}]},
        {"dog": [AT_LEFT]},
    )

    assert (verdict.value, verdict.details["counts"]) == (1.0, {"dog": 1})


def test_all_clauses_must_hold():
    wanted = {"include": [{"class": "dog", "count": 1}, {"class": "cat", "count": 1}]}

    verdict = score(wanted, {"dog": [AT_LEFT]})

    assert verdict.value == 0.0
    assert verdict.details["faults"] == ["expected cat>=1, found 0"]


@pytest.mark.parametrize(("n", "value"), [(1, 0.0), (2, 1.0), (3, 0.0)])
def test_a_count_must_be_met_exactly(n, value):
    wanted = {
        "tag": "counting",
        "include": [{"class": "dog", "count": 2}],
        "exclude": [{"class": "dog", "count": 3}],
    }

    assert score(wanted, {"dog": [AT_LEFT] * n}).value == value


@pytest.mark.parametrize(("tag", "value"), [("two_object", 1.0), ("counting", 0.0)])
def test_counting_prompts_use_a_higher_threshold(tag, value):
    assert (
        score(
            {"tag": tag, "include": [{"class": "dog", "count": 1}]},
            {"dog": [[0, 0, 9, 9, 0.5]]},
        ).value
        == value
    )


def test_at_most_sixteen_objects_of_a_class_are_inspected():
    wanted = {"include": [], "exclude": [{"class": "dog", "count": 17}]}

    assert score(wanted, {"dog": [AT_LEFT] * 20}).value == 1.0
    assert score(wanted, {"dog": [AT_LEFT] * 20}, most=20).value == 0.0


@pytest.mark.parametrize(("color", "value"), [("red", 1.0), ("blue", 0.0)])
def test_the_surest_object_must_have_the_colour(color, value):
    wanted = {
        "tag": "colors",
        "include": [{"class": "car", "count": 1, "color": "red"}],
    }
    cars = [
        {"box": AT_LEFT[:4], "score": 0.4, "color": "red"},
        {"box": AT_RIGHT[:4], "score": 0.9, "color": color},
    ]

    assert score(wanted, {"car": cars}).value == value


def test_a_colour_that_was_not_saved_is_not_a_verdict():
    wanted = {
        "tag": "colors",
        "include": [{"class": "car", "count": 1, "color": "red"}],
    }

    verdict = score(wanted, {"car": [AT_LEFT]})

    assert verdict.outcome is Outcome.JUDGE_ERROR
    assert "colour of 'car'" in verdict.details["reason"]


@pytest.mark.parametrize(
    ("relation", "value"), [("right of", 1.0), ("left of", 0.0), ("above", 0.0)]
)
def test_positions_are_relative_to_the_first_object(relation, value):
    wanted = {
        "tag": "position",
        "include": [
            {"class": "dog", "count": 1},
            {"class": "cat", "count": 1, "position": [relation, 0]},
        ],
    }

    assert score(wanted, {"dog": [AT_LEFT], "cat": [AT_RIGHT]}).value == value


def test_a_position_needs_its_target():
    wanted = {
        "include": [
            {"class": "dog", "count": 1},
            {"class": "cat", "count": 1, "position": ["above", 0]},
        ]
    }

    assert (
        score(wanted, {"cat": [AT_LEFT]}).details["faults"][1]
        == "no target for cat to be above"
    )


@pytest.mark.parametrize(
    ("box", "seen"),
    [
        ((50, 0, 60, 10), {"right of"}),
        ((0, -50, 10, -40), {"above"}),
        ((50, 50, 60, 60), {"right of", "below"}),
        ((2, 0, 12, 10), set()),
        ((3, 0, 13, 10), set()),
        ((5, 0, 15, 10), {"right of"}),
        ((0, 0, 10, 10), set()),
    ],
)
def test_an_offset_counts_beyond_a_tenth_of_both_sizes(box, seen):
    assert directions(box, (0, 0, 10, 10)) == seen


def test_metadata_and_detections_may_be_json_text_in_columns():
    fields = {
        "metadata": json.dumps({"include": [{"class": "dog", "count": 1}]}),
        "detections": json.dumps({"dog": [AT_LEFT]}),
    }

    assert GenEval()(Sample(id="a", fields=fields), Output()).value == 1.0


@pytest.mark.parametrize(
    "detections", [None, "none", {"dog": [[1, 2]]}, {"dog": [{"score": 1}]}]
)
def test_detections_that_cannot_be_used_are_not_verdict(detections):
    assert (
        score({"include": [{"class": "dog", "count": 1}]}, detections).outcome
        is Outcome.JUDGE_ERROR
    )


def test_a_prompt_without_objects_is_a_fault_of_the_data():
    assert score({"prompt": "a dog"}, {}).outcome is Outcome.DATA_ERROR


@pytest.mark.skipif(
    not PROMPTS.exists(), reason="shared/data/geneval is not beside this checkout"
)
def test_every_official_prompt_can_be_fulfilled_and_missed():
    """An image drawn from the metadata itself is right, and an empty one is wrong."""
    places = {
        "left of": (0, 200),
        "right of": (400, 200),
        "above": (200, 0),
        "below": (200, 400),
    }
    for line in PROMPTS.read_text(encoding="utf-8").splitlines():
        wanted = json.loads(line)
        detections = {}
        for clause in wanted["include"]:
            x, y = places[clause["position"][0]] if "position" in clause else (200, 200)
            thing = {
                "box": [x, y, x + 20, y + 20],
                "score": 0.99,
                "color": clause.get("color"),
            }
            detections.setdefault(clause["class"], []).extend([thing] * clause["count"])

        assert score(wanted, detections).value == 1.0, line
        assert score(wanted, {}).value == 0.0, line


@settings(deadline=None)
@given(
    st.lists(st.tuples(*[st.integers(0, 99)] * 4).map(list), max_size=6), st.randoms()
)
def test_the_order_of_detections_with_equal_scores_does_not_change_a_count(
    boxes, random
):
    wanted = {
        "include": [{"class": "dog", "count": 2}],
        "exclude": [{"class": "dog", "count": 4}],
    }
    mixed = random.sample(boxes, len(boxes))

    assert (
        score(wanted, {"dog": boxes}).value
        == score(wanted, {"dog": mixed}).value
        == float(2 <= len(boxes) < 4)
    )

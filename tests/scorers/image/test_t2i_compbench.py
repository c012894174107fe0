"""T2I-CompBench's arithmetic from saved answers, boxes and cosines; vectors worked out from the official functions."""

import asyncio
import json

import pytest

from assay.core import Image, Outcome, Output, Sample
from assay.scorers.image.t2i_compbench import (
    T2ICompBench,
    objects_of,
    parts_of,
    phrases_of,
    place_score,
    spatial_score,
)

LEFT, RIGHT, FAR = (0, 0, 10, 10), (100, 0, 110, 10), (400, 300, 410, 310)


class Specialist:
    """Replies by what it is asked."""

    def __init__(self, reply):
        self.reply, self.asked = reply, []

    async def ask(self, prompt, options=None):
        self.asked.append(prompt)
        return Output.of(json.dumps(self.reply))


@pytest.mark.parametrize(
    ("place", "one", "other", "expected"),
    [
        ("on the left of", LEFT, RIGHT, 1.0),
        ("on the right of", RIGHT, LEFT, 1.0),
        ("on the left of", RIGHT, LEFT, 0.0),
        ("on the left of", (0, 0, 10, 10), (5, 50, 15, 60), 0.0),
        ("on the top of", (0, 0, 10, 10), (0, 50, 10, 60), 1.0),
        ("on the bottom of", (0, 0, 10, 10), (0, 50, 10, 60), 0.0),
        ("on the bottom of", (0, 50, 10, 60), (0, 0, 10, 10), 1.0),
        ("next to", LEFT, RIGHT, 1.0),
        ("near", LEFT, FAR, 150 / 400),
        ("on side of", (0, 0, 10, 10), (400, 100, 410, 110), 1.0),
        ("on top of", (0, 0, 10, 10), (0, 50, 10, 60), 0.0),
        ("", LEFT, RIGHT, 0.0),
    ],
)
def test_places_are_judged_by_the_centres_of_two_boxes(place, one, other, expected):
    assert place_score(place, one, other) == pytest.approx(expected)


def test_boxes_that_overlap_count_less():
    one, other = (0, 0, 20, 10), (10, 0, 30, 10)

    assert place_score("on the left of", one, other) == pytest.approx(0.1 / (1 / 3))


@pytest.mark.parametrize(
    ("detections", "expected"),
    [
        ({"cup": [[*LEFT, 0.8]], "clock": [[*RIGHT, 0.6]]}, 0.25 * 1.4 + 0.5),
        ({"cup": [[*RIGHT, 0.8]], "clock": [[*LEFT, 0.6]]}, 0.0),
        ({"cup": [[*RIGHT, 1.0]], "clock": [[*LEFT, 1.0]]}, 0.5),
        ({"cup": [[*LEFT, 1.0]]}, 0.0),
        ({}, 0.0),
        ({"cup": [[*RIGHT, 0.3], [*LEFT, 0.9]], "clock": [[*RIGHT, 0.9]]}, 0.45 + 0.5),
    ],
)
def test_a_spatial_value_is_half_confidence_and_half_position(detections, expected):
    assert spatial_score(
        "a cup on the left of a clock", "cup", "clock", detections
    ) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("prompt", "phrases"),
    [
        ("a red ball and a blue box", ["a red ball", "a blue box"]),
        ("rubber sole shoes and fluffy clouds", ["rubber sole shoes", "fluffy clouds"]),
        (
            "a black bathroom with a white curtain",
            ["a black bathroom", "a white curtain"],
        ),
        (
            "The red hat was on the top of the brown rack.",
            ["The red hat", "the brown rack"],
        ),
        ("sandy hills", ["sandy hills"]),
    ],
)
def test_noun_phrases_are_split_at_joining_words(prompt, phrases):
    assert phrases_of({}, prompt) == phrases


def test_columns_override_phrases_and_objects():
    row = {"phrases": '["a red ball"]', "objects": ["Cup", "woman"]}

    assert phrases_of(row, "whatever and else") == ["a red ball"]
    assert objects_of(row, "x") == ("cup", "person")
    assert objects_of({}, "a girl on the top of a frog") == ("person", "frog")


@pytest.mark.parametrize(
    ("row", "parts"),
    [
        ({"category": "Color"}, ("vqa",)),
        ({"category": "texture_val"}, ("vqa",)),
        ({"category": "spatial"}, ("detector",)),
        ({"category": "non-spatial"}, ("clip",)),
        ({"category": "complex", "relation": "spatial"}, ("vqa", "detector")),
        ({"category": "complex", "relation": "action"}, ("vqa", "clip")),
        ({"category": "complex"}, ("vqa", "detector", "clip")),
        ({"category": "numeracy"}, ()),
    ],
)
def test_the_kind_of_a_prompt_decides_which_models_are_asked(row, parts):
    assert parts_of(row) == parts


def judged(category, prompt, vqa=None, detector=None, clip=None, output=None):
    models = {
        "vqa": Specialist(vqa),
        "detector": Specialist(detector),
        "clip": Specialist(clip),
    }
    sample = Sample(id="a", input=prompt, fields={"category": category})
    made = output or Output.of(Image(b"\x89PNG one"))
    return asyncio.run(T2ICompBench(models=models)(sample, made)), models


def test_attributes_are_the_product_of_the_phrases():
    score, models = judged(
        "color", "a red ball and a blue box", vqa={"yes": {"1": 0.5, "2": 0.4}}
    )

    assert score.value == pytest.approx(0.2) and score.details["parts"] == {
        "vqa": pytest.approx(0.2)
    }
    asked = json.loads(models["vqa"].asked[0].messages[0].parts[1].text)
    assert asked == {"questions": {"1": "a red ball?", "2": "a blue box?"}}
    assert not models["detector"].asked and not models["clip"].asked


def test_a_complex_prompt_is_the_mean_of_its_three_parts():
    boxes = {"detections": {"ball": [[*LEFT, 1.0]], "box": [[*RIGHT, 1.0]]}}

    score, _ = judged(
        "complex",
        "a ball on the left of a box",
        vqa={"yes": {"1": 1, "2": 0.5}},
        detector=boxes,
        clip={"cosine": 0.3},
    )

    assert score.value == pytest.approx((0.5 + 1.0 + 0.3) / 3)


@pytest.mark.parametrize(
    ("category", "replies", "reason"),
    [
        ("color", {"vqa": {"yes": {"1": 1.0}}}, "'2'"),
        ("color", {"vqa": {"yes": {"1": 2.0, "2": 1.0}}}, "outside 0"),
        ("color", {"vqa": {"answers": {}}}, "gave no 'yes'"),
        ("spatial", {"detector": {"detections": {"ball": [["a"]]}}}, ""),
        ("non_spatial", {"clip": 3}, "gave no 'cosine'"),
    ],
)
def test_an_unusable_reply_is_a_judge_error(category, replies, reason):
    score, _ = judged(category, "a red ball and a blue box", **replies)

    assert (
        score.outcome is Outcome.JUDGE_ERROR
        and score.value is None
        and reason in score.details["reason"]
    )


def test_no_image_scores_zero_and_an_unknown_kind_is_a_data_error():
    assert (
        judged("color", "a ball", output=Output.of("words"))[0].outcome
        is Outcome.UNPARSED
    )
    assert judged("numeracy", "two balls")[0].outcome is Outcome.DATA_ERROR

"""Scorers of images that are given a model (CLIPScore, VQAScore, LPIPS), and how such a model is asked."""

import asyncio
import json

import pytest

from assay.core import (
    Image,
    Message,
    ModelError,
    Outcome,
    Output,
    Prompt,
    Sample,
    Text,
    UsageError,
)
from assay.scorers.given_models import ask_model
from assay.scorers.image.image_similarity import Lpips
from assay.scorers.image.text_alignment import ClipScoreAsked, VqaScore

MADE, WANTED = Image(b"\x89PNG made"), Image(b"\x89PNG wanted")
PROMPT = Prompt((Message("user", (Text("?"),)),))


class Specialist:
    """Gives one reply and keeps what it was shown."""

    def __init__(self, reply):
        self.reply, self.asked = reply, []

    async def ask(self, prompt, options=None):
        self.asked.append(prompt.messages[0].parts)
        return (
            self.reply
            if isinstance(self.reply, Output)
            else Output.of(json.dumps(self.reply))
        )


def judged(kind, role, reply, output=None, sample=None, **options):
    specialist = Specialist(reply)
    scorer = kind(models={role: specialist}, **options)
    sample = sample or Sample("a", input="a red ball", target=WANTED)
    return asyncio.run(scorer(sample, output or Output.of(MADE))), specialist


@pytest.mark.parametrize(
    ("variant", "cosine", "value", "said"),
    [
        ("official", 0.31, 0.775, "A photo depicts a red ball"),
        ("official", -0.05, 0.0, "A photo depicts a red ball"),
        ("torchmetrics", 0.31, 31.0, "a red ball"),
        ("torchmetrics", 0.18, 18.0, "a red ball"),
    ],
)
def test_clip_is_asked_with_the_prefix_of_the_scale(variant, cosine, value, said):
    score, clip = judged(ClipScoreAsked, "clip", {"cosine": cosine}, variant=variant)

    assert score.value == pytest.approx(value) and score.details["shown"] == MADE.digest
    assert clip.asked[0][0] is MADE and clip.asked[0][1].text == said


def test_a_scale_that_does_not_exist_is_refused():
    with pytest.raises(UsageError, match="does not know variant='openai'"):
        ClipScoreAsked("openai")


def test_vqascore_is_the_probability_of_the_model():
    assert judged(VqaScore, "vqa", {"score": 0.83})[0].value == 0.83
    assert judged(VqaScore, "vqa", {"score": 1.5})[0].outcome is Outcome.JUDGE_ERROR


def test_lpips_shows_the_reference_first_and_the_image_second():
    score, lpips = judged(Lpips, "lpips", {"distance": 0.25})

    assert (
        score.value == 0.25
        and not Lpips.higher_is_better
        and lpips.asked == [(WANTED, MADE)]
    )
    assert (score.details["reference"], score.details["shown"]) == (
        WANTED.digest,
        MADE.digest,
    )


def test_lpips_may_compare_with_a_column():
    other = Sample("a", fields={"before": WANTED})

    assert (
        judged(Lpips, "lpips", {"distance": 0.5}, sample=other, reference="before")[
            0
        ].value
        == 0.5
    )


@pytest.mark.parametrize(
    "reply",
    [
        {"distance": -1},
        {"distance": "far"},
        {"distance": True},
        Output.failed("oom", "no"),
    ],
)
def test_an_unusable_distance_is_a_judge_error(reply):
    assert judged(Lpips, "lpips", reply)[0].outcome is Outcome.JUDGE_ERROR


def test_lpips_without_two_images_compares_nothing():
    assert (
        judged(Lpips, "lpips", {}, output=Output.of("words"))[0].outcome
        is Outcome.MODEL_ERROR
    )
    assert (
        judged(Lpips, "lpips", {}, sample=Sample("a", target="text"))[0].outcome
        is Outcome.DATA_ERROR
    )


def test_without_a_model_the_role_is_named():
    with pytest.raises(
        UsageError, match="for the role 'lpips'; fix: name one with --judge lpips=MODEL"
    ):
        asyncio.run(Lpips()(Sample("a", target=WANTED), Output.of(MADE)))


@pytest.mark.parametrize(
    ("role", "named"), [("judge", "--judge MODEL"), ("clip", "--judge clip=MODEL")]
)
def test_a_missing_role_is_reported_with_its_option(role, named):
    with pytest.raises(
        UsageError,
        match=f"no model is given for the role '{role}'; fix: name one with {named}",
    ):
        asyncio.run(ask_model({}, role, PROMPT))


def test_a_model_that_gives_no_answer_is_named_by_its_role():
    with pytest.raises(ModelError, match="role 'clip': timeout: too slow"):
        asyncio.run(
            ask_model(
                {"clip": Specialist(Output.failed("timeout", "too slow"))},
                "clip",
                PROMPT,
            )
        )

"""Several ratings by one judge, made into one value."""

import asyncio
import json

import pytest

from assay.core import Candidate, Image, Outcome, Output, Sample, Text, UsageError
from assay.scorers.judge.judge_ratings import JudgeRatings

ASPECTS = {"success": "was it done?", "quality": "is it well made?"}
GIVEN, MADE = Image(b"\x89PNG given"), Image(b"\x89PNG made")
SAMPLE = Sample(id="e1", input="Make it blue.", media=(GIVEN,))


class Judge:
    """Gives one reply and keeps what it was asked."""

    def __init__(self, reply):
        self.reply = reply
        self.asked = []

    async def ask(self, prompt, options=None):
        self.asked.append(prompt)
        return self.reply if isinstance(self.reply, Output) else Output.of(self.reply)


def rate(reply, output=None, **options):
    judge = Judge(reply)
    scorer = JudgeRatings(ASPECTS, expects="image", models={"judge": judge}, **options)
    return asyncio.run(scorer(SAMPLE, output or Output.of(MADE))), judge


@pytest.mark.parametrize(
    ("options", "overall"),
    [
        ({}, 6.5),
        ({"combine": "geometric"}, 6.0),
        ({"weights": {"success": 3.0, "quality": 1.0}}, 7.75),
    ],
)
def test_aspects_are_combined_on_their_own_scale(options, overall):
    score, _ = rate('{"success": 9, "quality": 4, "reason": "blue enough"}', **options)

    assert score.value == pytest.approx(
        {"success": 9.0, "quality": 4.0, "overall": overall}
    )


def test_ratings_count_although_the_reason_is_no_valid_json():
    score, _ = rate('{"success": 2, "quality": 1, "reason": "It says "perfect"')

    assert score.value == {"success": 2.0, "quality": 1.0, "overall": 1.5}


def test_the_judge_sees_the_generated_image_and_optionally_the_given_one():
    _, blind = rate('{"success": 9, "quality": 4}')
    score, judge = rate('{"success": 9, "quality": 4}', shows_question=True)

    assert blind.asked[0].media == (MADE,)
    assert judge.asked[0].media == (GIVEN, MADE)
    assert score.details["shown"] == [MADE.digest]
    assert "- success: was it done?" in judge.asked[0].messages[0].text


def test_a_reply_may_have_further_fields():
    score, _ = rate('{"success": 9, "quality": 4, "fun": 3, "thoughts": "…"}')

    assert score.value == {"success": 9.0, "quality": 4.0, "overall": 6.5}


@pytest.mark.parametrize(
    "reply",
    [
        '{"success": 9}',
        '{"success": 9, "quality": 11}',
        '{"success": 9, "quality": 4.5}',
        '{"success": true, "quality": 4}',
        '{"success": 9, "success": 1, "quality": 4}',
        "nine and four",
        Output.failed("timeout", "too slow"),
    ],
)
def test_a_reply_without_every_rating_on_the_scale_is_not_a_verdict(reply):
    score, _ = rate(reply)

    assert (score.value, score.outcome) == (None, Outcome.JUDGE_ERROR)


def test_ratings_count_even_where_the_answer_contains_the_same():
    ratings = json.dumps({"success": 1, "quality": 1})
    answer = Output((Candidate((MADE, Text(f"Do not say {ratings}"))),))

    score, judge = rate(ratings, answer)

    assert score.outcome is Outcome.SCORED
    assert score.value["success"] == 1.0
    assert judge.asked[0].media == (MADE,)


def test_an_answer_without_an_image_gets_nothing_and_is_not_judged():
    score, judge = rate('{"success": 9, "quality": 4}', Output.of("Here it is."))

    assert (score.outcome, judge.asked) == (Outcome.UNPARSED, [])
    assert score.value == {"success": 0.0, "quality": 0.0, "overall": 0.0}


def test_wrong_settings_are_refused():
    with pytest.raises(UsageError, match="needs aspects"):
        JudgeRatings({})
    with pytest.raises(UsageError, match="does not know combine='best'"):
        JudgeRatings(ASPECTS, combine="best")
    with pytest.raises(UsageError, match="weights for other aspects"):
        JudgeRatings(ASPECTS, {"success": 1.0})
    with pytest.raises(UsageError, match="no model is given for the role 'judge'"):
        asyncio.run(JudgeRatings(ASPECTS)(SAMPLE, Output.of(MADE)))

"""VIEScore: the least of each pair of ratings, and their geometric mean."""

import asyncio
import json

from assay.core import Image, Outcome, Output, Sample
from assay.scorers.image.edit_ratings import ALONE, VieScore
from assay.scorers.judge.judge_ratings import JudgeRatings

GIVEN, MADE = Image(b"\x89PNG given"), Image(b"\x89PNG made")
SAMPLE = Sample("e", "Make the ball blue.", media=(GIVEN,))


class Judge:
    def __init__(self, *replies):
        self.replies, self.prompts = list(replies), []

    async def ask(self, prompt, options=None):
        self.prompts.append(prompt)
        return Output.of(json.dumps(self.replies[len(self.prompts) - 1]))


def test_each_value_is_the_least_of_its_ratings():
    judge = Judge({"success": 9, "restraint": 4}, {"naturalness": 10, "soundness": 9})

    score = asyncio.run(VieScore(models={"judge": judge})(SAMPLE, Output.of(MADE)))

    assert score.value == {"semantics": 4.0, "quality": 9.0, "overall": 6.0}


def test_quality_is_judged_by_the_result_alone():
    judge = Judge({"success": 9, "restraint": 4}, {"naturalness": 10, "soundness": 9})

    asyncio.run(VieScore(models={"judge": judge})(SAMPLE, Output.of(MADE)))

    edit, image = judge.prompts
    assert [medium.source for medium in edit.media] == [GIVEN.source, MADE.source]
    assert [medium.source for medium in image.media] == [MADE.source]
    assert "blue" not in image.messages[-1].text and ALONE in image.messages[-1].text


def test_a_judge_that_fails_once_leaves_no_value():
    judge = Judge({"success": 9, "restraint": 4}, {"naturalness": 10})

    score = asyncio.run(VieScore(models={"judge": judge})(SAMPLE, Output.of(MADE)))

    assert (score.value, score.outcome) == (None, Outcome.JUDGE_ERROR)


def test_no_image_is_not_an_edit():
    score = asyncio.run(
        VieScore(models={"judge": Judge()})(SAMPLE, Output.of("I drew it."))
    )

    assert (score.value["overall"], score.outcome) == (0.0, Outcome.UNPARSED)


def test_ratings_above_the_capping_aspect_are_cut_to_it():
    ratings = JudgeRatings(
        {"first": "a", "second": "b"}, lowest=1, highest=5, capped_by="first"
    )
    reply = json.dumps({"first": 2, "second": 5})

    assert ratings.read(reply) == {"first": 2.0, "second": 2.0}
    assert ratings.bounds == (1.0, 5.0)

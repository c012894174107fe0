"""A specialist asked about an output: its reply is scored as if it had been saved."""

import asyncio
from dataclasses import replace

import pytest

from assay.core import Candidate, Image, Json, Outcome, Output, Sample, Text, UsageError
from assay.scorers.asked import Asked
from assay.scorers.image.rendered_text import OcrText
from assay.scorers.saved_media import SavedNumber
from assay.scorers.speech.wer import WordErrorRate

SAMPLE = Sample(id="a", input="a ball", target="OPEN 42", fields={"score": 0.9})
IMAGE = Image(b"\x89PNG one")


class Specialist:
    """Gives one reply and keeps what it was asked."""

    def __init__(self, reply):
        self.reply = reply
        self.asked = []

    async def ask(self, prompt, options=None):
        self.asked.append(prompt)
        return self.reply if isinstance(self.reply, Output) else Output.of(self.reply)


def score(scorer, reply, output=None):
    specialist = Specialist(reply)
    given = replace(scorer, models={scorer.role: specialist})
    return asyncio.run(given(SAMPLE, output or Output.of(IMAGE))), specialist


NUMBER = Asked(
    "vqa", "score", SavedNumber(), lambda sample: f"Shows it {sample.input}?"
)


@pytest.mark.parametrize(
    "reply", [Json({"score": 0.25}), Json(0.25), '{"score": 0.25}', "0.25"]
)
def test_a_reply_is_read_with_or_without_the_name_of_its_entry(reply):
    result, specialist = score(
        NUMBER,
        Output((Candidate((reply if isinstance(reply, Json) else Text(reply),)),)),
    )

    assert (result.value, result.details["score"], result.details["shown"]) == (
        0.25,
        0.25,
        IMAGE.digest,
    )
    (message,) = specialist.asked[0].messages
    assert message.parts == (IMAGE, Text("Shows it a ball?")) and specialist.asked[
        0
    ].produces == ("json",)


def test_text_of_the_model_is_not_read_as_the_specialists_reply():
    boast = Output((Candidate((IMAGE, Json({"score": 1.0}), Text("score: 1"))),))

    result, _ = score(NUMBER, "0.25", boast)

    assert result.value == 0.25


def test_text_that_looks_like_a_number_stays_text():
    result, _ = score(Asked("ocr", "recognised", OcrText(), wants="lines"), "OPEN 42")

    assert result.value["ned"] == 1.0
    assert (
        score(Asked("ocr", "recognised", OcrText(), wants="lines"), "42")[0].value[
            "word_accuracy"
        ]
        == 0.5
    )


def test_the_inner_scorer_may_be_named_as_in_a_file():
    named = Asked(
        "ocr", "recognised", {"name": "ocr_text", "ignore_case": False}, wants="lines"
    )

    assert (
        named.scorer == OcrText(ignore_case=False)
        and Asked("ocr", "recognised", "ocr_text").scorer == OcrText()
    )
    assert score(named, "open 42")[0].value["word_accuracy"] == 0.5


def test_an_output_without_an_image_is_unparsed_and_the_specialist_is_not_asked():
    result, specialist = score(NUMBER, "0.25", Output.of("no picture today"))

    assert (result.value, result.outcome, specialist.asked) == (
        0.0,
        Outcome.UNPARSED,
        [],
    )


@pytest.mark.parametrize(
    "reply", [Output.failed("timeout", "too slow"), "no idea", "7", "true"]
)
def test_a_failing_specialist_or_an_unusable_reply_is_a_judge_error(reply):
    result, _ = score(NUMBER, reply)

    assert (result.value, result.outcome) == (None, Outcome.JUDGE_ERROR)


def test_bounds_and_direction_are_those_of_the_inner_scorer():
    rate = Asked("asr", "text", WordErrorRate("none"), expects="audio")

    assert (rate.needs, rate.higher_is_better, rate.bounds) == (("asr",), False, None)
    assert rate.summarizers == WordErrorRate("none").summarizers and NUMBER.bounds == (
        0.0,
        1.0,
    )


def test_wrong_settings_are_refused():
    with pytest.raises(UsageError, match="does not know wants='xml'"):
        Asked("vqa", "score", SavedNumber(), wants="xml")
    with pytest.raises(
        UsageError, match="needs an inner scorer that is not asynchronous"
    ):
        Asked("vqa", "score", NUMBER)
    with pytest.raises(UsageError, match="no model is given for the role 'vqa'"):
        asyncio.run(NUMBER(SAMPLE, Output.of(IMAGE)))


def test_a_saved_number_may_be_in_a_column():
    assert SavedNumber()(SAMPLE, Output.of(IMAGE)).value == 0.9
    assert (
        SavedNumber(high=0.5)(SAMPLE, Output.of(IMAGE)).outcome is Outcome.JUDGE_ERROR
    )

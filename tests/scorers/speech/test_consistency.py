"""Speech-text consistency with a recognizer that is scripted."""

import asyncio

import pytest

from assay.core import Audio, Candidate, Outcome, Output, Sample, Text, UsageError
from assay.scorers.speech.heard import SpeechConsistency

SAMPLE = Sample(id="a")


class Recognizer:
    """Hears what it is told to hear, and remembers what it was asked."""

    def __init__(self, heard):
        self.heard = heard
        self.asked = []

    async def ask(self, prompt, options=None):
        self.asked.append(prompt)
        return self.heard if isinstance(self.heard, Output) else Output.of(self.heard)


def spoken(text, audio=b"RIFFsound"):
    parts = (Text(text), Audio(audio)) if text else (Audio(audio),)
    return Output((Candidate(parts),))


def score(heard, output, **options):
    return asyncio.run(
        SpeechConsistency(models={"asr": Recognizer(heard)}, **options)(SAMPLE, output)
    )


def test_the_models_own_text_is_the_reference():
    ours = score("the cat sit on mat", spoken("the cat sat on the mat"))

    assert ours.value == pytest.approx(2 / 6)
    assert {name: ours.details[name] for name in "SDIN"} == {
        "S": 1,
        "D": 1,
        "I": 0,
        "N": 6,
    }
    assert ours.answer == "the cat sit on mat"


def test_characters_are_compared_where_asked():
    assert score(
        "今天天汽好", spoken("今天天气很好"), unit="characters"
    ).value == pytest.approx(1 / 3)


def test_the_metric_names_unit_and_normalizer():
    scorer = SpeechConsistency(unit="characters", normalize="zh")

    assert scorer.metric == "consistency[cer[zh]]"
    assert scorer.summarizers[0].options["metric"] == scorer.metric


def test_the_recognizer_gets_the_sound_and_the_instruction():
    recognizer = Recognizer("hi")
    scorer = SpeechConsistency(instruction="Transcribe.", models={"asr": recognizer})

    asyncio.run(scorer(SAMPLE, spoken("hi")))

    (prompt,) = recognizer.asked
    assert prompt.media == (Audio(b"RIFFsound"),)
    assert prompt.messages[0].text == "Transcribe."


def test_words_that_were_written_and_not_spoken_are_deletions():
    ours = score("x", Output.of("only text"))

    assert (ours.value, ours.outcome) == (1.0, Outcome.UNPARSED)
    assert (ours.details["D"], ours.details["N"]) == (2, 2)


def test_speech_without_text_leaves_nothing_to_compare():
    assert score("x", spoken("")).outcome is Outcome.UNPARSED


def test_a_recognizer_that_fails_is_not_a_verdict_on_the_model():
    ours = score(Output.failed("timeout", "60 s"), spoken("hi"))

    assert (ours.value, ours.outcome) == (None, Outcome.JUDGE_ERROR)
    assert "timeout" in ours.details["reason"]


def test_a_run_without_recognizer_reports_how_to_name_one():
    with pytest.raises(UsageError, match="--judge asr=MODEL"):
        asyncio.run(SpeechConsistency()(SAMPLE, spoken("hi")))


def test_an_unknown_unit_is_refused_before_the_run():
    with pytest.raises(UsageError, match="does not know unit='syllables'"):
        SpeechConsistency(unit="syllables")

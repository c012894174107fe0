"""Scorers that are given a recogniser: what it hears in speech, what it reads in pictures."""

import asyncio

import numpy as np
import pytest

from assay.core import Outcome, Output, Sample, UsageError
from assay.media import audio_from, image_from
from assay.scorers.image.rendered_text import ReadText, RenderedText
from assay.scorers.speech.heard import SpokenWer

SPEECH = Output.of(audio_from(np.full(800, 0.1, np.float32), 16_000))
IMAGE = Output.of(image_from(np.zeros((4, 4), np.uint8)))


class Heard:
    """A recogniser that always says the same."""

    def __init__(self, output: Output) -> None:
        self.output, self.prompts = output, []

    async def ask(self, prompt):
        self.prompts.append(prompt)
        return self.output


def judged(scorer, sample: Sample, output: Output):
    return asyncio.run(scorer(sample, output))


class TestSpokenWer:
    def test_the_transcript_is_compared_with_the_target(self):
        scorer = SpokenWer(models={"asr": Heard(Output.of("the cat sat up"))})

        score = judged(scorer, Sample("a", target="the cat sat down"), SPEECH)

        assert (
            score.value == 0.25 and score.details["S"] == 1 and score.details["N"] == 4
        )

    def test_the_recogniser_gets_the_unchanged_audio(self):
        asr = Heard(Output.of("yes"))

        judged(SpokenWer(models={"asr": asr}), Sample("a", target="yes"), SPEECH)

        assert asr.prompts[0].media == SPEECH.media

    def test_silence_counts_every_word_as_left_out(self):
        score = judged(
            SpokenWer(models={"asr": Heard(Output.of("x"))}),
            Sample("a", target="one two"),
            Output.of(""),
        )

        assert score.outcome is Outcome.UNPARSED and score.details["D"] == 2

    def test_a_recogniser_that_fails_is_not_an_error_of_the_voice(self):
        scorer = SpokenWer(models={"asr": Heard(Output.failed("timeout", "too slow"))})

        score = judged(scorer, Sample("a", target="yes"), SPEECH)

        assert score.value is None and score.outcome is Outcome.JUDGE_ERROR

    def test_an_unknown_normalizer_is_refused_before_the_run(self):
        with pytest.raises(
            UsageError, match="scorer 'spoken_wer' has no normalizer 'klingon'"
        ):
            SpokenWer(normalize="klingon")

    def test_without_a_recogniser_it_says_how_to_name_one(self):
        with pytest.raises(UsageError, match="--judge asr=MODEL"):
            judged(SpokenWer(), Sample("a", target="yes"), SPEECH)


class TestRenderedText:
    def test_case_and_blanks_do_not_count(self):
        scorer = RenderedText(models={"ocr": Heard(Output.of("HELLOWORLD"))})

        score = judged(scorer, Sample("a", target="Hello world"), IMAGE)

        assert score.value == {"exact": 1.0, "ned": 1.0}

    def test_a_wrong_letter_is_not_exact_but_near(self):
        scorer = RenderedText(models={"ocr": Heard(Output.of("Hcllo world"))})

        score = judged(scorer, Sample("a", target="Hello world"), IMAGE)

        assert score.value["exact"] == 0.0 and score.value["ned"] == pytest.approx(0.9)

    def test_no_image_counts_as_zero(self):
        score = judged(
            RenderedText(models={"ocr": Heard(IMAGE)}),
            Sample("a", target="x"),
            Output.of("x"),
        )

        assert score.outcome is Outcome.UNPARSED and score.value == {
            "exact": 0.0,
            "ned": 0.0,
        }

    def test_a_reader_that_fails_is_not_an_error_of_the_image(self):
        scorer = RenderedText(models={"ocr": Heard(Output.failed("oom", "too large"))})

        assert (
            judged(scorer, Sample("a", target="x"), IMAGE).outcome
            is Outcome.JUDGE_ERROR
        )

    def test_without_a_reader_it_says_how_to_name_one(self):
        with pytest.raises(UsageError, match="--judge ocr=MODEL"):
            judged(RenderedText(), Sample("a", target="x"), IMAGE)


class TestReadText:
    def test_the_nearest_target_counts(self):
        score = ReadText()(
            Sample("a", target=("Exit", "Way out")), Output.of("WAY\nOUT")
        )

        assert score.value == {"exact": 1.0, "ned": 1.0}

    def test_more_text_than_in_the_image_is_not_exact(self):
        score = ReadText()(Sample("a", target="Exit"), Output.of("The sign says Exit"))

        assert score.value["exact"] == 0.0 and 0 < score.value["ned"] < 1

    def test_a_sample_without_a_target_is_a_fault_of_the_data(self):
        assert ReadText()(Sample("a"), Output.of("x")).outcome is Outcome.DATA_ERROR

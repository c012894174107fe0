"""Speaker similarity with an encoder that is scripted by the bytes it hears."""

import asyncio

import pytest

from assay.core import Audio, Json, Outcome, Output, Sample, UsageError
from assay.scorers.speech.recordings import SpeakerSimilarity

ONE, OTHER = Audio(b"one"), Audio(b"other")
VOICES = {
    b"one": [1.0, 0.0],
    b"other": [3.0, 4.0],
    b"zero": [0.0, 0.0],
    b"long": [1.0, 2.0, 3.0],
}


class Encoder:
    def __init__(self, wrap=lambda voice: voice):
        self.wrap = wrap

    async def ask(self, prompt, options=None):
        return Output.of(Json(self.wrap(VOICES[prompt.media[0].data()])))


def score(target, made, encoder=None, **options):
    scorer = SpeakerSimilarity(
        "toy", models={"speaker": encoder or Encoder()}, **options
    )
    return asyncio.run(
        scorer(
            Sample(id="a", target=target, media=(OTHER,), fields={"voice": ONE}),
            Output.of(made),
        )
    )


def test_the_same_voice_is_one():
    assert score(ONE, ONE).value == 1.0


def test_the_cosine_of_two_voices():
    assert score(ONE, OTHER).value == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("reference", "value"), [("target", 1.0), ("input", 0.6), ("voice", 1.0)]
)
def test_the_reference_may_be_target_question_or_column(reference, value):
    assert score(ONE, ONE, reference=reference).value == pytest.approx(value)


def test_an_embedding_may_be_in_a_dictionary():
    assert score(
        ONE, OTHER, Encoder(lambda voice: {"embedding": voice})
    ).value == pytest.approx(0.6)


def test_the_encoder_is_part_of_the_metrics_name():
    assert (
        SpeakerSimilarity("wavlm-large-sv").summarizers[0].options["metric"]
        == "sim[wavlm-large-sv]"
    )


@pytest.mark.parametrize(
    ("made", "encoder", "reason"),
    [
        (Audio(b"zero"), None, "length 0"),
        (Audio(b"long"), None, "embeddings of 2 and 3"),
        (ONE, Encoder(lambda _: "hello"), "no embedding"),
    ],
)
def test_an_encoder_that_fails_is_not_a_verdict_on_the_model(made, encoder, reason):
    ours = score(ONE, made, encoder)

    assert (ours.value, ours.outcome) == (None, Outcome.JUDGE_ERROR)
    assert reason in ours.details["reason"]


def test_an_output_without_sound_is_unparsed():
    assert score(ONE, "text").outcome is Outcome.UNPARSED


def test_a_sample_without_reference_recording_is_a_fault_of_the_data():
    assert score("text", ONE).outcome is Outcome.DATA_ERROR


def test_a_run_without_encoder_reports_how_to_name_one():
    with pytest.raises(UsageError, match="--judge speaker=MODEL"):
        asyncio.run(
            SpeakerSimilarity("toy")(Sample(id="a", target=ONE), Output.of(ONE))
        )

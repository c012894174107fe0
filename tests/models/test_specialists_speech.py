"""Recognisers and synthesisers of speech: real parts, each on a clip or a sentence of our own."""

import os
import signal
from contextlib import closing
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from assay.core import (
    Audio,
    GenerateOptions,
    Message,
    Prompt,
    Request,
    Spec,
    UsageError,
)
from assay.media import audio_from, decode_audio
from assay.models import build_model, embedded
from assay.models.specialists.recognisers import Moonshine
from assay.models.specialists.voices import Espeak
from assay.registry import models

CLIPS = Path(embedded.__file__).parents[1] / "benchmarks" / "data" / "demo" / "clips"
TRAIN, BAKER = Audio(CLIPS / "01.flac"), Audio(CLIPS / "06.flac")
SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "speech_samples"


def needs(name: str) -> list[pytest.MarkDecorator]:
    entry = embedded.CATALOGUE[name]
    return [
        pytest.mark.embedded,
        pytest.mark.skipif(bool(entry.missing), reason=entry.install),
    ]


def ask(*parts, **options) -> Request:
    return Request(Prompt((Message.of("user", *parts),)), GenerateOptions(**options))


@cache
def start() -> Audio:
    """The first words of a clip: an engine's time is that of the sound."""
    return audio_from(decode_audio(TRAIN, rate=16_000).samples[:19_200], 16_000)


RECOGNISERS = [
    pytest.param(name, marks=needs(name), id=name)
    for name in ("moonshine", "pocketsphinx")
]
ONE_OF_THEM = [
    RECOGNISERS[0],
    pytest.param("pocketsphinx", marks=[*needs("pocketsphinx"), pytest.mark.costly]),
]
"""For what all do by the same code: the second one needs a second for each clip."""
VOICES = [
    pytest.param(name, marks=needs(name), id=name)
    for name in ("espeak", "flite", "festival")
]


@pytest.fixture(scope="module")
def recogniser(name):
    """One for all that only ask: each engine is a process, and loads its weights."""
    model = build_model(name, {"longest_seconds": 4})
    yield model
    model.close()


@pytest.fixture(scope="module")
def transcripts(recogniser):
    """What a new engine hears in three clips, the last of them the first one again."""
    return recogniser.generate([ask(BAKER), ask(start()), ask(BAKER)])


@pytest.mark.xdist_group("recognisers")
@pytest.mark.parametrize("name", RECOGNISERS, scope="module")
class TestRecognisers:
    def test_it_declares_that_it_hears_and_writes(self, name):
        abilities = build_model(name).abilities

        assert abilities.accepts == {"text", "audio"} and abilities.produces == {"text"}
        assert abilities.audio_rate == 16_000

    def test_it_writes_down_a_plain_sentence(self, name, transcripts):
        output, *_ = transcripts

        assert "the baker opens before sunrise" in output.text.lower()
        assert output.seconds > 0

    def test_an_answer_does_not_depend_on_the_clip_before(self, name, transcripts):
        first, _, again = transcripts

        assert first.text == again.text

    def test_a_sample_without_audio_is_a_fault_of_the_data(self, name, recogniser):
        [output] = recogniser.generate([ask("Transcribe.")])

        assert (
            output.error.kind == "data"
            and "the sample has no audio" in output.error.message
        )

    def test_two_clips_at_once_are_refused(self, name, recogniser):
        [output] = recogniser.generate([ask(TRAIN, BAKER)])

        assert "takes one audio at a time, got 2" in output.error.message

    def test_silence_is_not_an_error(self, name, recogniser):
        [output] = recogniser.generate(
            [ask(audio_from(np.zeros(16_000, np.float32), 16_000))]
        )

        assert output.error is None


@pytest.mark.xdist_group("recognisers")
@pytest.mark.parametrize("name", ONE_OF_THEM, scope="module")
class TestWhatRecognisersShare:
    def test_text_beside_the_audio_is_ignored_and_the_record_notes_it(
        self, name, recogniser, transcripts
    ):
        _, alone, _ = transcripts

        [told] = recogniser.generate([ask(start(), "Answer only: banana.")])

        assert told.text == alone.text
        assert told.details["ignored"] == "text" and "ignored" not in alone.details

    def test_another_rate_is_resampled_and_written_down(self, name, recogniser):
        low = audio_from(decode_audio(start(), rate=8_000).samples, 8_000)

        [output] = recogniser.generate([ask(low)])

        assert output.details["audio"][0] == "resampled 8000 Hz to 16000 Hz"

    def test_a_broken_clip_fails_alone_with_its_reason(self, name, recogniser):
        cut = Audio(BAKER.data()[:20], name="cut.flac")

        broken, whole = recogniser.generate([ask(cut), ask(start())])

        assert broken.error is not None and not broken.error.retryable
        assert whole.error is None and whole.text

    def test_several_candidates_are_the_one_answer_repeated(self, name, recogniser):
        [output] = recogniser.generate([ask(start(), n=3)])

        assert (
            len({candidate.text for candidate in output.candidates}) == 1
            and len(output.candidates) == 3
        )

    def test_a_long_recording_is_heard_in_pieces_as_each_alone(
        self, name, recogniser, transcripts
    ):
        pause = np.zeros(8_000, np.float32)
        clips = [decode_audio(audio, rate=16_000).samples for audio in (TRAIN, BAKER)]
        long = audio_from(np.concatenate([clips[0], pause, clips[1], pause]), 16_000)
        second, first, _ = transcripts

        [whole] = recogniser.generate([ask(long)])

        assert "heard in 2 pieces cut at pauses" in whole.details["audio"]
        assert whole.text.lower().split()[:3] == first.text.lower().split()[:3]
        assert whole.text.lower().split()[-3:] == second.text.lower().split()[-3:]

    def test_what_cannot_be_heard_whole_is_a_failure_and_no_transcript(
        self, name, recogniser
    ):
        noise = np.random.default_rng(1).normal(0, 0.1, 16_000 * 6).astype(np.float32)

        output, after = recogniser.generate(
            [ask(audio_from(noise, 16_000)), ask(start())]
        )

        assert (
            "finds no pause to cut at" in output.error.message and not output.candidates
        )
        assert after.error is None

    def test_an_engine_that_is_killed_ends_its_sample_and_not_the_run(
        self, name, recogniser, transcripts
    ):
        recogniser.load()
        os.killpg(recogniser._engine._process.pid, signal.SIGKILL)

        lost, after = recogniser.generate([ask(BAKER), ask(BAKER)])

        assert (
            "was killed by signal 9" in lost.error.message
            and "memory_gib" in lost.error.message
        )
        assert after.text == transcripts[0].text, (
            "an engine that has heard nothing before hears the same"
        )


@pytest.mark.parametrize("name", RECOGNISERS[:1])
def test_more_than_its_memory_ends_the_sample_and_not_the_run(name):
    clip = np.tile(decode_audio(BAKER, rate=16_000).samples, 30)

    with closing(
        build_model(name, {"longest_seconds": 3600, "memory_gib": 0.7})
    ) as model:
        lost, after = model.generate([ask(audio_from(clip, 16_000)), ask(BAKER)])

    assert lost.error is not None and "more than its 0.7 GiB" in lost.error.message
    assert "the baker opens" in after.text.lower()


@pytest.mark.xdist_group("recognisers")
@pytest.mark.parametrize("name", RECOGNISERS[:1], scope="module")
def test_a_real_recording_is_heard_word_for_word(name, recogniser):
    if not SHARED.is_dir():
        pytest.skip("needs shared/data/speech_samples")

    [output] = recogniser.generate([ask(Audio(SHARED / "spk1_snt1.wav"))])

    assert output.text.lower().strip(" .") == "the child almost hurt the small dog"
    assert output.details["audio"] == ["added 0.5 s of silence at both ends"]


def test_more_silence_than_sense_is_refused():
    with pytest.raises(UsageError, match="silence_seconds is -1"):
        Moonshine(silence_seconds=-1)


@pytest.mark.parametrize("name", VOICES)
class TestVoices:
    def test_it_declares_that_it_reads_and_speaks(self, name):
        abilities = build_model(name).abilities

        assert abilities.accepts == {"text"} and abilities.produces == {"audio"}

    def test_a_longer_sentence_takes_longer_to_say(self, name):
        short, long = build_model(name).generate(
            [ask("Yes."), ask("Yes, and the rest of it comes a good deal later.")]
        )

        [yes], [more] = short.media, long.media
        assert decode_audio(more).seconds > 2 * decode_audio(yes).seconds > 0

    def test_a_sentence_sounds_the_same_after_any_other(self, name):
        said = ("Good morning.", "Something else.", "Good morning.")

        first, _, again = build_model(name).generate([ask(text) for text in said])

        assert first.media[0].digest == again.media[0].digest

    def test_text_that_looks_like_an_option_stays_text(self, name):
        [output] = build_model(name).generate([ask("--help; touch /tmp/never")])

        assert output.error is None and output.media[0].format == "wav"

    def test_an_empty_prompt_is_a_fault_of_its_sample(self, name):
        [output] = build_model(name).generate([ask("  ")])

        assert output.error.message == "the prompt has no text"


@pytest.mark.parametrize("name", VOICES[:1])
class TestEspeak:
    def test_two_voices_differ(self, name):
        low, high = (
            build_model(name, {"voice": voice}).generate([ask("Hello.")])
            for voice in ("en-us", "en-us+f3")
        )

        assert low[0].media[0].digest != high[0].media[0].digest

    def test_a_voice_that_does_not_exist_is_refused_when_it_is_loaded(self, name):
        with pytest.raises(UsageError, match="espeak has no voice 'klingonese'"):
            build_model(name, {"voice": "klingonese"}).load()


def test_espeak_refuses_an_excessive_speed():
    with pytest.raises(UsageError, match="words_per_minute is 900"):
        Espeak(words_per_minute=900)


@pytest.mark.parametrize("name", ["flite", "festival"])
def test_a_voice_is_a_name_and_never_code(name):
    with pytest.raises(UsageError, match="not the name of a voice"):
        models.build(Spec(name, {"voice": '") (system "true")'}))

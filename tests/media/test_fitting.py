"""Sounds are changed for a model only where it declares what it wants, and what was done is told."""

import numpy as np
import pytest
from made_media import gradient, saved, sound, tone

from assay.core import Abilities, Audio, Image, Prompt, Video, as_messages
from assay.media import audio_from, decode_audio, described, fitted, image_from

WANTS = Abilities(
    accepts=frozenset({"text", "audio"}), audio_rate=16_000, audio_channels=1
)


def prompt_of(*media):
    return Prompt(as_messages([*media, "What is said?"]))


def test_a_model_that_declares_nothing_gets_the_bytes_of_the_dataset():
    prompt = prompt_of(Audio(sound(tone(44_100, channels=2), 44_100)))

    assert fitted(prompt, Abilities(accepts=frozenset({"audio"}))) == (prompt, ())


@pytest.mark.parametrize("format", ["WAV", "FLAC", "MP3", "OGG"])
def test_a_sound_that_fits_is_passed_on_untouched(format):
    data = sound(tone(), format=format)

    made, done = fitted(prompt_of(Audio(data)), WANTS)

    assert (made.media[0].data(), done) == (data, ())


def test_another_rate_and_two_channels_are_converted_and_reported():
    sounds = (
        Audio(sound(tone(44_100, channels=2), 44_100), name="clip"),
        Image(saved(gradient(), "PNG")),
    )

    made, done = fitted(prompt_of(*sounds), WANTS)

    heard = decode_audio(made.media[0])
    assert (heard.rate, heard.channels, heard.seconds) == (16_000, 1, 1.0)
    assert done == ("mixed 2 channels to 1", "resampled 44100 Hz to 16000 Hz")
    assert made.media[0].name == "clip" and made.media[1] is sounds[1]
    assert [part.text for part in made.messages[0].parts if part.kind == "text"] == [
        "What is said?"
    ]


def test_only_what_is_declared_is_changed():
    prompt = prompt_of(Audio(sound(tone(44_100, channels=2), 44_100)))

    made, done = fitted(
        prompt, Abilities(accepts=frozenset({"audio"}), audio_rate=16_000)
    )

    assert decode_audio(made.media[0]).channels == 2
    assert done == ("resampled 44100 Hz to 16000 Hz",)


def test_a_sound_beyond_full_scale_is_not_cut():
    made, _ = fitted(
        prompt_of(Audio(sound(4 * tone(8000), 8000, subtype="FLOAT"))), WANTS
    )

    assert np.abs(decode_audio(made.media[0]).samples).max() == pytest.approx(
        2.0, abs=0.05
    )


def test_what_a_model_made_is_described_by_its_header():
    picture, spoken = image_from(gradient()), audio_from(tone(8000, 0.5), 8000)

    assert described(picture) == {
        "bytes": len(picture.data()),
        "width": 48,
        "height": 32,
    }
    assert described(spoken) == {
        "bytes": 8044,
        "seconds": 0.5,
        "rate": 8000,
        "channels": 1,
    }
    assert described(Video(b"no film")) == {"bytes": 7}

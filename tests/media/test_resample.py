"""Change of sampling rate: tones stay tones, what cannot be held is gone."""

import numpy as np
import pytest
from made_media import tone

from assay.media.audio import resample

INSIDE = slice(400, -400)
"""Away from the ends, where the filter sees silence."""


@pytest.mark.parametrize(
    ("rate", "wanted"),
    [
        (44_100, 16_000),
        (48_000, 16_000),
        (8_000, 16_000),
        (16_000, 44_100),
        (22_050, 48_000),
    ],
)
def test_a_tone_keeps_its_pitch_and_loudness(rate, wanted):
    made = resample(tone(rate).astype(np.float32), rate, wanted)

    assert len(made) == wanted
    assert made[INSIDE] == pytest.approx(tone(wanted)[INSIDE], abs=1e-4)


def test_a_tone_above_the_new_nyquist_frequency_is_gone():
    made = resample(tone(44_100, hertz=10_000).astype(np.float32), 44_100, 16_000)

    assert np.abs(made[INSIDE]).max() < 0.5e-4


def test_channels_are_changed_alike():
    made = resample(tone(48_000, channels=2).astype(np.float32), 48_000, 16_000)

    assert made.shape == (16_000, 2)
    assert np.array_equal(made[:, 0], made[:, 1])


def test_a_long_sound_is_changed_in_blocks_without_a_seam(monkeypatch):
    samples = tone(48_000).astype(np.float32)
    whole = resample(samples, 48_000, 16_000)
    monkeypatch.setattr("assay.media.audio.BLOCK_FRAMES", 97)

    assert resample(samples, 48_000, 16_000) == pytest.approx(whole, abs=1e-7)


def test_the_same_rate_is_left_alone():
    samples = tone().astype(np.float32)

    assert resample(samples, 16_000, 16_000) is samples


@pytest.mark.parametrize("frames", [1, 2, 7, 441])
def test_a_few_samples_are_enough(frames):
    assert len(resample(np.ones(frames, np.float32), 44_100, 16_000)) == -(
        -frames * 160 // 441
    )


def test_constant_sound_stays_constant():
    assert resample(np.ones(4410, np.float32), 44_100, 16_000)[INSIDE] == pytest.approx(
        1.0, abs=1e-6
    )

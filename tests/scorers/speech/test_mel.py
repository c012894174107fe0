"""The mel spectrogram: properties its definition demands."""

import numpy as np
import pytest

from assay.scorers.speech.dnsmos import _filter_bank, mel_spectrogram, power_to_db


def test_a_tone_is_loudest_in_the_band_around_its_frequency():
    tone = np.sin(2 * np.pi * 1000 * np.arange(16_000) / 16_000)

    loudest = (
        mel_spectrogram(tone, 16_000, window=400, hop=160, bands=40)[:, 20:80]
        .mean(axis=1)
        .argmax()
    )

    assert loudest == pytest.approx(40 * 15.0 / 45.25, abs=1)


def test_there_is_a_frame_for_every_hop_of_the_padded_sound():
    assert mel_spectrogram(
        np.zeros(1600), 16_000, window=320, hop=160, bands=8
    ).shape == (8, 11)


def test_every_band_has_the_same_area():
    areas = _filter_bank(16_000, 4096, 20).sum(axis=1) * 16_000 / 4096

    assert areas == pytest.approx(np.ones(20), abs=0.02)


def test_decibels_are_below_the_loudest_and_bounded():
    assert power_to_db(np.array([[1.0, 0.1, 1e-30]])) == pytest.approx(
        np.array([[0.0, -10.0, -80.0]])
    )

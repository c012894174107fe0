"""SI-SDR; the first figure is torchmetrics' own example."""

import math

import numpy as np
import pytest

from assay.core import Outcome, Output, Sample
from assay.media import audio_from
from assay.scorers.speech.recordings import MOST_DECIBELS, SiSdr, si_sdr

TONE = 0.5 * np.sin(np.arange(1600) / 10)


def sound(samples, rate=16_000):
    return audio_from(np.asarray(samples, np.float32), rate, subtype="FLOAT")


def score(reference, made):
    return SiSdr()(Sample(id="a", target=reference), Output.of(made))


def test_the_published_vector():
    assert si_sdr(
        np.array([3, -0.5, 2, 7]), np.array([2.5, 0.0, 2, 8])
    ) == pytest.approx(18.402992, abs=1e-6)


def test_loudness_does_not_matter():
    noisy = TONE + 0.01 * np.cos(np.arange(1600))

    assert si_sdr(TONE, noisy) == pytest.approx(si_sdr(TONE, 3 * noisy))


def test_a_perfect_copy_is_cut_at_the_most():
    assert math.isinf(si_sdr(TONE, TONE)) or si_sdr(TONE, TONE) > 200
    assert score(sound(TONE), sound(TONE)).value == MOST_DECIBELS


def test_less_noise_is_better():
    noise = np.random.RandomState(0).randn(1600)

    quiet, loud = (
        score(sound(TONE), sound(TONE + gain * noise)).value for gain in (0.01, 0.1)
    )

    assert quiet > loud


@pytest.mark.parametrize(
    "made", [sound(TONE[:-1]), sound(TONE, 8000), sound(0 * TONE), "no sound"]
)
def test_an_output_that_cannot_be_compared_with_the_reference_is_unparsed(made):
    assert score(sound(TONE), made).outcome is Outcome.UNPARSED


@pytest.mark.parametrize("reference", ["text", sound(0 * TONE)])
def test_a_reference_that_is_not_sound_is_a_fault_of_the_data(reference):
    assert score(reference, sound(TONE)).outcome is Outcome.DATA_ERROR

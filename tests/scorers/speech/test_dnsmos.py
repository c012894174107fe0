"""DNSMOS around its networks; the ratings of synthetic sounds are the fixture `dnsmos@speechmos` of the conformance."""

import importlib.util
import sys

import numpy as np
import pytest

from assay.core import DataError, MissingExtra, Outcome, Output, Sample
from assay.media import audio_from
from assay.scorers.speech import dnsmos
from assay.scorers.speech.dnsmos import Dnsmos, calibrate, rate_speech

TIME = np.arange(160_000) / 16_000
TONE = (
    0.3 * np.sin(2 * np.pi * 220 * TIME) * (1 + 0.5 * np.sin(2 * np.pi * 3 * TIME))
).astype(np.float32)
SAMPLE = Sample(id="a")


@pytest.fixture
def networks():
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    if importlib.util.find_spec("speechmos") is None:
        pytest.skip("speechmos is not installed")


@pytest.mark.parametrize(
    ("name", "value"), [("sig", 2.912007), ("bak", 3.246400), ("ovrl", 2.783454)]
)
def test_the_calibration_of_a_rating_of_three(name, value):
    assert calibrate(name, 3.0) == pytest.approx(value, abs=1e-6)


def test_stereo_at_another_rate_is_mixed_and_resampled_and_the_record_says_so(networks):
    stereo = audio_from(np.stack([TONE, TONE], axis=1), 16_000)
    slow = audio_from(TONE[::2], 8_000)

    mixed, raised = (Dnsmos()(SAMPLE, Output.of(made)) for made in (stereo, slow))

    assert mixed.value == pytest.approx(
        {"ovrl": 1.1894, "sig": 1.6201, "bak": 1.5511, "p808": 2.2628}, abs=5e-3
    )
    assert mixed.details["conversions"] == ["mixed 2 channels to 1"]
    assert raised.value["ovrl"] == pytest.approx(1.1894, abs=0.1)
    assert raised.details["conversions"] == ["resampled 8000 Hz to 16000 Hz"]


def test_samples_beyond_one_are_cut_and_counted(networks):
    loud = audio_from(TONE * 3, 16_000, subtype="FLOAT")

    assert 0 < Dnsmos()(SAMPLE, Output.of(loud)).details["clipped"] < 1


@pytest.mark.parametrize(
    "made",
    ["only text", audio_from(np.zeros(16_000, np.float32), 16_000)],
    ids=["none", "silent"],
)
def test_no_rating_is_invented_for_silence(made):
    score = Dnsmos()(SAMPLE, Output.of(made))

    assert score.outcome is Outcome.UNPARSED
    assert set(score.value) == {"ovrl", "sig", "bak", "p808"}


def test_an_empty_file_is_refused_and_not_repeated_for_ever():
    whole = audio_from(np.zeros(2, np.float32), 16_000).data()
    empty = type(audio_from(np.zeros(2, np.float32), 16_000))(whole[:40] + b"\0\0\0\0")

    with pytest.raises(DataError, match="no samples"):
        Dnsmos()(SAMPLE, Output.of(empty))


@pytest.mark.parametrize(
    "samples", [np.zeros(0), np.zeros((10, 2)), np.full(10, np.nan), np.full(10, 2.0)]
)
def test_arrays_it_cannot_rate_are_refused(samples):
    with pytest.raises(ValueError, match="DNSMOS rates"):
        rate_speech(samples)


def test_a_missing_library_is_one_line_with_the_command(monkeypatch):
    dnsmos._networks.cache_clear()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(MissingExtra, match=r"fix: pip install 'assay\[speech\]'"):
        rate_speech(TONE)


def test_a_missing_runtime_is_one_line_with_the_command(monkeypatch, networks):
    dnsmos._networks.cache_clear()
    monkeypatch.setitem(sys.modules, "onnxruntime", None)

    with pytest.raises(MissingExtra, match="onnxruntime is not installed"):
        rate_speech(TONE)

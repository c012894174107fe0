"""Language detection: repeatable, and clear about a missing library."""

import sys

import pytest

from assay.scorers.text.ifeval.wording import detect_language

MIXED = "ok salut hola ciao"


def test_detection_is_repeatable_and_leaves_the_shared_detector_unseeded():
    langdetect = pytest.importorskip("langdetect")

    found = {detect_language(MIXED) for _ in range(20)}

    assert len(found) == 1
    assert langdetect.DetectorFactory.seed is None


def test_digits_have_no_language():
    pytest.importorskip("langdetect")

    assert detect_language("12345 67") is None


def test_a_missing_library_is_named_with_the_pip_line(monkeypatch):
    from assay.scorers.text.ifeval import wording

    wording._factory.cache_clear()
    monkeypatch.setitem(sys.modules, "langdetect", None)
    monkeypatch.setitem(sys.modules, "langdetect.detector_factory", None)

    with pytest.raises(ImportError, match="pip install langdetect"):
        detect_language("hello")

"""The catalogue of embedded models: what each is, and the exact line that installs what is missing."""

import pytest

from assay.core import MissingExtra, UsageError
from assay.models import build_model, embedded
from assay.models.embedded import CATALOGUE, Part

SPECIALISTS = sorted(set(CATALOGUE) - {"smollm2"})


@pytest.fixture
def nothing_installed(monkeypatch):
    monkeypatch.setattr(embedded.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(embedded.shutil, "which", lambda name: None)


@pytest.mark.parametrize("name", SPECIALISTS)
def test_every_specialist_says_that_it_is_one(name):
    summary = CATALOGUE[name].summary

    assert any(
        word in summary
        for word in (
            "not a chat model",
            "describes nothing",
            "generator",
            "not a model",
        )
    )
    assert CATALOGUE[name].licence


@pytest.mark.parametrize(
    ("name", "pip"),
    [
        ("moonshine", "moonshine-voice==0.1.0"),
        ("pocketsphinx", "pocketsphinx"),
        ("espeak", "espeakng-loader"),
        ("rapidocr", "rapidocr-onnxruntime==1.4.4"),
        ("digits-flow", "scikit-learn"),
    ],
)
def test_a_missing_wheel_is_answered_with_its_pip_line(name, pip, nothing_installed):
    with pytest.raises(
        MissingExtra,
        match=f"the embedded model '{name}' is not installed; fix: pip install {pip}$",
    ):
        build_model(name)


@pytest.mark.parametrize(
    ("name", "apt"),
    [
        ("flite", "flite"),
        ("festival", "festival festvox-us-slt-hts"),
        ("tesseract", "tesseract-ocr tesseract-ocr-eng"),
    ],
)
def test_a_missing_program_is_answered_with_its_apt_line(name, apt, nothing_installed):
    with pytest.raises(
        UsageError,
        match=f"model '{name}' runs is not installed; fix: apt-get install -y {apt}$",
    ):
        build_model(name)


def test_an_install_line_names_programs_and_wheels():
    parts = (Part("say", apt="say"), Part("one", "one"), Part("two", "two"))
    entry = embedded.Embedded("", "", parts)

    assert (
        entry.install == "apt-get install -y say && pip install one && pip install two"
    )


def test_a_wrong_option_of_a_specialist_is_answered_with_the_nearest():
    with pytest.raises(
        UsageError,
        match=r"has no option 'letter_pixel'; fix: did you mean 'letter_pixels'",
    ):
        build_model("renderer", {"letter_pixel": 4})


def test_private_fields_are_not_options():
    with pytest.raises(UsageError, match="has no option '_engine'"):
        build_model("renderer", {"_engine": 1})

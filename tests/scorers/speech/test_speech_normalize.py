"""Whisper's normalizers, oddities included."""

import sys

import pytest

from assay.core import MissingExtra, UsageError
from assay.scorers.speech.speech_normalize import mark_script, normalizer


@pytest.mark.parametrize(
    ("said", "plain"),
    [
        (
            "Mr. Smith won't pay $3.50 for twenty-one colour TVs, um, okay?",
            "mister smith will not pay $3.50 for 21 color tvs okay",
        ),
        ("two hundred and five", "205"),
        ("one oh one", "101"),
        ("$20 million", "$20000000"),
        ("[laughs] (applause)", ""),
        ("3 o'clock", "30 clock"),
        ("O'Brien's", "0 brien is"),
        ("neighbour's", "neighbor is"),
    ],
)
def test_the_english_normalizer_is_whispers(said, plain):
    pytest.importorskip("whisper_normalizer", reason="whisper-normalizer is not installed")

    assert normalizer("whisper-en")(said) == plain


@pytest.mark.parametrize(("said", "plain"), [("नमस्ते दुनिया", "नमस त द न य"), ("สวัสดี", "สว สด")])
def test_the_basic_normalizer_deletes_combining_marks(said, plain):
    pytest.importorskip("whisper_normalizer", reason="whisper-normalizer is not installed")

    assert normalizer("whisper-basic")(said).strip() == plain


def test_none_changes_nothing():
    assert normalizer("none")(" Hello,  World! ") == " Hello,  World! "


@pytest.mark.parametrize(
    ("text", "script"), [("नमस्ते", "an Indic script"), ("ab สวัสดี", "Thai"), ("ខ្មែរ", "Khmer"), ("čaj 你好 한국", None)]
)
def test_scripts_that_live_by_their_marks_are_recognised(text, script):
    assert mark_script(text) == script


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(UsageError, match="one of none, whisper-en, whisper-basic, zh"):
        normalizer("german")


def test_a_missing_library_is_one_line_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "whisper_normalizer.basic", None)
    normalizer.cache_clear()

    with pytest.raises(MissingExtra, match=r"whisper-normalizer is not installed; fix: pip install 'assay\[speech\]'"):
        normalizer("whisper-en")

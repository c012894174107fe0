"""Whisper's normalizers, oddities included."""

import sys

import pytest

from assay.core import MissingExtra, UsageError
from assay.scorers.speech.speech_normalize import mark_script, normalizer
from assay.scorers.speech.wer import WordErrorRate


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
    pytest.importorskip(
        "whisper_normalizer", reason="whisper-normalizer is not installed"
    )

    assert normalizer("whisper-en")(said) == plain


@pytest.mark.parametrize(
    ("said", "plain"), [("नमस्ते दुनिया", "नमस त द न य"), ("สวัสดี", "สว สด")]
)
def test_the_basic_normalizer_deletes_combining_marks(said, plain):
    pytest.importorskip(
        "whisper_normalizer", reason="whisper-normalizer is not installed"
    )

    assert normalizer("whisper-basic")(said).strip() == plain


def test_none_changes_nothing():
    assert normalizer("none")(" Hello,  World! ") == " Hello,  World! "


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("नमस्ते", "an Indic script"),
        ("ab สวัสดี", "Thai"),
        ("ខ្មែរ", "Khmer"),
        ("čaj 你好 한국", None),
    ],
)
def test_scripts_with_combining_vowels_are_recognised(text, script):
    assert mark_script(text) == script


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(UsageError, match="one of none, whisper-en, whisper-basic, zh"):
        normalizer("german")


def test_a_missing_library_is_one_line_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "whisper_normalizer.english", None)
    normalizer.cache_clear()

    with pytest.raises(
        MissingExtra,
        match=r"whisper-normalizer is not installed; fix: pip install 'assay\[speech\]'",
    ):
        normalizer("whisper-en")


@pytest.mark.parametrize(
    ("heard", "said", "rate"),
    [
        ("We walk home after the snow.", "We walk home after the rain.", 1 / 6),
        ("dont go", "Don't go!", 1 / 2),
        ("Don’t stop – now…", "Don't stop now", 1 / 3),
        ("HELLO, world", "hello world", 0.0),
        ("a b c d e", "a", 4.0),
        ("", "one two three", 1.0),
        ("well-known fact", "well known fact", 2 / 3),
        ("one  two", "one two", 0.0),
        ("It cost $5.00", "It cost 5 dollars", 1 / 2),
        ("“Yes,” she said.", "Yes she said", 0.0),
        ("the the the cat", "the cat", 1.0),
        ("mother-in-law's house", "mother in law's house", 3 / 4),
        ("50% off", "fifty percent off", 2 / 3),
        ("naïve café", "naive cafe", 1.0),
        ("he said: 'no'", "he said no", 1 / 3),
    ],
)
def test_words_are_counted_as_seed_tts_eval_counts_them(heard, said, rate):
    """Rates by `process_one` of its `run_wer.py`, jiwer 3.0.5, zhon 2.1."""
    edits, _ = WordErrorRate("seed-tts-en").compare([said], heard)

    assert edits.rate == pytest.approx(rate)

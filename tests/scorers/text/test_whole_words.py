"""Whole words: a target within a longer word or number is not there; scripts without blanks have no such edges."""

import time

import pytest
from each_row import each
from hypothesis import given
from hypothesis import strategies as st

from assay.core import Output, Sample
from assay.scorers.text.match import Includes, has_words

HELD = [
    ("4", "It is 4."), ("4", "4"), ("4", "(4)"), ("4", "4.0"), ("4", "$4 in all"), ("4", "1,4,7"), ("4", "x=4,"),
    ("4", "2+2=4"), ("4", "COVID-4"), ("-3", "x = -3"), ("-3", "x is \u22123."), ("$5", "costs US$5."),
    ("C++", "I write C++."), ("C", "Vitamin C, of course"), ("C#", "C# it is"), ("Rome", "Rome's walls"),
    (" Rome ", "Rome"), ("no", "no, never"), ("New York", "in New York City"), ("1,000", "about 1,000 people"),
    ("3.5", "3.5 kg"), ("homme", "l'homme"), ("café", "le café."),
]  # fmt: skip
NOT_HELD = [
    ("4", "I think 42"), ("4", "14"), ("4", "4.5"), ("4", "4,000"), ("4", "-4"), ("4", "x = -4"), ("4", "3.4"),
    ("4", "a .4"), ("000", "4,000"), ("Rome", "Romeo lives in Jerome"), ("no", "I do not know"), ("can", "you can't"),
    ("C", "I write C++."), ("C", "in C#"), ("A", "grade A+"), ("-3", "5-3=2"), ("-3", "(x)-3"), ("$5", "$50"),
    ("$5", "$5.50"), ("3.5", "13.5"), ("cafe", "cafe\u0301"), ("राम", "रामा"), ("no_", "no_one"),
]  # fmt: skip
WITHOUT_BLANKS = [
    ("北京", "首都是北京市"),
    ("4", "共4个"),
    ("東京", "東京です"),
    ("กรุง", "กรุงเทพ"),
    ("서울", "서울입니다"),
    ("GPT", "使用GPT模型"),
    ("राम", "राम आया"),
]


@each(("wanted", "text"), [*HELD, *WITHOUT_BLANKS])
def test_words_of_their_own_are_found(wanted, text):
    assert (
        has_words(text, wanted)
        and Includes()(Sample("a", target=wanted), Output.of(text)).value == 1.0
    )


@each(("wanted", "text"), NOT_HELD)
def test_parts_of_longer_words_and_numbers_are_not(wanted, text):
    assert not has_words(text, wanted)


@pytest.mark.parametrize(
    ("wanted", "text"),
    [("4", "I think 42"), ("Rome", "Jerome"), ("no", "I do not know")],
)
def test_substring_brings_back_parts_of_words(wanted, text):
    sample, output = Sample("a", target=wanted), Output.of(text)

    assert Includes()(sample, output).value == 0.0
    assert Includes(substring=True)(sample, output).value == 1.0


BLANKS = st.sampled_from(["", " ", "\n"])


@given(wanted=st.text(min_size=1, max_size=8), left=BLANKS, right=BLANKS)
def test_any_text_between_blanks_is_found(wanted, left, right):
    assert has_words(f"{left}{wanted}{right}", wanted)


@pytest.mark.parametrize(
    ("wanted", "letters"),
    [
        ("a", "a"),
        ("4", "4"),
        ("4", "4."),
        ("4", "4,000 "),
        ("C", "C+"),
        ("-3", "-3"),
        ("can", "can't"),
        ("4.0", "4.0"),
    ],
)
def test_a_megabyte_of_anything_takes_little_time(wanted, letters):
    text = (letters * (1 << 20))[: 1 << 20]
    started = time.process_time()

    has_words(text, wanted)

    assert time.process_time() - started < 2

"""The shortcuts of letter extraction: what is not searched for could not have been found."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.scorers import choice_rules
from assay.scorers.choice_claims import possible_cues, verdict_is_possible, words_of
from assay.scorers.choice_cues import CUES, VERDICT
from assay.scorers.choice_rules import extract_choice
from assay.scorers.choice_text import OptionTexts, flatten, option_words, tokens

HERE = Path(__file__).resolve().parent
ROWS = [json.loads(line) for line in (HERE / "corpus" / "choices.jsonl").read_text("utf-8").split("\n") if line]
FRAGMENTS = sorted({word for row in ROWS for word in row["output"].split(" ")} | {"\n", "=>", "its", "[x]", "~~A~~"})
PETS = {"A": "cat", "B": "dog", "C": "bird", "D": "a fish"}
WRAPPED = [
    f"{before}{letter}{closing}{mark}{after}"
    for before in ("", "(", "[", '"', "'", " ", "\n\t")
    for letter in "ADaE"
    for closing in ("", ")", "]", '"')
    for mark in ("", ".", ":", ",", ")", "!", "*")
    for after in ("", " ", "\n", "\r", "\u00a0")
]
phrases = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=12).map(" ".join)


def _skips_nothing_that_matches(text: str) -> None:
    said = words_of(text)
    skipped = [cue for cue in CUES if cue not in set(possible_cues(said))]
    assert not [cue.rule for cue in skipped if cue.pattern.search(text)]
    assert verdict_is_possible(text, said) or VERDICT.search(text) is None


def _by_the_rules_alone(text: str) -> choice_rules.Extraction:
    plain = flatten(text)
    return choice_rules._extract(plain, frozenset(PETS), OptionTexts(PETS))


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_no_cue_of_a_labelled_output_is_skipped(row: dict[str, str]) -> None:
    _skips_nothing_that_matches(row["output"])
    _skips_nothing_that_matches(row["output"].upper())


@settings(max_examples=1000, deadline=None)
@given(phrases)
def test_no_cue_of_random_phrases_is_skipped(text: str) -> None:
    _skips_nothing_that_matches(text)


def test_a_bare_letter_is_read_as_the_rules_read_it() -> None:
    found = {text: extract_choice(text, PETS) for text in WRAPPED}

    assert found == {text: _by_the_rules_alone(text) for text in WRAPPED}
    assert {extraction.answer for extraction in found.values()} >= {"A", "D"}


@pytest.mark.parametrize("text", ["cat", "Dog", "a fish", "3.50", "1,000", "猫", "**bold**", "ＡＢＣ", "don't", "x_y"])
def test_the_words_of_an_option_are_those_of_its_flattened_text(text: str) -> None:
    assert option_words(text) == [word for word, _, _ in tokens(flatten(text))]

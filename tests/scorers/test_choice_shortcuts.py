"""The shortcuts of letter extraction: what is not searched for could not have been found."""

import json
import random
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
TINY = ["a", "an", "the", "cat", "Cat", "fish", "3", "3.5", "猫", "狗", " ", " ", ", ", ".", "-", "_", "'s", "("]
SENTENCES = [
    f"{before}{opening}{claim}{mark}{after}"
    for before in ("", "\n")
    for opening in ("", "The ", "the ", "So the ", "Therefore, the ", "Thus the correct ", "final ", "Not the ")
    for claim in ("answer is ", "Answer: ", "answer is: ", "ANSWER:", "answers: ", "answer is not ")
    for mark in ("A", "(B)", "I.", "d", "'C'", '"D".', "E", "C or D", "A cat", "B?", "(A")
    for after in ("", " ", "\n\t", "\u00a0")
]
phrases = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=12).map(" ".join)


def _skips_nothing_that_matches(text: str) -> None:
    said = words_of(text)
    skipped = [cue for cue in CUES if cue not in set(possible_cues(said))]
    assert not [cue.rule for cue in skipped if cue.pattern.search(text)]
    assert verdict_is_possible(text, said) or VERDICT.search(text) is None


def _by_the_rules_alone(text: str, options: dict[str, str] = PETS) -> choice_rules.Extraction:
    plain = flatten(text)
    return choice_rules._extract(plain, frozenset(options), OptionTexts(options))


def _is_own(head: str) -> bool:
    return not choice_rules._HEAD_ENDS.search(head) and not choice_rules._ARTICLE_FIRST.match(head)


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_no_cue_of_a_labelled_output_is_skipped(row: dict[str, str]) -> None:
    _skips_nothing_that_matches(row["output"])
    _skips_nothing_that_matches(row["output"].upper())


@settings(max_examples=1000, deadline=None)
@given(phrases)
def test_no_cue_of_random_phrases_is_skipped(text: str) -> None:
    _skips_nothing_that_matches(text)


@pytest.mark.parametrize(
    "options", [PETS, {"A": "the", "B": "is b", "C": "answer", "D": "a b"}, dict.fromkeys("ABI", "")]
)
def test_the_sentence_a_prompt_asks_for_is_read_as_the_rules_read_it(options: dict[str, str]) -> None:
    found = {text: extract_choice(text, options) for text in SENTENCES}

    assert found == {text: _by_the_rules_alone(text, options) for text in SENTENCES}
    assert sum(choice_rules._SENTENCE.fullmatch(text) is not None for text in SENTENCES) > 500


def test_the_words_of_one_option_mention_no_other() -> None:
    dice = random.Random(3)
    checked = 0
    for _ in range(6000):
        texts = ["".join(dice.choices(TINY, k=dice.randint(1, 3))) for _ in range(4)]
        options = OptionTexts(dict(zip("ABCD", texts, strict=True)))
        text = dice.choice(texts) + "".join(dice.choices(TINY, k=dice.randint(0, 3)))
        first = options.at_start(text)
        if first and choice_rules._TEXT_ENDS.match(text[first[1] :]) and _is_own(text[: first[1]]):
            checked += 1
            assert {letter for letter, _, _ in options.mentions(text[: first[1] + 1])} <= {first[0]}
    assert checked > 1000


def test_a_bare_letter_is_read_as_the_rules_read_it() -> None:
    found = {text: extract_choice(text, PETS) for text in WRAPPED}

    assert found == {text: _by_the_rules_alone(text) for text in WRAPPED}
    assert {extraction.answer for extraction in found.values()} >= {"A", "D"}


@pytest.mark.parametrize("text", ["cat", "Dog", "a fish", "3.50", "1,000", "猫", "**bold**", "ＡＢＣ", "don't", "x_y"])
def test_the_words_of_an_option_are_those_of_its_flattened_text(text: str) -> None:
    assert option_words(text) == [word for word, _, _ in tokens(flatten(text))]

"""The patterns of the grammar: each matches its example sentences, and each word file can be read."""

import re
import tomllib

import pytest
from each_row import each

from assay.scorers.choice import choice_grammar, choice_words
from assay.scorers.choice.choice_mentions import flatten, mark
from assay.scorers.choice.choice_words import LANGUAGES, WORDS, WordClass, classify

PETS = {"A": "cat", "B": "dog", "C": "bird", "D": "a fish"}
TEXT_PATTERNS = {"CALLED_FINAL", "ENDS_ON_LINK_WORD", "UNFINISHED", "NUMBERED_STEP"}
PATTERNS = {
    name: value
    for name, value in vars(choice_grammar).items()
    if isinstance(value, re.Pattern)
}
EXAMPLES = [
    (name, example)
    for name, value in PATTERNS.items()
    for example in choice_grammar.EXAMPLES[value.pattern]
]


def matches(name: str, example: str) -> re.Match[str] | None:
    """Return the match of a pattern in a sentence; `‸` is where it has to begin."""
    before, caret, behind = example.partition("‸")
    sentence = before + behind
    if name in TEXT_PATTERNS:
        return PATTERNS[name].search(sentence)
    marked = mark(sentence, PETS, is_cut=False)
    if name in ("MARKED_ENTRY", "MARKED_LINE", "RESULT"):
        return PATTERNS[name].search(marked)
    classes, starts = classify(marked)
    if caret:
        index = sum(start < len(before) for start in starts)
        return PATTERNS[name].match(classes, index)
    return PATTERNS[name].search(classes)


@each(("name", "example"), EXAMPLES)
def test_a_pattern_matches_its_examples(name: str, example: str) -> None:
    match = matches(name, example)

    assert match is not None, example
    assert match[0] or name in ("CLAIM", "TAIL", "LAST")


@pytest.mark.parametrize("name", PATTERNS)
def test_every_pattern_has_two_examples(name: str) -> None:
    assert len(choice_grammar.EXAMPLES[PATTERNS[name].pattern]) >= 2


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("CLAIM", "Is the answer B?"),
        ("CLAIM", "The dog barks."),
        ("VERDICT", "B is wrong."),
        ("VERDICT", "B is right if it barks."),
        ("DENIED", "The answer is B‸, which barks."),
        ("JOINED", "The answer is B‸ because it barks."),
        ("OPTION_TEXT", "It is not a dog."),
        ("MARKED_ENTRY", "A. cat notices everything"),
        ("ENTRY", "The cat is A"),
    ],
)
def test_a_pattern_does_not_match_other_sentences(name: str, sentence: str) -> None:
    assert matches(name, sentence) is None


def test_an_answer_becomes_one_letter_for_each_word() -> None:
    classes, starts = classify(mark("So the answer is (B).", PETS, is_cut=False))

    assert classes == "kfaim."
    assert starts == [0, 3, 7, 14, 18, 20]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_word_file_has_known_classes_and_words_that_are_read_back(
    language: str,
) -> None:
    table = tomllib.loads((WORDS / f"{language}.toml").read_text("utf-8"))

    assert "answer" in table and "option_word" in table
    for name, entries in table.items():
        assert name.upper() in WordClass.__members__
        assert entries
        for entry in entries:
            first = choice_words.TOKEN.match(entry)
            assert first is not None, entry
            assert first[0] in choice_words.read_phrases()


def test_every_word_file_is_read() -> None:
    assert {path.stem for path in WORDS.glob("*.toml")} == set(LANGUAGES)


def test_a_plain_text_keeps_its_length_when_its_options_are_marked() -> None:
    plain = flatten("**Answer:** B. dog, not (A) the cat.")

    assert len(mark(plain, PETS, is_cut=False)) == len(plain)

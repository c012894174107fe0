"""Words of short answers, and their stems."""

import pytest

from assay.dialects.testbed.data_registry import is_hateful
from assay.dialects.testbed.testbed_words import stemmed, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("men's shirts", ["men", "'s", "shirts"]),
        ("It isn't, is it?", ["It", "is", "n't", ",", "is", "it", "?"]),
        ("yes/no non-hateful", ["yes/no", "non-hateful"]),
        ("3,000 at 10:30.", ["3,000", "at", "10:30", "."]),
        ('a "b" (c)...', ["a", "``", "b", "''", "(", "c", ")", "..."]),
        ("I cannot, they'll", ["I", "can", "not", ",", "they", "'ll"]),
        ("", []),
    ],
)
def test_punctuation_and_endings_are_words_of_their_own(text, words):
    assert words_of(text) == words


@pytest.mark.parametrize(
    ("answer", "stems"),
    [
        ("men's shirts", "man 's shirt"),
        ("a potatoe", "a potato"),
        ("riding horses", "ride horse"),
        ("yes", "yes"),
        ("dogs, cats", "dog , cat"),
        ("it's 3 o'clock", "it 's 3 o'clock"),
    ],
)
def test_each_word_is_reduced_to_its_stem_and_joined_by_blanks(answer, stems):
    assert stemmed(answer) == stems


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("Yes.", 1),
        ("no, yes", 0),
        ("yes/no", 0),
        ("y'all", 0),
        ("It is hateful!", 1),
        ("", 0),
    ],
)
def test_the_first_word_that_says_yes_or_no_decides(answer, verdict):
    assert is_hateful(answer) == verdict

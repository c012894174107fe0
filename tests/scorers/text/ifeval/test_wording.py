"""Keywords, letters, letter case, commas, language."""

import pytest

from assay.scorers.text.ifeval import CHECKS

ENGLISH = "the quick brown fox jumps over the lazy dog while the children are watching from the window"
FRENCH = "Le petit chat dort sur la chaise pendant que les enfants jouent dans le jardin avec leurs amis."


@pytest.mark.parametrize(
    ("response", "keywords", "expected"),
    [
        ("Moms and MOTHERS", ["mom", "mother"], True),
        ("Only mom", ["mom", "mother"], False),
        ("costs 3.50", ["3.5"], True),
        ("costs 3x50", ["3.5"], False),
    ],
)
def test_every_keyword_is_matched_literally_and_in_any_case(
    response, keywords, expected
):
    assert CHECKS["keywords:existence"](response, keywords=keywords) is expected


@pytest.mark.parametrize(
    ("frequency", "relation", "expected"),
    [
        (3, "at least", True),
        (4, "at least", False),
        (4, "less than", True),
        (3, "less than", False),
    ],
)
def test_a_keyword_is_counted_also_inside_words(frequency, relation, expected):
    check = CHECKS["keywords:frequency"]

    assert (
        check(
            "War, wars, Warsaw", keyword=" war ", frequency=frequency, relation=relation
        )
        is expected
    )


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("A sunny day", True),
        ("The Sun.", False),
        ("sun-dried", False),
        ("A day without", True),
    ],
)
def test_a_forbidden_word_counts_only_as_a_word_of_its_own(response, expected):
    assert (
        CHECKS["keywords:forbidden_words"](response, forbidden_words=["sun", "moon"])
        is expected
    )


@pytest.mark.parametrize(
    ("letter", "frequency", "relation", "expected"),
    [
        ("a", 3, "at least", True),
        ("A", 4, "at least", False),
        ("#", 1, "at least", True),
        ("a", 3, "less than", False),
        ("z", 1, "less than", True),
    ],
)
def test_a_letter_is_counted_in_both_cases(letter, frequency, relation, expected):
    check = CHECKS["keywords:letter_frequency"]

    assert (
        check("Anna # a", letter=letter, let_frequency=frequency, let_relation=relation)
        is expected
    )


def test_a_letter_of_two_characters_is_a_fault_of_the_data():
    with pytest.raises(ValueError, match="one character, not 'ab'"):
        CHECKS["keywords:letter_frequency"](
            "x", letter="ab", let_frequency=1, let_relation="at least"
        )


@pytest.mark.parametrize(
    ("response", "count"),
    [
        ("I saw NASA and the U.S. flag", 3),
        ("STATE-OF-THE-ART **NOTE**", 2),
        ("DON'T", 2),
        ("I'm John's", 1),
        ("CANNOT", 2),
        ("A,B and 1,000 or 42", 2),
        ("Nothing here at all", 0),
    ],
)
def test_capital_words_are_counted_with_the_official_tokenizer(response, count):
    check = CHECKS["change_case:capital_word_frequency"]

    assert check(response, capital_frequency=count, capital_relation="at least")
    assert not check(response, capital_frequency=count, capital_relation="less than")


def test_an_unknown_relation_names_the_two_that_exist():
    with pytest.raises(
        ValueError, match=r"unknown relation 'at most'.*'less than' and 'at least'"
    ):
        CHECKS["change_case:capital_word_frequency"](
            "A", capital_frequency=1, capital_relation="at most"
        )


@pytest.mark.parametrize(
    ("response", "expected"), [("no, no", False), ("none", True), ("一，二、三", True)]
)
def test_only_the_ascii_comma_is_a_comma(response, expected):
    assert CHECKS["punctuation:no_comma"](response) is expected


@pytest.mark.parametrize(
    ("response", "upper", "lower"),
    [
        (ENGLISH, False, True),
        (ENGLISH.upper(), True, False),
        (ENGLISH.capitalize(), False, False),
        (FRENCH.lower(), False, False),
        ("ДЕТИ ИГРАЮТ В САДУ", False, False),
        ("1234", False, False),
    ],
)
def test_letter_case_checks_require_english_in_one_case(response, upper, lower):
    pytest.importorskip("langdetect")

    assert CHECKS["change_case:english_capital"](response) is upper
    assert CHECKS["change_case:english_lowercase"](response) is lower


@pytest.mark.parametrize(
    ("response", "language", "expected"),
    [
        (FRENCH, "fr", True),
        (FRENCH, "en", False),
        (ENGLISH, "en", True),
        ("नमस्ते आप कैसे हैं", "hi", True),
    ],
)
def test_the_response_language_is_detected(response, language, expected):
    pytest.importorskip("langdetect")

    assert CHECKS["language:response_language"](response, language=language) is expected


def test_a_text_without_language_follows_any_language():
    pytest.importorskip("langdetect")

    assert CHECKS["language:response_language"]("12 + 34", language="sw")

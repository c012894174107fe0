"""Words, sentences and paragraphs."""

import pytest

from assay.scorers.text.ifeval import CHECKS


@pytest.mark.parametrize(
    ("threshold", "relation", "expected"),
    [
        (5, "at least", True),
        (6, "at least", False),
        (6, "less than", True),
        (5, "less than", False),
    ],
)
def test_words_are_runs_of_word_characters(threshold, relation, expected):
    check = CHECKS["length_constraints:number_words"]

    assert (
        check("It's a well-known", num_words=threshold, relation=relation) is expected
    )


@pytest.mark.parametrize(
    ("threshold", "relation", "expected"),
    [
        (2, "at least", True),
        (3, "at least", False),
        (3, "less than", True),
        (2, "less than", False),
    ],
)
def test_sentences_are_compared_with_the_threshold(threshold, relation, expected):
    check = CHECKS["length_constraints:number_sentences"]

    assert (
        check("Dr. Smith came. He left", num_sentences=threshold, relation=relation)
        is expected
    )


@pytest.mark.parametrize(
    ("response", "paragraphs", "expected"),
    [
        ("one", 1, True),
        ("one\n***\ntwo", 2, True),
        ("***one***two***", 2, True),
        ("one\n***\ntwo", 3, False),
        ("one *** *** two", 2, False),
        ("   ", 0, True),
    ],
)
def test_paragraphs_are_separated_by_three_asterisks(response, paragraphs, expected):
    check = CHECKS["length_constraints:number_paragraphs"]

    assert check(response, num_paragraphs=paragraphs) is expected


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("One here.\n\nWeekend's over.", True),
        ('One here.\n\n"Weekend" is over.', True),
        ("One here.\n\nweekends are over.", False),
        ("Weekend here.\n\nOne over.", False),
        ("One here.\n\nWeekend.\n\nThree.", False),
        ("Weekend", False),
        ("One\n\n \n\nWeekend", False),
    ],
)
def test_the_second_of_two_paragraphs_opens_with_the_word(response, expected):
    check = CHECKS["length_constraints:nth_paragraph_first_word"]

    assert (
        check(response, num_paragraphs=2, nth_paragraph=2, first_word="Weekend")
        is expected
    )


def test_paragraphs_count_from_one():
    with pytest.raises(ValueError, match="counts from 1, not 0"):
        CHECKS["length_constraints:nth_paragraph_first_word"](
            "a", num_paragraphs=1, nth_paragraph=0, first_word="a"
        )

"""MMLU-Pro: our letter and the official script's."""

import pytest

from assay.core import Outcome, Output, Sample
from assay.scorers.choice.choice import MmluPro, official_letter

SAMPLE = Sample("a", target="B", choices=tuple(f"option {n}" for n in range(10)))


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("so the answer is (B). Or the answer is (C).", "B"),
        ("the answer is B", "B"),
        ("Answer: C, then Answer: D\nAnswer: E", "D"),
        ("compare A with C.", "C"),
        ("ABC", None),
        ("the answer is 4", None),
    ],
)
def test_the_official_letter_is_the_first_declared_else_the_last_alone(text, letter):
    assert official_letter(text) == letter


def test_an_unread_answer_is_not_a_letter_unless_a_guess_is_asked_for():
    silent, guessing = (
        MmluPro()(SAMPLE, Output.of("hm")),
        MmluPro(guess=True)(SAMPLE, Output.of("hm")),
    )

    assert (silent.outcome, silent.value, silent.details["official"]) == (
        Outcome.UNPARSED,
        {"acc": 0.0, "official": 0.0},
        None,
    )
    assert guessing.details["official"] == "G"


def test_a_sample_without_choices_is_a_fault_of_the_data():
    assert (
        MmluPro()(Sample("a", target="B"), Output.of("B")).outcome == Outcome.DATA_ERROR
    )


def test_a_long_line_is_read_in_linear_time():
    assert official_letter("an" * 200_000) is None

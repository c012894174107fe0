"""Multiple choice from text: the scorer around the extraction rules."""

import pytest

from assay.core import Candidate, Outcome, Output, Sample
from assay.scorers.choice.choice import Choice

ANIMALS = Sample(id="a", target="B", choices=("cat", "dog", "bird", "a fish"))


@pytest.mark.parametrize(
    "answer",
    [
        "The answer is B",
        "Answer: B",
        "I think it is B, not A.",
        "A dog is shown, so B.",
        "A. No wait, the answer is B",
        "It is a dog.",
        'The correct option is "B".',
        "答案是B",
        "选B。",
        "<think>A or C?</think> B",
        "The answer is (B) dog because it barks.",
        "b",
    ],
)
def test_the_right_letter_is_found_and_the_rule_kept(answer):
    score = Choice()(ANIMALS, Output.of(answer))

    assert (score.value, score.answer, score.outcome) == (1.0, "B", Outcome.SCORED)
    assert score.details["rule"]


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("I cannot answer", Outcome.REFUSED),
        ("None of the above", Outcome.UNPARSED),
        ("", Outcome.UNPARSED),
    ],
)
def test_an_answer_that_names_no_option_has_no_letter(answer, outcome):
    score = Choice()(ANIMALS, Output.of(answer))

    assert (score.value, score.answer, score.outcome) == (0.0, None, outcome)


def test_a_cut_answer_without_a_letter_is_truncated():
    score = Choice()(
        ANIMALS,
        Output.of("Let me think about what the picture shows", stop_reason="length"),
    )

    assert score.outcome is Outcome.TRUNCATED


def test_a_cut_answer_with_a_letter_is_scored():
    assert (
        Choice()(
            ANIMALS, Output.of("The answer is B because", stop_reason="length")
        ).value
        == 1.0
    )


def test_a_filtered_answer_is_refused():
    assert (
        Choice()(ANIMALS, Output((Candidate((), "content_filter"),))).outcome
        is Outcome.REFUSED
    )


def test_any_of_several_right_letters_will_do():
    sample = Sample(id="a", target=("B", "C"), choices=ANIMALS.choices)

    assert Choice()(sample, Output.of("Answer: C")).value == 1.0


def test_options_that_are_only_in_the_question_are_given_by_letters():
    assert (
        Choice(letters="ABCD")(
            Sample(id="a", target="D"), Output.of("The answer is D.")
        ).value
        == 1.0
    )


@pytest.mark.parametrize(
    "sample",
    [
        Sample(id="a", choices=("x", "y")),
        Sample(id="a", target="A"),
        Sample(id="a", target="E", choices=("x", "y")),
        Sample(id="a", target="x", choices=("x", "y")),
    ],
)
def test_a_target_that_is_not_a_letter_of_the_choices_is_a_fault_of_the_data(sample):
    score = Choice()(sample, Output.of("A"))

    assert (score.value, score.outcome) == (None, Outcome.DATA_ERROR)
    assert score.details["reason"]


@pytest.mark.parametrize("target", ["B", "b", "(B)", "B.", "[b]", "dog", " dog "])
def test_a_target_may_be_a_letter_a_marked_letter_or_the_text_of_an_option(
    target: str,
) -> None:
    sample = Sample("1", "q", target, ("cat", "dog", "bird"))

    assert Choice()(sample, Output.of("The answer is B.")).value == 1.0
    assert Choice()(sample, Output.of("The answer is A.")).value == 0.0


def test_several_targets_may_be_written_in_different_ways() -> None:
    sample = Sample("1", "q", ("(A)", "bird"), ("cat", "dog", "bird"))

    values = [Choice()(sample, Output.of(letter)).value for letter in "ABC"]

    assert values == [1.0, 0.0, 1.0]


def test_a_target_that_is_not_an_option_is_still_a_data_error() -> None:
    sample = Sample("1", "q", "fish", ("cat", "dog", "bird"))

    assert Choice()(sample, Output.of("A")).outcome == "data_error"


@pytest.mark.parametrize("answer", ["Rome", "B. Rome", "The answer is Rome."])
def test_options_that_carry_letters_are_found_by_their_texts(answer):
    sample = Sample("a", target="B", choices=("A. Paris", "B. Rome", "C. Oslo"))

    assert Choice()(sample, Output.of(answer)).answer == "B"

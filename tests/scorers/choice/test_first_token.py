"""The first token: letters by the probabilities that were reported, nothing guessed."""

import math

import pytest

from assay.core import Candidate, Outcome, Output, Reasoning, Sample, Text, Token
from assay.scorers.choice.likelihood import FirstToken

SAMPLE = Sample(id="a", target="B", choices=("cat", "dog", "cow"))


def first(
    *alternatives: tuple[str, float], wrote: str = "The", logprob: float = -0.1
) -> Output:
    return Output(
        (
            Candidate(
                (Text(wrote),), tokens=(Token(wrote, logprob, tuple(alternatives)),)
            ),
        )
    )


def test_the_most_probable_letter_is_the_answer_whatever_was_written():
    score = FirstToken()(SAMPLE, first(("A", -3.0), ("B", -2.0), ("The", -0.1)))

    assert (score.value, score.answer, score.outcome) == (1.0, "B", Outcome.SCORED)
    assert score.details["mass"] == pytest.approx(math.exp(-3) + math.exp(-2))


def test_spellings_of_one_letter_count_together():
    score = FirstToken()(
        SAMPLE,
        first(("A", -1.0), ("B", -1.6), (" B", -1.7), ("(B", -1.8), ("▁b", -1.9)),
    )

    assert score.answer == "B"
    assert score.details["chances"]["B"] == pytest.approx(
        sum(math.exp(-x) for x in (1.6, 1.7, 1.8, 1.9))
    )


def test_a_letter_beyond_the_options_is_none_of_them():
    score = FirstToken()(SAMPLE, first(("D", -0.2), ("C", -4.0)))

    assert (score.answer, score.value) == ("C", 0.0)


def test_without_any_letter_the_answer_is_unparsed_and_wrong():
    score = FirstToken()(SAMPLE, first(("The", -0.1), ("I", -2.0), ("Because", -3.0)))

    assert (score.outcome, score.value, score.answer) == (Outcome.UNPARSED, 0.0, None)


def test_of_two_equal_letters_the_first_is_taken():
    assert FirstToken()(SAMPLE, first(("C", -1.0), ("A", -1.0))).answer == "A"


def test_a_model_that_reports_nothing_is_a_failure_of_the_model():
    score = FirstToken()(SAMPLE, Output.of("B"))

    assert (score.outcome, score.value) == (Outcome.MODEL_ERROR, None)


def test_a_row_without_target_cannot_be_scored():
    assert (
        FirstToken()(Sample(id="a", choices=("x", "y")), first(("A", -1.0))).outcome
        is Outcome.DATA_ERROR
    )


def test_the_first_token_of_the_answer_is_read_behind_reasoning():
    thought = Token("A", -0.1, (("A", -0.1), ("B", -3.0)))
    answer = Token(" B", -0.2, ((" B", -0.2), (" A", -2.0)))
    tokens = (Token("<think>", 0.0), thought, Token("</think>", 0.0), answer)
    parts = (Reasoning("A"), Text("B"))
    sample = Sample("1", "?", "B", choices=("x", "y"))

    score = FirstToken()(sample, Output((Candidate(parts, "stop", tokens),)))
    cut = FirstToken()(sample, Output((Candidate(parts[:1], "length", tokens[:2]),)))

    assert (score.value, score.answer) == (1.0, "B")
    assert (cut.value, cut.outcome) == (0.0, Outcome.UNPARSED)

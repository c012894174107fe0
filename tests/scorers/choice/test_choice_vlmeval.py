"""VLMEvalKit's exact matching, as METRICS §2.1 tabulates what its own function says."""

import pytest

from assay.core import Outcome, Output, Sample
from assay.scorers.choice.choice_vlmeval import ChoiceVlmeval

SAMPLE = Sample(id="1", input="?", choices=("cat", "dog", "bird", "a fish"), target="B")


@pytest.mark.parametrize(
    ("answer", "letter"),
    [
        ("The answer is B", "B"),
        ("Answer: B", "B"),
        ("I think it is B, not A.", None),
        ("A dog is shown, so B.", "B"),
        ("A. No wait, the answer is B", "B"),
        ("It is a dog.", "B"),
        ('The correct option is "B".', None),
        ("答案是B", None),
        ("<think>A or C?</think> B", "B"),
        ("The answer is (B) dog because it barks.", None),
        ("I cannot answer", None),
        ("None of the above", None),
        ("b", None),
        ("", None),
    ],
)
def test_it_matches_the_same_answers_as_vlmevalkit(answer: str, letter: str | None):
    score = ChoiceVlmeval()(SAMPLE, Output.of(answer))

    assert score.answer == letter
    assert score.outcome is (Outcome.SCORED if letter else Outcome.UNPARSED)


def test_the_environment_changes_nothing(monkeypatch):
    monkeypatch.setenv("VERBOSE", "1")

    assert ChoiceVlmeval()(SAMPLE, Output.of("So my final answer: A")).answer == "A"


def test_a_wrong_letter_counts_as_wrong():
    assert ChoiceVlmeval()(SAMPLE, Output.of("C")).value == 0.0


def test_a_row_without_choices_is_a_data_error():
    assert (
        ChoiceVlmeval()(Sample(id="1", target="A"), Output.of("A")).outcome
        is Outcome.DATA_ERROR
    )

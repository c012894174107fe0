"""MMMU: letters where there are options, the official rule where there are none (its fixture: `mmmu@open`)."""

import pytest

from assay.core import Outcome, Output, Sample
from assay.scorers.vision.mmmu import Mmmu

OPEN = Sample("1", "What is the sum?", ("50", "fifty"))
CLOSED = Sample("2", "Which?", "B", ("left", "right"))


@pytest.mark.parametrize(
    ("said", "value"),
    [("So the sum is 50.", 1.0), ("fifty", 1.0), ("It is 60.", 0.0), ("", 0.0)],
)
def test_an_open_question_is_scored_not_refused(said, value):
    score = Mmmu()(OPEN, Output.of(said))

    assert (score.value, score.outcome) == (value, Outcome.SCORED)


def test_a_question_with_options_uses_its_letter_and_none_is_drawn():
    right, unread = (
        Mmmu()(CLOSED, Output.of("The answer is B.")),
        Mmmu()(CLOSED, Output.of("No idea at all")),
    )

    assert (right.value, right.answer) == (1.0, "B")
    assert unread.outcome is Outcome.UNPARSED


def test_a_row_without_an_answer_is_a_fault_of_the_data():
    assert Mmmu()(Sample("3", "q"), Output.of("x")).outcome is Outcome.DATA_ERROR

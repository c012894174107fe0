"""MathVista: answers read as their questions ask (normalization: fixture `mathvista@free-form`)."""

import pytest

from assay.core import Outcome, Output, Sample
from assay.scorers.vision.mathvista import MathVista


def free_form(kind: str, answer: str, precision: float | None = None) -> Sample:
    fields = {
        "answer": answer,
        "answer_type": kind,
        "question_type": "free_form",
        "precision": precision,
    }
    return Sample("1", "q", answer, fields=fields)


@pytest.mark.parametrize(
    ("sample", "said", "value", "outcome"),
    [
        (free_form("integer", "14"), "The missing number is 14.", 1.0, Outcome.SCORED),
        (free_form("integer", "14"), "It is fourteen, I think.", 1.0, Outcome.SCORED),
        (
            free_form("integer", "14"),
            "It is hard to tell, I think.",
            0.0,
            Outcome.UNPARSED,
        ),
        (free_form("float", "1.45", 2.0), "Luca needs $1.45.", 1.0, Outcome.SCORED),
        (free_form("float", "1.45", 2.0), "Luca needs $1.5.", 0.0, Outcome.SCORED),
        (
            free_form("list", "[2007, 2008]"),
            "The peak lies between them: [2007, 2008]",
            1.0,
            Outcome.SCORED,
        ),
        (free_form("list", "[2007, 2008]"), "I cannot see it.", 0.0, Outcome.UNPARSED),
        (free_form("text", "Yes"), "yes.", 1.0, Outcome.SCORED),
        (Sample("2", "q", "B", ("left", "right")), "(B) right", 1.0, Outcome.SCORED),
    ],
)
def test_each_kind_of_answer_is_read_in_its_way(sample, said, value, outcome):
    score = MathVista()(sample, Output.of(said))

    assert (score.value, score.outcome) == (value, outcome)


def test_a_row_without_an_answer_is_a_fault_of_the_data():
    assert MathVista()(Sample("3", "q"), Output.of("x")).outcome is Outcome.DATA_ERROR

"""OCRBench: containment."""

import pytest

from assay.core import Outcome, Output, Sample
from assay.scorers.vision.ocrbench import FORMULAS, OcrBench


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("The sign says CENTRE.", 1.0),
        ("it says cen tre", 0.0),
        ("centre\n", 1.0),
        ("", 0.0),
    ],
)
def test_a_target_anywhere_in_the_answer_is_right(answer, value):
    assert (
        OcrBench()(
            Sample(id="a", target=("centre", "center street")), Output.of(answer)
        ).value
        == value
    )


def test_blanks_do_not_count_in_formulas_but_case_does():
    sample = Sample(id="a", target="x ^ { 2 }", fields={"category": FORMULAS})

    assert OcrBench()(sample, Output.of("$x^{2}$")).value == 1.0
    assert OcrBench()(sample, Output.of("$X^{2}$")).value == 0.0


def test_a_sample_without_target_is_a_fault_of_the_data():
    assert OcrBench()(Sample(id="a"), Output.of("x")).outcome is Outcome.DATA_ERROR


@pytest.mark.parametrize("target", ["", "\n", ("x", " ")])
def test_an_empty_target_is_a_fault_of_the_data_since_every_answer_contains_it(target):
    score = OcrBench()(Sample(id="a", target=target), Output.of("anything"))

    assert (score.value, score.outcome) == (None, Outcome.DATA_ERROR)
    assert "is empty, so every answer would contain it" in score.details["reason"]

"""Numeric answers: GSM8K's two filters, and numbers compared as numbers."""

import json
from pathlib import Path

import pytest

from assay.core import Outcome, Output, Sample, UsageError
from assay.scorers.numbers import Gsm8k, NumberMatch, final_number


def gsm8k(answer, target="72"):
    return Gsm8k()(Sample(id="a", target=target), Output.of(answer))


@pytest.mark.parametrize(
    ("answer", "strict", "flexible", "numeric"),
    [
        ("48 + 24 = 72\n#### 72", 1, 1, 1),
        ("#### 72.", 1, 1, 1),
        ("The answer is 72.", 0, 1, 1),
        ("The answer is 72...", 0, 0, 1),
        ("The answer is $72.00", 0, 0, 1),
        ("The answer is 72.0", 0, 0, 1),
        ("The answer is 72 clips (24+48).", 0, 0, 1),
        ("It was 72. In 2023, she...", 0, 0, 0),
        ("\\boxed{72}", 0, 1, 1),
        ("#### 72 #### 73", 1, 0, 0),
        ("-72", 0, 0, 0),
        ("seventy-two", 0, 0, 0),
    ],
)
def test_gsm8k_agrees_with_the_published_filters_and_compares_numbers_beside(answer, strict, flexible, numeric):
    assert gsm8k(answer).value == {"strict": strict, "flexible": flexible, "numeric": numeric}


def test_the_gold_may_be_the_whole_solution_as_the_dataset_has_it():
    solution = "Natalia sold 48/2 = <<48/2=24>>24 clips in May.\n#### 1,072"

    assert gsm8k("#### 1072", solution).value == {"strict": 1.0, "flexible": 1.0, "numeric": 1.0}


def test_an_answer_without_digits_is_unparsed_and_keeps_all_three_names():
    score = gsm8k("seventy-two")

    assert score.outcome is Outcome.UNPARSED
    assert set(score.value) == {"strict", "flexible", "numeric"}


def test_what_each_filter_took_is_kept():
    score = gsm8k("#### 72 #### 73")

    assert score.details == {"strict": "72", "flexible": "73", "numeric": "73"}


@pytest.mark.parametrize(
    ("answer", "target", "equal"),
    [
        ("The total is €1,234.50.", "1234.5", 1),
        ("50%", "0.5", 1),
        ("50%", "50", 1),
        ("50\\%", "50%", 1),
        ("0.5%", "50%", 0),
        ("1/2", "0.5", 1),
        ("1e3", "1000", 1),
        ("- 5 apples", "5", 1),
        ("It fell by -5", "-5", 1),
        ("−5", "-5", 1),
        ("10-20", "20", 1),
        ("123456", "123460", 0),
        (".5", "0.5", 1),
        ("Answer: 7 (not 8)", "7", 1),
        ("答案是 7，不是 8", "7", 1),
        ("3/0", "3", 1),
        ("version 1.2.3", "1.2", 1),
    ],
)
def test_numbers_are_compared_by_value(answer, target, equal):
    assert NumberMatch()(Sample(id="a", target=target), Output.of(answer)).value == equal


def test_a_tolerance_is_a_share_of_the_target():
    near = NumberMatch(relative_tolerance=0.05)

    assert near(Sample(id="a", target="100"), Output.of("104")).value == 1.0
    assert near(Sample(id="a", target="100"), Output.of("106")).value == 0.0


def test_a_tolerance_outside_its_range_is_refused_before_the_run():
    with pytest.raises(UsageError, match="relative tolerance of 2"):
        NumberMatch(relative_tolerance=2)


def test_a_target_that_is_no_number_is_a_fault_of_the_data():
    assert NumberMatch()(Sample(id="a", target="red"), Output.of("5")).outcome is Outcome.DATA_ERROR


def test_an_answer_without_a_number_is_unparsed():
    assert NumberMatch()(Sample(id="a", target="5"), Output.of("none")).outcome is Outcome.UNPARSED


def test_digits_without_end_are_not_a_number():
    assert final_number("9" * 100_000) is None


def test_a_third_is_shown_as_a_fraction():
    assert NumberMatch()(Sample(id="a", target="1/3"), Output.of("2/6")).answer == "1/3"


def test_every_published_gsm8k_solution_is_right_by_all_three_readings():
    file = Path(__file__).parents[2].parent / "shared" / "data" / "gsm8k" / "test.jsonl"
    if not file.exists():
        pytest.skip("the shared GSM8K data is not here")
    solutions = [json.loads(line)["answer"] for line in file.read_text("utf-8").splitlines()]

    values = [gsm8k(solution, solution).value for solution in solutions]

    assert len(values) > 100
    assert all(value == {"strict": 1.0, "flexible": 1.0, "numeric": 1.0} for value in values)


def test_eight_hundred_real_solutions_are_judged_as_their_publishers_judged_them():
    file = Path(__file__).parents[2].parent / "shared" / "data" / "gsm8k" / "example_model_solutions_first200.jsonl"
    if not file.exists():
        pytest.skip("the shared GSM8K solutions are not here")
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    judged = [
        (row["ground_truth"].rpartition("A:")[2].strip(), model["solution"], model["is_correct"])
        for row in rows
        for model in row.values()
        if isinstance(model, dict)
    ]

    values = [gsm8k(solution, gold).value for gold, solution, _ in judged]

    assert len(judged) == 800
    assert [value["flexible"] for value in values] == [float(right) for _, _, right in judged]
    assert [value["numeric"] for value in values] == [float(right) for _, _, right in judged]

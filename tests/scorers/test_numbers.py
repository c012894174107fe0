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


@pytest.mark.parametrize(
    ("answer", "target", "equal"),
    [
        ("3 1/2", "3 1/2", 1.0), ("5 1/2", "3 1/2", 0.0), ("3.5", "3 1/2", 1.0), ("-2 1/4", "-2.25", 1.0),
        ("12,50", "12,50", 1.0), ("99,50", "12,50", 0.0), ("It costs 12.5", "12,50", 1.0), ("12,50 €", "12.5", 1.0),
        ("10 000", "10 000", 1.0), ("70 000", "10 000", 0.0), ("10,000", "10 000", 1.0), ("0", "10 000", 0.0),
        ("10\u202f000", "10000", 1.0), ("1.234,56", "1234.56", 1.0), ("10 000,50", "10000.5", 1.0),
        ("0,125", "1/8", 1.0), ("2,5", "2.5", 1.0), ("2,5", "5", 1.0), ("between 1 and 2,5", "2,5", 1.0),
        ("1,234", "1234", 1.0), ("the primes 2,3,5", "5", 1.0), ("the point (3,45)", "45", 1.0),
        ("In 2020 100 people", "100", 1.0), ("from 2 to 3, so 3", "3", 1.0), ("0.5 (50%)", "50%", 1.0),
    ],
)  # fmt: skip
def test_mixed_fractions_decimal_commas_and_spaced_thousands_are_read_whole(answer, target, equal):
    assert NumberMatch()(Sample(id="a", target=target), Output.of(answer)).value == equal


@pytest.mark.parametrize(
    ("answer", "number"),
    [("96 98 100", 100), ("Scores: 90 100 110", 110), ("3 250 g packs", 250), ("The roots are 2,5", 5), ("10,20", 20)],
)
def test_what_may_be_a_list_is_read_as_one(answer, number):
    assert final_number(answer).value == number


@pytest.mark.parametrize(
    ("answer", "target", "equal"),
    [
        ("10,20", "20", 1.0), ("The roots are 2,5", "5", 1.0), ("96 98 100", "100", 1.0), ("96 98 100", "98100", 0.0),
        ("90 100 110", "110", 1.0), ("3 250 g packs", "250", 1.0), ("3 250 g packs", "3250", 0.0),
        ("It costs 12,50", "12.5", 0.0), ("It costs 12,50", "12,50", 1.0), ("It costs 2,50", "12,50", 0.0),
        ("There are 10 000", "10 000", 1.0), ("There are 10 000", "10000", 0.0), ("10 000", "10000", 1.0),
        ("10 000 km/h.", "10000", 1.0), ("€ 12,50", "12.5", 1.0), ("$10 000", "10000", 1.0), ("20 000", "10000", 0.0),
        ("2,5 m/s^2", "2.5", 1.0), ("10 000 €", "10\u202f000", 1.0), ("90 100 and 110", "12,50", 0.0),
    ],
)  # fmt: skip
def test_blanks_and_commas_join_digits_where_the_gold_or_a_lone_number_shows_it(answer, target, equal):
    assert NumberMatch()(Sample(id="a", target=target), Output.of(answer)).value == equal


def test_a_lone_number_is_read_as_its_gold_in_gsm8k_too():
    assert gsm8k("1 072", "1072").value["numeric"] == 1.0
    assert gsm8k("10,72").value["numeric"] == 1.0
    assert gsm8k("Scores: 1 072", "1072").value["numeric"] == 0.0


@pytest.mark.parametrize(
    ("answer", "target", "equal"),
    [
        ("9.8 m/s^2", "9.8 m/s^2", 1.0), ("It is 9.8", "9.8 m/s^2", 1.0), ("2", "9.8 m/s^2", 0.0),
        ("25 cm^{3}", "25 cm^3", 1.0), ("25", "25 \\text{cm}^3", 1.0), ("3", "25 cm^3", 0.0), ("25 cm³", "25 cm3", 1.0),
        ("so 5 m s^-1", "5 m s-1", 1.0), ("6.5 L/100 km", "6.5 L/100km", 1.0), ("100", "6.5 L/100km", 0.0),
        ("16 oz", "16 oz (1 lb)", 1.0), ("1 lb", "16 oz (1 lb)", 1.0), ("16 oz (1 lb)", "16 oz (1 lb)", 1.0),
        ("15 oz", "16 oz (1 lb)", 0.0), ("答案是**72**", "72", 1.0), ("10^5", "5", 1.0),
    ],
)  # fmt: skip
def test_exponents_and_digits_of_units_are_no_numbers(answer, target, equal):
    assert NumberMatch()(Sample(id="a", target=target), Output.of(answer)).value == equal


@pytest.mark.parametrize(
    "target",
    ["3 of 10", "2 x 10^5", "10^5", "5-7", "12 cm by 5 cm", "2,3,5", "96 98 100", "3 (10)", "3 (of 10)", "5 cm (10)"],
)
def test_a_target_of_several_numbers_is_a_fault_of_the_data(target):
    score = NumberMatch()(Sample(id="a", target=target), Output.of("5"))

    assert score.outcome is Outcome.DATA_ERROR
    assert score.details["reason"] == f"target {target!r} has several numbers"


@pytest.mark.parametrize("target", ["6 x 7, answer: 42", "#### 42", "42 (42.0)", "2 and 40 make \\boxed{42}"])
def test_a_target_that_says_which_of_its_numbers_is_meant_is_read(target):
    assert NumberMatch()(Sample(id="a", target=target), Output.of("42")).value == 1.0


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

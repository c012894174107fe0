"""Numeric answers: GSM8K's two filters, and numbers compared as numbers."""

import json
from pathlib import Path

import pytest
from each_row import each
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core import Outcome, Output, Sample, UsageError
from assay.scorers.math.final_number import final_number
from assay.scorers.math.numbers import Gsm8k, NumberMatch


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
        ("seventy-two", 0, 0, 1),
    ],
)
def test_gsm8k_agrees_with_the_published_filters_and_also_compares_numbers(
    answer, strict, flexible, numeric
):
    assert gsm8k(answer).value == {
        "strict": strict,
        "flexible": flexible,
        "numeric": numeric,
    }


def test_the_gold_may_be_the_whole_solution_as_in_the_dataset():
    solution = "Natalia sold 48/2 = <<48/2=24>>24 clips in May.\n#### 1,072"

    assert gsm8k("#### 1072", solution).value == {
        "strict": 1.0,
        "flexible": 1.0,
        "numeric": 1.0,
    }


def test_an_answer_without_digits_is_unparsed_and_keeps_all_three_names():
    score = gsm8k("no idea")

    assert score.outcome is Outcome.UNPARSED
    assert set(score.value) == {"strict", "flexible", "numeric"}


def test_details_have_the_reading_of_each_filter():
    score = gsm8k("#### 72 #### 73")

    assert score.details == {
        "strict": "72",
        "flexible": "73",
        "numeric": "73",
        "span": [5, 7],
    }


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
        ("10-20", "20", 0),
        ("123456", "123460", 0),
        (".5", "0.5", 1),
        ("Answer: 7 (not 8)", "7", 1),
        ("答案是 7，不是 8", "7", 1),
        ("3/0", "3", 1),
        ("version 1.2.3", "1.2", 0),  # a part of a version is not a value
    ],
)
def test_numbers_are_compared_by_value(answer, target, equal):
    assert (
        NumberMatch()(Sample(id="a", target=target), Output.of(answer)).value == equal
    )


def test_a_tolerance_is_a_share_of_the_target():
    near = NumberMatch(relative_tolerance=0.05)

    assert near(Sample(id="a", target="100"), Output.of("104")).value == 1.0
    assert near(Sample(id="a", target="100"), Output.of("106")).value == 0.0


def test_a_tolerance_outside_its_range_is_refused_before_the_run():
    with pytest.raises(UsageError, match="relative_tolerance of 2"):
        NumberMatch(relative_tolerance=2)


def test_a_target_that_is_not_a_number_is_a_fault_of_the_data():
    assert (
        NumberMatch()(Sample(id="a", target="red"), Output.of("5")).outcome
        is Outcome.DATA_ERROR
    )


@each(
    ("answer", "target", "equal"),
    [
        ("3 1/2", "3 1/2", 1.0),
        ("5 1/2", "3 1/2", 0.0),
        ("3.5", "3 1/2", 1.0),
        ("-2 1/4", "-2.25", 1.0),
        ("12,50", "12,50", 1.0),
        ("99,50", "12,50", 0.0),
        ("It costs 12.5", "12,50", 1.0),
        ("12,50 €", "12.5", 1.0),
        ("10 000", "10 000", 1.0),
        ("70 000", "10 000", 0.0),
        ("10,000", "10 000", 1.0),
        ("0", "10 000", 0.0),
        ("10\u202f000", "10000", 1.0),
        ("1.234,56", "1234.56", 1.0),
        ("10 000,50", "10000.5", 1.0),
        ("0,125", "1/8", 1.0),
        ("2,5", "2.5", 1.0),
        ("2,5", "5", 1.0),
        ("at most 2,5", "2,5", 1.0),
        ("1,234", "1234", 1.0),
        ("the primes 2,3,5", "5", 1.0),
        ("the point (3,45)", "45", 0.0),  # a coordinate is not the value of a point
        ("In 2020 100 people", "100", 1.0),
        ("from 2 to 3, so 3", "3", 1.0),
        ("0.5 (50%)", "50%", 1.0),
    ],
)
def test_mixed_fractions_decimal_commas_and_spaced_thousands_are_read_whole(
    answer, target, equal
):
    assert (
        NumberMatch()(Sample(id="a", target=target), Output.of(answer)).value == equal
    )


@pytest.mark.parametrize(
    ("answer", "number"),
    [
        ("96 98 100", 100),
        ("Scores: 90 100 110", 110),
        ("3 250 g packs", 250),
        ("The roots are 2,5", 5),
        ("10,20", 20),
    ],
)
def test_a_possible_list_is_read_as_a_list(answer, number):
    assert final_number(answer).value == number


@pytest.mark.parametrize(
    ("answer", "target", "equal"),
    [
        ("10,20", "20", 1.0),
        ("The roots are 2,5", "5", 1.0),
        ("96 98 100", "100", 1.0),
        ("96 98 100", "98100", 0.0),
        ("90 100 110", "110", 1.0),
        ("3 250 g packs", "250", 1.0),
        ("3 250 g packs", "3250", 0.0),
        ("It costs 12,50", "12.5", 0.0),
        ("It costs 12,50", "12,50", 1.0),
        ("It costs 2,50", "12,50", 0.0),
        ("There are 10 000", "10 000", 1.0),
        ("There are 10 000", "10000", 1.0),  # 000 is no number of its own
        ("There are 10 500", "10500", 0.0),
        ("10 000", "10000", 1.0),
        ("10 000 km/h.", "10000", 1.0),
        ("€ 12,50", "12.5", 1.0),
        ("$10 000", "10000", 1.0),
        ("20 000", "10000", 0.0),
        ("2,5 m/s^2", "2.5", 1.0),
        ("10 000 €", "10\u202f000", 1.0),
        ("90 100 and 110", "12,50", 0.0),
    ],
)
def test_blanks_and_commas_join_digits_where_the_gold_or_a_lone_number_shows_it(
    answer, target, equal
):
    assert (
        NumberMatch()(Sample(id="a", target=target), Output.of(answer)).value == equal
    )


def test_a_lone_number_is_read_as_its_gold_in_gsm8k_too():
    assert gsm8k("1 072", "1072").value["numeric"] == 1.0
    assert gsm8k("10,72").value["numeric"] == 1.0
    assert gsm8k("Scores: 1 072", "1072").value["numeric"] == 1.0
    assert gsm8k("Scores: 1 172", "1172").value["numeric"] == 0.0


@pytest.mark.parametrize(
    ("answer", "target", "equal"),
    [
        ("9.8 m/s^2", "9.8 m/s^2", 1.0),
        ("It is 9.8", "9.8 m/s^2", 1.0),
        ("2", "9.8 m/s^2", 0.0),
        ("25 cm^{3}", "25 cm^3", 1.0),
        ("25", "25 \\text{cm}^3", 1.0),
        ("3", "25 cm^3", 0.0),
        ("25 cm³", "25 cm3", 1.0),
        ("so 5 m s^-1", "5 m s-1", 1.0),
        ("6.5 L/100 km", "6.5 L/100km", 1.0),
        ("100", "6.5 L/100km", 0.0),
        ("16 oz", "16 oz (1 lb)", 1.0),
        ("1 lb", "16 oz (1 lb)", 1.0),
        ("16 oz (1 lb)", "16 oz (1 lb)", 1.0),
        ("15 oz", "16 oz (1 lb)", 0.0),
        ("答案是**72**", "72", 1.0),
        ("10^5", "100000", 1.0),
    ],
)
def test_exponents_and_digits_of_units_are_not_numbers(answer, target, equal):
    assert (
        NumberMatch()(Sample(id="a", target=target), Output.of(answer)).value == equal
    )


@pytest.mark.parametrize(
    "target",
    [
        "3 of 10",
        "5-7",
        "12 cm by 5 cm",
        "2,3,5",
        "96 98 100",
        "3 (10)",
        "3 (of 10)",
        "5 cm (10)",
    ],
)
def test_a_target_of_several_numbers_is_a_fault_of_the_data(target):
    score = NumberMatch()(Sample(id="a", target=target), Output.of("5"))

    assert score.outcome is Outcome.DATA_ERROR
    assert score.details["reason"] == f"target {target!r} has several numbers"


@pytest.mark.parametrize(
    "target", ["6 x 7, answer: 42", "#### 42", "42 (42.0)", "2 and 40 make \\boxed{42}"]
)
def test_a_target_that_says_which_of_its_numbers_is_meant_is_read(target):
    assert NumberMatch()(Sample(id="a", target=target), Output.of("42")).value == 1.0


def test_an_answer_without_a_number_is_unparsed():
    assert (
        NumberMatch()(Sample(id="a", target="5"), Output.of("none")).outcome
        is Outcome.UNPARSED
    )


def test_digits_without_end_are_not_a_number():
    assert final_number("9" * 100_000) is None


def test_a_third_is_shown_as_a_fraction():
    assert NumberMatch()(Sample(id="a", target="1/3"), Output.of("2/6")).answer == "1/3"


def test_every_published_gsm8k_solution_is_right_by_all_three_readings():
    file = Path(__file__).parents[3].parent / "shared" / "data" / "gsm8k" / "test.jsonl"
    if not file.exists():
        pytest.skip("the shared GSM8K data is not here")
    solutions = [
        json.loads(line)["answer"] for line in file.read_text("utf-8").splitlines()
    ]

    values = [gsm8k(solution, solution).value for solution in solutions]

    assert len(values) > 100
    assert all(
        value == {"strict": 1.0, "flexible": 1.0, "numeric": 1.0} for value in values
    )


def test_eight_hundred_real_solutions_are_judged_as_their_publishers_judged_them():
    file = (
        Path(__file__).parents[3].parent
        / "shared"
        / "data"
        / "gsm8k"
        / "example_model_solutions_first200.jsonl"
    )
    if not file.exists():
        pytest.skip("the shared GSM8K solutions are not here")
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    judged = [
        (
            row["ground_truth"].rpartition("A:")[2].strip(),
            model["solution"],
            model["is_correct"],
        )
        for row in rows
        for model in row.values()
        if isinstance(model, dict)
    ]

    values = [gsm8k(solution, gold).value for gold, solution, _ in judged]

    assert len(judged) == 800
    assert [value["flexible"] for value in values] == [
        float(right) for _, _, right in judged
    ]
    assert [value["numeric"] for value in values] == [
        float(right) for _, _, right in judged
    ]


@each(
    ("answer", "target"),
    [
        ("The answer is 5 + 10 = 15.", "15"),
        ("Answer: 20 x 2 = 40", "40"),
        ("答案是3", "3"),
        ("一共有12个苹果", "12"),
        ("答えは12です", "12"),
        ("1 234 567", "1234567"),
        ("The total is $1,234.50.", "1234.5"),
        ("−5", "-5"),
        ("1.5e3", "1500"),
        ("1.5 × 10^3", "1500"),
        ("1.5 x 10^-3", "0.0015"),
        ("3/4", "0.75"),
        ("2 1/2", "2.5"),
        ("½", "0.5"),
        ("2½", "2.5"),
        ("２３", "23"),
        ("٣", "3"),
        ("१२", "12"),
        ("第3个", "3"),
        ("정답은 12입니다", "12"),
        ("공 12개", "12"),
        ("La respuesta es 12.", "12"),
        ("Die Antwort ist 1.234,5", "1234.5"),
        ("La réponse est 3,5", "3.5"),
        ("Ответ: 12", "12"),
        ("The answer is 12 apples and 3 pears left over", "12"),
        ("\\boxed{\\frac{3}{4}}", "0.75"),
        ("\\boxed{3\\frac{1}{4}}", "3.25"),
        ("\\boxed{1{,}234}", "1234"),
        ("The answer is -3.", "-3"),
        ("The answer is (−3).", "-3"),
        ("5×3=15", "15"),
        ("12 ÷ 4 = 3", "3"),
        ("so x = 3, the answer is 3*4 = 12 dollars", "12"),
        ("Answer: 50%", "50%"),
        ("answer: 1,000,000", "1000000"),
        ("共3.5米", "3.5"),
        ("約１２人", "12"),
        ("6.02×10²³", "6.02e23"),
        ("\\(1.2\\times 10^{4}\\)", "12000"),
        ("答案为：$12$", "12"),
        ("A: 18", "18"),
        ("#### 18 apples", "18"),
        ("The answer is 7 (not 8).", "7"),
        ("The answer is 15 = 5 + 10", "15"),
        ("answer is x = 4", "4"),
        ("The answer is 3.", "3"),
        ("$-5$", "-5"),
        ("₹1,23,456", "123456"),
        ("12,345,678.9", "12345678.9"),
        ("The answer is 2 + 3 = 5 apples.", "5"),
        ("Answer: 5 apples + 10 apples = 15 apples", "15"),
        ("The answer is 10 - 4 = 6, so 6.", "6"),
        ("The answer is 1 + 2 + 3 = 3 + 3 = 6", "6"),
        ("答案是5+10=15。", "15"),
        ("The answer is 7 because 3 + 5 = 8 is too large.", "7"),
        ("The answer is 4 since 2 * 2 = 4.", "4"),
        ("Answer: 24/2 = 12", "12"),
        ("The answer is $3 \\times 4 = 12$.", "12"),
        ("area = 12 m²", "12"),
        ("5 m/s^2", "5"),
        ("The answer is 10^3", "1000"),
        ("答案：３／４", "0.75"),
        ("The answer is 3 (2+1=3).", "3"),
        ("The answer is 42. Check: 40 + 2 = 42", "42"),
        ("The answer is 42.\nCheck: 40 + 3 = 43", "42"),
        ("总共是 5+7＝12 个", "12"),
        ("答えは 3 × 4 = 12 個です", "12"),
        ("A resposta é 12,5.", "12.5"),
        ("La respuesta correcta es 7.", "7"),
        ("Réponse : 1 234", "1234"),
        ("The answer is 18% of 50 = 9", "9"),
    ],
)
def test_results_of_equations_scripts_units_and_spellings_are_read(answer, target):
    assert NumberMatch()(Sample(id="a", target=target), Output.of(answer)).value == 1.0


CUES = [
    "The answer is {}.",
    "Answer: {}",
    "#### {}",
    "答案是{}。",
    "答えは{}です",
    "정답은 {}입니다",
    "La respuesta es {}.",
    "Die Antwort ist {}.",
    "Réponse : {}",
    "Ответ: {}",
    "共{}个",
    "\\boxed{{{}}}",
    "{}",
]
SPELLINGS = [
    str, lambda n: f"{n:,}", lambda n: f"{n}.0",
    lambda n: str(n).translate(str.maketrans("0123456789", "０１２３４５６７８９")),
    lambda n: f"${n}", lambda n: f"{n} kg", lambda n: f"{n - 1} + 1 = {n}", lambda n: f"{2 * n} ÷ 2 = {n}",
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(
    number=st.integers(1, 10**7),
    cue=st.sampled_from(CUES),
    spelling=st.sampled_from(SPELLINGS),
)
def test_a_declared_number_is_read_in_every_language_and_spelling(
    number, cue, spelling
):
    text = cue.format(spelling(number))
    is_comma_language = any(
        word in cue for word in ("respuesta", "Antwort", "Réponse", "Ответ")
    )
    target = str(number)
    if is_comma_language and "," in text and number < 10**6:
        return  # 1,234 is 1.234 there, or a list of thousands: nobody can tell

    assert NumberMatch()(Sample(id="a", target=target), Output.of(text)).value == 1.0, (
        text
    )


@settings(max_examples=200, deadline=None)
@given(left=st.integers(-999, 999), right=st.integers(1, 999), wrong=st.integers(1, 5))
def test_the_result_of_a_declared_equation_is_the_answer_and_no_other_is(
    left, right, wrong
):
    score = NumberMatch()
    text = f"The answer is {left} + {right} = {left + right}."

    assert score(Sample(id="a", target=str(left + right)), Output.of(text)).value == 1.0
    assert (
        score(Sample(id="a", target=str(left + right + wrong)), Output.of(text)).value
        == 0.0
    )


@pytest.mark.parametrize(
    ("answer", "target"),
    [
        ("The answer is minus 7.", "-7"),
        ("The answer is negative 7.", "-7"),
        ("10 minus 3 is 7", "7"),
        ("答案是负3", "-3"),
        ("The answer is 10^6.", "1000000"),
        ("The answer is not 4 but 3.", "3"),
        ("The answer isn't 4. It's 3.", "3"),
        ("2.000.000", "2000000"),
        ("1'234'567", "1234567"),
        ("42 ± 1", "42"),
        (r"\boxed{42 \pm 0.5}", "42"),
        ("x = ±4", "4"),
        ("คำตอบคือ๔๒", "42"),
        ("คำตอบคือ42", "42"),
        (r"\boxed{\dfrac12}", "0.5"),
        (r"\frac 3 4", "0.75"),
    ],
)
def test_signs_in_words_margins_and_further_spellings_are_read(answer, target):
    assert NumberMatch()(Sample("1", "q", target), Output.of(answer)).value == 1.0


@pytest.mark.parametrize(
    ("answer", "target", "equal"),
    [
        ("The answer is 5 million.", "5000000", 1.0),
        ("$1.5 million", "1,500,000", 1.0),
        ("The answer is 5 million.", "5", 0.0),
        ("5", "5 million", 0.0),
        ("5k", "5", 0.0),
        ("5 thousand", "5", 0.0),
        ("5 hundred", "500", 1.0),
        ("2 lakh", "200,000", 1.0),
        ("$5M", "5", 0.0),
        ("$5M", "5000000", 1.0),
        ("€3bn", "3000000000", 1.0),
        ("5 M", "5", 1.0),
        ("5 million", "5 thousand", 0.0),
        ("$3.5k", "3500", 1.0),
        ("3.5 km", "3500", 0.0),
        ("答案是3万", "30000", 1.0),
        ("共1.2亿人", "120000000", 1.0),
        ("3千克", "3", 1.0),
        ("3千克", "3000", 0.0),
        ("5 Millionen", "5000000", 1.0),
        ("50%", "50 million", 0.0),
        ("5천", "5000", 1.0),
        ("5 тыс.", "5", 0.0),
        ("5 млн рублей", "5000000", 1.0),
        ("5 milhões", "5", 0.0),
        ("5 mil millones", "5000000000", 1.0),
        ("5 triệu", "5000000", 1.0),
        ("5 lakhs", "5", 0.0),
        ("5 milyon", "5", 0.0),
        ("3 dozen", "3", 1.0),
    ],
)
def test_a_word_that_multiplies_belongs_to_the_number(answer, target, equal):
    assert NumberMatch()(Sample("1", "q", target), Output.of(answer)).value == equal


CORPUS = Path(__file__).resolve().parent / "corpus" / "numbers.jsonl"
NUMBERS = [json.loads(line) for line in CORPUS.read_text("utf-8").split("\n") if line]


def test_every_hostile_answer_gives_its_number():
    scorer = NumberMatch()

    found = [
        (
            row,
            scorer(Sample("a", "q", row["expected"] or "1"), Output.of(row["output"])),
        )
        for row in NUMBERS
    ]

    takes_one = [(row, score) for row, score in found if row["expected"]]
    wrong = [
        row["output"]
        for row, score in takes_one
        if score.answer is not None and score.value != 1.0
    ]
    assert all(score.answer is None for row, score in found if row["expected"] is None)
    assert [row["output"] for row, score in takes_one if score.answer is None] == []
    assert wrong == []


@pytest.mark.parametrize(
    ("answer", "target", "equal"),
    [
        ("5 out of 10", "5", True),
        ("5 out of 10", "10", False),
        ("3:45", "3:45", True),
        ("3:45", "4:45", False),
        ("twenty-one", "21", True),
        ("twenty", "21", False),
        ("一百零五", "105", True),
        ("This one is hard", "1", False),
        ("一共", "1", False),
        ("The ratio is 3:4", "3", False),
        ("The answer is 7, no, 8", "8", True),
    ],
)
def test_words_times_and_parts_of_a_whole_are_read(answer, target, equal):
    score = NumberMatch()(Sample("a", "q", target), Output.of(answer))

    assert score.value == float(equal)


@pytest.mark.parametrize(
    "answer",
    [
        "17 or 18",
        "The answer is 17 or 18.",
        "either 17 or 18 apples",
        "17 apples or 18 apples",
        "17 or maybe 18",
        "17 oder 18",
        "17或18",
        "17-18",
        "17–18",
        "17 to 18",
        "17到18",
        "17 and 18",
        "The answer is 17 and 18.",
        "17, 18",
        "**17**, **18**",
        "somewhere between 17 and 18",
        "#### 17 or 18",
    ],
)
@pytest.mark.parametrize("target", ["17", "18"])
def test_one_of_two_numbers_is_not_an_answer(answer, target):
    score = NumberMatch()(Sample("1", "q", target), Output.of(answer))

    assert (score.value, score.outcome) == (0.0, Outcome.UNPARSED)


@pytest.mark.parametrize(
    ("answer", "target"),
    [
        ("17 or 18? It is 18.", "18"),
        ("7, or rather 8", "8"),
        ("The price rose from 17 to 18", "18"),
        ("2 hours or 120 minutes", "120"),
        ("0.5 or 50%", "0.5"),
        ("18 or more", "18"),
        ("12-5=7", "7"),
        ("42 = 6*7", "42"),
        ("__42__", "42"),
        ("_42_ apples", "42"),
        ("Answer: 43\n\nCorrection: 42", "42"),
        ("1,234", "1234"),
        ("COVID-19", "19"),
        ("50 percent", "0.5"),
        ("50 per cent", "50%"),
        ("50%", "50"),
    ],
)
def test_a_number_that_is_meant_is_read(answer, target):
    assert NumberMatch()(Sample("1", "q", target), Output.of(answer)).value == 1.0


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("18 (not 17)", "18"),
        ("18 apples, not 17 apples", "18"),
        ("18 rather than 17", "18"),
        ("It is not 17 but 18.", "18"),
        ("negative five", "-5"),
        ("The answer is minus twelve.", "-12"),
        ("$5K", "5000"),
        ("€2T", "2000000000000"),
        ("5 tn", "5000000000000"),
        ("300K", "300"),
    ],
)
def test_numbers_with_a_denial_a_sign_in_words_or_a_scale_are_read(text, number):
    score = NumberMatch()(Sample("1", "q", number), Output.of(text))

    assert score.value == 1.0, score


def test_a_number_that_is_only_denied_is_none():
    assert NumberMatch()(Sample("1", "q", "3"), Output.of("not 3")).outcome == (
        Outcome.UNPARSED
    )


@each(
    ("answer", "gold"),
    [
        ("two and a half", "2.5"),
        ("The answer is twenty-two and a half.", "22.5"),
        ("It takes 2 and 1/2 hours.", "2.5"),
        ("two and a half million", "2500000"),
        ("half a million", "500000"),
        ("a quarter of a million people", "250000"),
        ("The probability is one half.", "0.5"),
        ("two thirds", "2/3"),
        ("three-quarters", "0.75"),
        ("Half.", "0.5"),
        ("5 mio", "5000000"),
        ("She has three quarters and 2 dimes, so 5 coins", "5"),
        ("half of 10 is 5", "5"),
    ],
)
def test_fractions_in_words_are_part_of_their_number(answer, gold):
    sample = Sample("a", target=gold)

    assert NumberMatch()(sample, Output.of(answer)).value == 1.0


@each(("answer", "gold"), [("two and a half", "2"), ("half a million", "1000000")])
def test_a_number_without_its_fraction_is_not_equal(answer, gold):
    sample = Sample("a", target=gold)

    assert NumberMatch()(sample, Output.of(answer)).value == 0.0


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("The total is 1 000 €.", "1000"),
        ("They sold 10 050 tickets.", "10050"),
        ("It costs 1 500 € a month.", "1500"),
        ("Die Antwort lautet 1.500 Euro.", "1500"),
        ("1万5千", "15000"),
        ("人口是3億2000万人", "320000000"),
        ('{"answer": "18", "steps": 3}', "18"),
        ("The answer is 2^3.", "8"),
        ("$2^{10}$", "1024"),
        ("(-2)^3", "-8"),
        ("There are 15 students (10 boys, 5 girls).", "15"),
        ("He pays $15 (3 × $5).", "15"),
        ("It takes 3.5 hours (3 hours and 30 minutes).", "3.5"),
        ("The rooms are 90 100 110", "110"),
        ("Alice has 10 (Bob has 5).", "5"),
        ("The point is at 4 (1, 2)", "4"),  # 2 is only a coordinate
    ],
)
def test_powers_blank_thousands_and_the_parts_of_a_number_are_read(
    answer: str, gold: str
) -> None:
    sample = Sample("1", "q", gold)

    score = NumberMatch()(sample, Output.of(answer))

    assert score.value == 1.0


@pytest.mark.parametrize(
    "text",
    ["five or six", "either five or six", "x = 2 or x = -2", "x=2 or x=-2"],
)
def test_alternatives_in_words_and_of_a_variable_are_no_answer(text):
    assert final_number(text) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("20K dollars", 20_000),
        ("about 5M people", 5_000_000),
        ("3B USD", 3_000_000_000),
        ("300 K", 300),
        ("It weighs 5 M", 5),
    ],
)
def test_a_capital_scale_counts_before_what_is_counted(text, value):
    sample = Sample("a", target=str(value))

    assert NumberMatch()(sample, Output.of(text)).value == 1.0


@each(
    ("text", "value"),
    [
        ("5M", "5000000"),
        ("The answer is 1.2K.", "1200"),
        ("3B", "3000000000"),
        ("2bn", "2000000000"),
        ("5M users", "5000000"),
        ("5m people", "5000000"),
        ("5b dollars", "5000000000"),
        ("5_000_000", "5000000"),
        ("5 M€", "5000000"),
        ("£5m", "5000000"),
        ("$5 M", "5000000"),
        ("$2.5MM", "2500000"),
        ("The temperature is 300 K.", "300"),
        ("0.5 M", "0.5"),
        ("5m", "5"),
        ("5MB", "5"),
        ("The length is $5m$", "5"),
    ],
)
def test_a_letter_behind_a_number_is_a_scale_or_a_unit(text, value):
    assert NumberMatch()(Sample(id="a", target="1"), Output.of(text)).answer == value


@each(
    ("answer", "target", "equal"),
    [
        ("5M", "5000000", 1),
        ("5M", "5 million", 1),
        ("5M", "5 thousand", 0),
        ("300K", "300", 1),  # kelvin
        ("300 K", "300K", 1),
        ("$5M", "5", 0),
        ("3 bn", "3B", 1),
    ],
)
def test_a_number_with_a_letter_that_may_be_a_unit_is_equal_in_both_readings(
    answer, target, equal
):
    score = NumberMatch()(Sample(id="a", target=target), Output.of(answer))

    assert score.value == equal


@each(
    ("text", "value"),
    [
        ("5! = 120", "120"),
        ("120 = 5!", "120"),
        ("The answer is 120 = 5!", "120"),
        ("10!/7!", "720"),
        (r"\boxed{5!}", "120"),
        ("It is $5!$", "120"),
        ("There are 5! ways.", "120"),
        ("The number of ways is 5!.", "120"),
        ("5!", "5"),
        ("The answer is 5!", "5"),
        ("So 2 + 3 = 5! Great.", "5"),
        ("It is 5! - easy.", "5"),
    ],
)
def test_a_factorial_is_read_where_the_sentence_goes_on(text, value):
    assert NumberMatch()(Sample(id="a", target="1"), Output.of(text)).answer == value


def test_a_target_has_factorials_and_no_exclamations():
    assert NumberMatch()(Sample(id="a", target="5!"), Output.of("120")).value == 1

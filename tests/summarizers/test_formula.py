"""Metrics computed from named counts: value, interval, tags, comparison, and several scorers at once."""

import json

import pytest

import assay
from assay.cli.main import main
from assay.core import UsageError
from assay.store import RunReader
from assay.summarizers.expressions import Expression, is_number
from assay.summarizers.formula import Formula

GRADES = {
    "yes": {"is_correct": 1.0, "is_incorrect": 0.0},
    "no": {"is_correct": 0.0, "is_incorrect": 1.0},
    "pass": {"is_correct": 0.0, "is_incorrect": 0.0},
}
F1 = Formula(
    "f1",
    "2 * correct / (asked + attempted)",
    {"correct": "is_correct", "attempted": "is_correct + is_incorrect", "asked": 1},
    bounds=(0, 1),
)
HARMONIC = Formula(
    "f1_by_rates",
    "2 * (correct / asked) * (correct / attempted) / (correct / asked + correct / attempted)",
    dict(F1.counts),
    bounds=(0, 1),
)


def grade(sample, output):
    return GRADES[output.text]


def rows(count=60):
    return [
        {
            "id": f"s{n:03}",
            "question": str(n),
            "answer": "yes",
            "topic": "odd" if n % 2 else "even",
        }
        for n in range(count)
    ]


def answers(pattern):
    return lambda text: pattern[int(text) % len(pattern)]


def run(folder, pattern, summarizers, scorers=grade):
    task = assay.Task(
        "facts", rows(), scorers=scorers, summarizers=summarizers, tags=("topic",)
    )
    return assay.run(task, answers(pattern), output=str(folder))


def only(result, metric):
    [row] = [row for row in result.results if row.metric == metric]
    return row


SPAN_F1 = Formula(
    "span_f1",
    "2 * tp / (2 * tp + fn)",
    {"tp": "tp", "fn": "fn"},
    bounds=(0, 1),
)


def spans(sample, output):
    if output.text == "all":
        return assay.Score(1.0, details={"tp": 2, "fn": 0})
    if output.text == "none":
        return assay.Score.unparsed(tp=0, fn=2)
    return assay.Score.unparsed(rule="all or none")


def test_an_unread_answer_brings_its_counts(tmp_path):
    result = run(tmp_path / "a", ["all", "none"], [SPAN_F1], spans)

    row = only(result, "span_f1")
    # 60 spans named, 60 missed: 2 * 60 / (2 * 60 + 60).
    assert row.value == pytest.approx(2 / 3)
    assert row.flags == ()


def test_an_unread_answer_without_counts_is_flagged(tmp_path):
    result = run(tmp_path / "a", ["all", "nothing"], [SPAN_F1], spans)

    row = only(result, "span_f1")
    assert row.value == 1.0
    assert row.flags == ("30 unread answers without counts",)


def test_an_unread_answer_counts_as_the_worst_value_without_a_flag(tmp_path):
    def read(sample, output):
        return output.text == "yes" or assay.Score.unparsed()

    share = Formula("share", "right / asked", {"right": "read", "asked": 1})
    result = run(tmp_path / "a", ["yes", "hm"], [share], read)

    row = only(result, "share")
    assert (row.value, row.flags) == (0.5, ())


def test_f1_of_two_rates_has_value_interval_and_tags(tmp_path):
    result = run(tmp_path / "a", ["yes", "yes", "no", "pass"], ["mean", F1])

    row = only(result, "f1")
    # 30 of 60 right, 45 attempted: 2 * 30 / (60 + 45).
    assert row.value == pytest.approx(60 / 105)
    assert row.ci[0] < row.value < row.ci[1] and row.interval == "score"
    odd = row.groups["topic"]["odd"]
    assert odd.value == pytest.approx(2 * 15 / (30 + 15)) and odd.ci is not None


def test_a_ratio_and_the_same_number_by_rates_agree(tmp_path):
    result = run(tmp_path / "a", ["yes", "yes", "no", "pass"], [F1, HARMONIC])

    ratio, rates = only(result, "f1"), only(result, "f1_by_rates")
    assert rates.value == pytest.approx(ratio.value)
    assert rates.interval == "jackknife logit t"
    assert rates.ci == pytest.approx(ratio.ci, abs=0.02)


@pytest.mark.parametrize("summarizer", [F1, HARMONIC], ids=["ratio", "rates"])
def test_two_runs_are_compared_by_the_formula(tmp_path, summarizer):
    run(tmp_path / "a", ["yes", "no", "no", "pass"], [summarizer])
    run(tmp_path / "b", ["yes", "yes", "yes", "pass"], [summarizer])

    [row] = assay.compare(str(tmp_path / "a"), str(tmp_path / "b")).rows

    assert row.verdict == "better" and row.paired.test == "paired jackknife t"
    # 30 against 90 points of 105: 2 * 15 / 105 and 2 * 45 / 105.
    assert row.paired.difference.value == pytest.approx(60 / 105)
    assert row.paired.difference.low > 0


def test_the_formula_of_a_yaml_task_runs_and_verifies(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows())))
    (tmp_path / "grade.py").write_text(
        "def grade(sample, output):\n"
        "    return {'is_correct': float(output.text == 'yes'), 'is_incorrect': float(output.text == 'no')}\n"
    )
    (tmp_path / "facts.yaml").write_text(
        "dataset: rows.jsonl\nscorers: grade.py:grade\ntags: [topic]\n"
        "summarizers:\n  - mean\n  - name: formula\n    metric: f1\n"
        "    value: 2 * correct / (asked + attempted)\n"
        "    counts: {correct: is_correct, attempted: [is_correct, is_incorrect], asked: 1}\n"
        "    bounds: [0, 1]\n"
    )

    code = main(
        ["run", "facts.yaml", "--model", "scripted", "-a", "answers=yes", "-o", "out"]
    )
    verified = main(["verify", "out", "--trust_code"])

    assert code == 0 and verified == 0, capsys.readouterr()
    [row] = [row for row in RunReader(tmp_path / "out").results if row.metric == "f1"]
    assert row.value == 1.0


def long(sample, output):
    return assay.Score(float(len(output.text)), details={"letters": len(output.text)})


long.bounds = None


def right(sample, output):
    return float(output.text == "yes")


def test_a_ratio_across_two_scorers_is_one_row(tmp_path):
    per_right = Formula(
        "letters_per_right_answer",
        "letters / correct",
        {"letters": "long.letters", "correct": "right"},
        bounds=[0, None],
        higher_is_better=False,
    )
    for name, pattern in (("a", ["yes", "no"]), ("b", ["yes", "yes", "yes", "no"])):
        result = run(tmp_path / name, pattern, ["mean", per_right], [right, long])

    row = only(result, "letters_per_right_answer")
    assert row.value == pytest.approx((45 * 3 + 15 * 2) / 45)
    assert row.ci[0] < row.value < row.ci[1] and not row.higher_is_better
    assert row.groups["topic"]["odd"].n == 30
    rows_compared = assay.compare(str(tmp_path / "a"), str(tmp_path / "b")).rows
    [compared] = [r for r in rows_compared if r.metric == row.metric]
    assert compared.verdict == "better" and compared.paired.difference.value < 0


def turns(sample, output):
    first = float(int(sample.id[1:]) % 5 + 1)
    return {"overall": (first + 4) / 2, "round_1": first, "round_2": 4.0}


turns.bounds = (1.0, 5.0)


def test_the_worst_turn_of_a_dialogue_is_a_mean_between_its_ends(tmp_path):
    worst = Formula(
        "worst_turn",
        "worst / dialogues",
        {"worst": "min(rounds)", "dialogues": 1},
        bounds=(1, 5),
    )

    row = only(run(tmp_path / "a", ["yes"], [worst], turns), "worst_turn")

    assert row.value == pytest.approx((1 + 2 + 3 + 4 + 4) / 5)
    assert 1 <= row.ci[0] < row.value < row.ci[1] <= 5


def test_names_in_a_list_may_have_any_characters(tmp_path):
    def odd(sample, output):
        right = float(output.text == "yes")
        return assay.Score(right, details={"is[right]": right, "n-all": 1})

    share = Formula(
        "share", "a / b", {"a": ["is[right]"], "b": ["n-all"]}, bounds=(0, 1)
    )

    row = only(run(tmp_path / "a", ["yes", "no"], [share], odd), "share")

    assert row.value == 0.5 and row.ci is not None


def test_an_answer_that_could_not_be_read_counts_as_the_worst_value(tmp_path):
    def picky(sample, output):
        if output.text == "pass":
            return assay.Score.unparsed()
        return {"is_correct": float(output.text == "yes")}

    share = Formula(
        "share", "right / asked", {"right": "is_correct", "asked": 1}, bounds=(0, 1)
    )

    row = only(run(tmp_path / "a", ["yes", "pass"], [share], picky), "share")

    assert row.value == 0.5 and row.n == 60


def test_an_unknown_name_is_reported_with_the_nearest(tmp_path):
    wrong = Formula("x", "a / b", {"a": "is_corect", "b": 1})

    result = run(tmp_path / "a", ["yes", "no"], ["mean", wrong])

    assert any("did you mean 'is_correct'?" in note for note in result.notes)


@pytest.mark.parametrize(
    ("value", "counts", "said"),
    [
        ("a / c", {"a": 1}, "uses 'c', which is not in `counts`"),
        ("__import__('os')", {"a": 1}, "no function '__import__'"),
        ("a[0]", {"a": 1}, "is not allowed"),
        ("a if a else 1", {"a": 1}, "is not allowed"),
        ("a.real.b()", {"a": 1}, "is not allowed"),
        ("'x' * 9", {"a": 1}, "is not a number"),
        ("a +", {"a": 1}, "is not an arithmetic expression"),
        ("a", {}, "not in `counts`"),
        ("min()", {"a": 1}, "'min' has no argument; fix: write min(x)"),
        ("max(a, key=a)", {"a": 1}, "'max' takes no named arguments"),
        ("abs(a, 1)", {"a": 1}, "'abs' takes one argument, got 2"),
        ("mim(a)", {"a": 1}, "no function 'mim'; fix: did you mean 'min'?"),
        ("(a / 0) / a", {"a": 1}, "'a / 0' divides by zero"),
        ("a + 1 / (2 - 2)", {"a": 1}, "is not a finite number"),
        ("10 ** 400 * a", {"a": 1}, "'10 ** 400' is not a finite number"),
        ("9" * 400, {"a": 1}, "is not a finite number"),
        ("(0 - 8) ** 0.5 * a", {"a": 1}, "'(0 - 8) ** 0.5' is not a finite number"),
        ("a", {"a": "1 / 0"}, "'1 / 0' is not a finite number"),
    ],
)
def test_anything_but_arithmetic_is_refused(value, counts, said):
    with pytest.raises(UsageError, match=None) as error:
        Formula("m", value, counts)

    assert said in str(error.value)


@pytest.mark.parametrize("bounds", [[1, 0], [0], ["a", "b"], [None, 1]])
def test_bounds_must_be_two_numbers(bounds):
    with pytest.raises(UsageError, match="are not two numbers"):
        Formula("m", "a", {"a": 1}, bounds=bounds)


def test_weighted_sums_are_distinguished_from_other_formulas():
    names = ["a", "b"]

    def weights(text):
        return Expression.parse(text, "test").linear_weights(names)

    assert weights("2 * a - b / 4") == [2.0, -0.25]
    assert weights("-(a + b) * 3") == [-3.0, -3.0]
    assert weights("2 ** 3 * a") == [8.0, 0.0]
    assert weights("max(1, 2) * a / sqrt(4)") == [1.0, 0.0]
    assert weights("a * b") is None
    assert weights("a + 1") is None
    assert weights("min(a, b)") is None


def test_a_count_without_an_expression_is_refused():
    # What YAML reads from `counts: {both: min(a, b)}`.
    with pytest.raises(
        UsageError, match=r"count 'b\)' is not an expression.*into quotes"
    ):
        Formula("both", "both", {"both": "a", "b)": None})


def test_names_that_are_not_words_stand_in_backquotes():
    expression = Expression.parse("min(`judge(role=a)`, 2 * `wer[none].S`) + c", "here")

    assert expression.names() == ["judge(role=a)", "wer[none].S", "c"]
    values = {"judge(role=a)": 5.0, "wer[none].S": 2.0, "c": 1.0}
    assert expression.evaluate(values.__getitem__) == 5.0


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, True),
        (True, True),
        (0.5, True),
        (10**400, False),
        (float("inf"), False),
        (float("nan"), False),
        ("1", False),
        (1j, False),
    ],
)
def test_numbers_are_those_that_a_float_can_hold(value, expected):
    assert is_number(value) is expected


@pytest.mark.parametrize("count", ["huge", "x ** 0.5", "(x * 1e9) ** 40"])
def test_a_count_that_is_no_finite_number_is_left_out(tmp_path, count):
    def negative(sample, output):
        return assay.Score({"x": -8.0}, details={"huge": 10**400})

    odd = Formula("odd", "c / n", {"c": count, "n": 1})

    result = run(tmp_path / "a", ["yes"], [odd], negative)

    assert not [row for row in result if row.metric == "odd" and row.value is not None]
    assert not any("Error" in note for note in result.notes)


def test_rounds_can_be_counted(tmp_path):
    share = Formula(
        "share",
        "points / (5 * rounds_asked)",
        {"points": "sum(rounds)", "rounds_asked": "count(rounds)"},
        bounds=(0, 1),
    )

    row = only(run(tmp_path / "a", ["yes"], [share], turns), "share")

    # First rounds have 1 to 5 points alike, second rounds always 4.
    assert row.value == pytest.approx((3 + 4) / 10)
    assert row.flags == ()


def test_a_number_outside_its_bounds_is_flagged(tmp_path):
    wrong = Formula(
        "wrong",
        "points / dialogues",
        {"points": "sum(rounds)", "dialogues": 1},
        bounds=(0, 1),
    )

    row = only(run(tmp_path / "a", ["yes"], [wrong], turns), "wrong")

    assert row.value == 7.0
    assert row.flags == ("outside its bounds 0 … 1",)

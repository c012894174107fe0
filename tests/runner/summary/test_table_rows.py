"""Rows of the table: finite numbers, failures said, and no two of one name."""

import json
import math
from typing import ClassVar

import pytest

import assay
from assay.core import Abilities, Outcome, Output, Result, Score
from assay.runner.summary.table_rows import SummarizedRow, checked_result, unique_rows

ROWS = [
    {
        "id": str(n),
        "question": f"q{n}",
        "answer": "x" if n % 2 else "y",
        "topic": "ab"[n % 2],
        "lvl": "cd"[n // 3],
    }
    for n in range(6)
]


class Says:
    """Says x, whatever it is asked; fails where it is told to."""

    abilities = Abilities()
    identity: ClassVar = {"x": 1}

    def __init__(self, failing=()):
        self.failing = failing

    def generate(self, requests):
        failed = Output.failed("exception", "down", retryable=False)
        return [
            failed if request.id in self.failing else Output.of("x")
            for request in requests
        ]


def run(tmp_path, failing=(), **changes):
    task = assay.Task("t", **{"dataset": ROWS, "tags": ("topic", "lvl"), **changes})
    return assay.run(
        task, Says(failing), on_error="continue", output=str(tmp_path / "run")
    )


def strict_summary(tmp_path):
    """The summary as a parser that follows the standard reads it."""

    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    return json.loads(
        (tmp_path / "run" / "summary.json").read_text(), parse_constant=refuse
    )


class Odd:
    """A scorer of the whole set whose numbers are not all numbers."""

    def score_all(self, rows):
        return {"a": math.nan, "b": {"c": math.inf}, "d": 0.5}


def test_numbers_of_a_set_that_are_not_finite_are_null_and_flagged(tmp_path):
    result = run(tmp_path, scorers=Odd())

    found = {row.metric: (row.value, row.flags) for row in result}
    assert found == {
        "Odd.a": (None, ("not a finite number: nan",)),
        "Odd.b.c": (None, ("not a finite number: inf",)),
        "Odd.d": (0.5, ()),
    }
    assert [row["value"] for row in strict_summary(tmp_path)["results"]] == [
        None,
        None,
        0.5,
    ]


def test_a_set_without_a_finite_number_is_flagged_and_left_out_of_the_mean(
    tmp_path,
):
    class Once:
        calls = 0

        def score_all(self, rows):
            type(self).calls += 1
            return math.nan if self.calls == 1 else 0.5

    (result,) = run(tmp_path, scorers=Once(), epochs=3)

    assert (result.value, result.details["sets"]) == (0.5, [None, 0.5, 0.5])
    assert result.flags == ("not a finite number: nan", "1 of 3 sets have no value")
    strict_summary(tmp_path)


def test_a_result_of_ones_own_is_written_as_json(tmp_path):
    def odd(records, context):
        inner = Result("t", "m", "v", math.inf, 1, None)
        yield Result(
            "t",
            "m",
            "v",
            math.nan,
            6,
            6,
            stderr=math.nan,
            ci=(0.0, math.inf),
            bounds=(-math.inf, 1.0),
            details={"a": [1.0, math.nan]},
            groups={"g": {"h": inner}},
        )

    (result,) = run(tmp_path, scorers="exact_match", summarizers=[odd])

    assert (result.value, result.stderr, result.ci, result.bounds) == (
        None,
        None,
        None,
        None,
    )
    assert result.flags == ("not a finite number: nan",) and result.details == {
        "a": [1.0, None]
    }
    assert result.groups["g"]["h"].value is None
    strict_summary(tmp_path)


def test_a_result_of_finite_numbers_is_left_as_it_is():
    result = Result(
        "t", "m", "v", 0.5, 6, 6, ci=(0.0, 1.0), details={"a": [1.0]}, flags=("said",)
    )

    assert checked_result(result) is result


def test_failures_are_shown_beside_every_number(tmp_path):
    def share(records):
        return sum(record.value or 0.0 for record in records) / len(records)

    (result,) = run(
        tmp_path, failing=("1", "2"), scorers="exact_match", summarizers=[share]
    )

    assert result.flags == ("unresolved 33.3%: in doubt",)


def test_two_summarizers_of_one_name_are_named_by_their_options(tmp_path):
    means = [{"name": "group_mean", "by": "topic"}, {"name": "group_mean", "by": "lvl"}]

    result = run(tmp_path, scorers="exact_match", summarizers=means)

    found = {row.metric: set(row.groups) for row in result}
    assert found == {"overall(by=topic)": {"topic"}, "overall(by=lvl)": {"lvl"}}


def test_two_means_with_another_reducer_are_two_rows(tmp_path):
    def by_epoch(sample, output):
        return 1.0

    means = [
        {"name": "mean", "reducer": "max"},
        {"name": "mean", "reducer": "majority"},
    ]

    result = run(tmp_path, scorers=by_epoch, summarizers=means, epochs=2)

    assert [row.metric for row in result] == [
        "by_epoch(reducer=max)",
        "by_epoch(reducer=majority)",
    ]


def test_one_summarizer_named_twice_speaks_once(tmp_path):
    entry = {"name": "group_mean", "by": "topic"}

    result = run(
        tmp_path,
        scorers="exact_match",
        summarizers=[entry, dict(entry), "mean", "mean"],
    )

    assert [row.metric for row in result] == ["overall", "exact_match"]


def made(name, value, code=None, **options):
    return SummarizedRow(name, options, code, Result("t", "m", "v", value, 1, 1))


@pytest.mark.parametrize(
    ("rivals", "metrics"),
    [
        ([made("mean", 0.5), made("grouped", 0.5)], ["v"]),
        ([made("mean", 0.5), made("mine.py:odd", 0.6)], ["v(mean)", "v(mine.py:odd)"]),
        ([made("odd", 0.5, code=len), made("odd", 0.5, code=max)], ["v(#1)", "v(#2)"]),
        ([made("mean", None), made("grouped", None)], ["v"]),
        (
            [made("w", 0.5, by="a", x="b"), made("w", 0.5, by="c", x="d")],
            ["v(by=a x=b)", "v(by=c x=d)"],
        ),
    ],
)
def test_rows_of_one_name_are_one_where_they_agree_and_are_labelled_where_they_differ(
    rivals, metrics
):
    assert [row.metric for row in unique_rows(rivals)] == metrics


@pytest.mark.parametrize("given", [Score(None), Score({}), {}, Score({"a": None})])
def test_a_score_without_a_value_is_left_out_and_the_row_says_it(tmp_path, given):
    def half(sample, output):
        return given if sample.id in ("1", "2") else 1.0

    result = run(tmp_path, scorers=half)

    assert result.status == "partial" and (result[0].n, result[0].value) == (4, 1.0)
    assert "2 without a value left out" in result[0].flags


def test_a_scorer_may_say_why_there_is_no_value(tmp_path):
    def half(sample, output):
        return Score(None, Outcome.DATA_ERROR) if sample.id == "1" else 1.0

    (result,) = run(tmp_path, scorers=half)

    assert dict(result.outcomes) == {"scored": 5, "data_error": 1}

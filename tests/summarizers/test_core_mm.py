"""CORE-MM's score: highly complex questions count twice."""

import pytest
from summary_context import Context

from assay.core import ScoreRecord
from assay.summarizers.benchmark_tables import core_mm


def record(
    number: int, value: float, complexity: str, category: str = "deductive"
) -> ScoreRecord:
    tags = {"category": category, "complexity": complexity}
    return ScoreRecord(
        "t",
        "m",
        str(number),
        "mmvet",
        "",
        {"mmvet": value},
        "scored",
        tags=tags,
        order=number,
    )


def test_a_highly_complex_question_counts_twice():
    records = [
        record(1, 1.0, "Moderate"),
        record(2, 0.5, "High"),
        record(3, 0.0, "high", "analogical"),
    ]

    overall, *by_category = core_mm(records, Context(scorer="mmvet", n_expected=3))

    assert overall.value == pytest.approx(100 * (1.0 + 2 * 0.5 + 2 * 0.0) / (1 + 2 + 2))
    assert {one.metric: one.value for one in by_category} == {
        "core_mm.analogical": 0.0,
        "core_mm.deductive": pytest.approx(100 * 2 / 3),
    }
    assert [(one.n, one.n_expected) for one in by_category] == [(1, 1), (2, 2)]


def test_a_question_of_unknown_complexity_counts_once_and_is_reported():
    overall, *_ = core_mm(
        [record(1, 1.0, ""), record(2, 0.0, "High")],
        Context(scorer="mmvet", n_expected=2),
    )

    assert overall.value == pytest.approx(100 / 3)
    assert overall.details["complexity_unknown"] == 1

"""Repeated answers: METRICS §3.4, and the reducers."""

import math
from statistics import variance

import pytest

from assay.summarizers.statistics import decompose, mean_interval, reduce_repeats
from assay.summarizers.statistics.repeats import modes

ROWS = [(1, 1, 1, 0), (0, 0, 1, 0), (1, 1, 1, 1), (0, 1, 0, 1), (0, 0, 0, 0)]


def test_the_decomposition_matches_the_published_vector():
    parts = decompose(ROWS)

    assert parts.estimate.value == 0.5
    assert parts.within == pytest.approx(0.166667, abs=1e-6)
    assert parts.between == pytest.approx(0.114583, abs=1e-6)
    assert parts.estimate.stderr == pytest.approx(0.176777, abs=1e-6)
    assert parts.stderr_at_infinity == pytest.approx(0.151383, abs=1e-6)
    assert parts.icc == pytest.approx(0.407407, abs=1e-6)
    assert parts.estimate.n == 5


def test_counting_every_answer_as_independent_would_be_too_sure():
    naive = mean_interval([answer for row in ROWS for answer in row])

    assert naive.stderr == pytest.approx(0.114708, abs=1e-6)


def test_the_advice_gives_both_numbers():
    assert (
        "more epochs would cut SE from 0.177 to at most 0.151" in decompose(ROWS).advice
    )


def test_the_advice_recommends_questions_when_answers_never_vary():
    assert decompose([(1, 1), (0, 0), (1, 1)]).advice.endswith("add questions")


def test_noise_that_explains_everything_leaves_nothing_between_questions():
    parts = decompose([(1, 0), (0, 1), (1, 0)])

    assert (parts.between, parts.stderr_at_infinity, parts.icc) == (0.0, 0.0, 0.0)


def test_one_answer_each_cannot_be_decomposed_and_says_so():
    parts = decompose([(1,), (0,), (1,)])

    assert (parts.within, parts.between, parts.icc, parts.stderr_at_infinity) == (
        None,
        None,
        None,
        None,
    )
    assert parts.estimate.method == "clopper-pearson"
    assert "at least 2 epochs" in parts.advice


def test_one_question_has_no_standard_error():
    parts = decompose([(1, 0, 1)])

    assert parts.estimate.stderr is None
    assert parts.within == pytest.approx(1 / 3)
    assert "add questions" in parts.advice


def test_perfect_answers_are_a_proportion_of_questions_not_a_point():
    estimate = decompose([(1, 1)] * 10).estimate

    assert (estimate.low, estimate.high) == pytest.approx((0.691503, 1), abs=1e-6)


def test_questions_may_have_different_numbers_of_answers():
    parts = decompose([(1, 0, 1, 1), (0, 0), (1,)])

    assert parts.within == pytest.approx((0.75 + 0.0) / 4)
    assert parts.between == pytest.approx(
        variance([0.75, 0.0, 1.0]) - parts.within * (1 / 4 + 1 / 2 + 1) / 3
    )


def test_clusters_of_questions_widen_the_error():
    parts = decompose(ROWS, ["x", "x", "y", "y", "z"])

    assert parts.estimate.clusters == 3
    noise = parts.within / 4 / 5
    assert parts.stderr_at_infinity == pytest.approx(
        math.sqrt(parts.estimate.stderr**2 - noise)
    )


def test_no_questions_or_no_answers_are_errors():
    with pytest.raises(ValueError, match="no questions"):
        decompose([])
    with pytest.raises(ValueError, match="no answers"):
        decompose([(1, 0), ()])


@pytest.mark.parametrize(
    ("reducer", "value"),
    [
        ("mean", 0.25),
        ("max", 1.0),
        ("majority", 0.0),
        ("pass@2", 0.5),
        ("pass^2", 0.0),
        ("pass@1", 0.25),
    ],
)
def test_each_reducer_makes_one_value_of_the_repeats(reducer, value):
    assert reduce_repeats([0, 1, 0, 0], reducer).value == pytest.approx(value)


def test_a_tied_majority_is_reported_and_depends_on_no_order():
    reduced = reduce_repeats([1, 0, 0, 1], "majority")

    assert (reduced.value, reduced.tied) == (0.5, True)
    assert reduce_repeats([1, 0, 1], "majority").tied is False


def test_modes_of_answers_keep_all_that_tie():
    assert modes(["B", "A", "A", "B", "C"]) == ["B", "A"]
    assert modes([]) == []


def test_reducers_refuse_what_they_cannot_reduce():
    with pytest.raises(ValueError, match=r"unknown reducer 'best'.*pass@5"):
        reduce_repeats([1], "best")
    with pytest.raises(ValueError, match="must be 0 or 1"):
        reduce_repeats([0.5, 1], "pass@1")
    with pytest.raises(ValueError, match="k=3 needs at least 3"):
        reduce_repeats([0, 1], "pass@3")

"""Scores: what a scorer may return, and which outcomes count how."""

import pytest

from assay.core import COUNTED_AS_ZERO, UNRESOLVED, Outcome, Score, as_score
from assay.core.score import WITH_VALUE


@pytest.mark.parametrize(
    ("given", "value"),
    [(True, 1.0), (0, 0.0), (0.25, 0.25), ({"a": 1, "b": False}, {"a": 1.0, "b": 0.0})],
)
def test_numbers_truth_values_and_named_numbers_are_scores(given, value):
    assert as_score(given) == Score(value)


def test_a_number_of_another_library_is_a_score():
    class Number:
        def item(self):
            return 0.5

    assert as_score(Number()).value == 0.5


@pytest.mark.parametrize("given", ["0.5", None, [1], object()])
def test_anything_else_is_refused(given):
    with pytest.raises(TypeError, match="a scorer must return"):
        as_score(given)


def test_every_outcome_is_scored_counted_as_zero_or_unresolved():
    assert set(Outcome) == WITH_VALUE | COUNTED_AS_ZERO | UNRESOLVED
    assert not COUNTED_AS_ZERO & UNRESOLVED
    assert not WITH_VALUE & (COUNTED_AS_ZERO | UNRESOLVED)


def test_an_unreadable_answer_counts_as_0():
    assert Score.unparsed(rule="none") == Score(
        0.0, Outcome.UNPARSED, details={"rule": "none"}
    )
    assert Score.refused().outcome is Outcome.REFUSED

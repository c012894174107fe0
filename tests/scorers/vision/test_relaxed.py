"""Relaxed accuracy, with the published rule's own edges."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core import Outcome, Output, Sample, UsageError
from assay.scorers.vision.relaxed import RelaxedAccuracy, relaxed_equal


@pytest.mark.parametrize(
    ("target", "answer", "right"),
    [
        ("100", "104", True),
        ("100", "105", True),
        ("100", "106", False),
        ("0", "0.0", False),
        ("10%", "0.1", True),
        ("10", "10%", False),
        ("1,000", "1000", False),
        ("Yes", "yes", True),
        ("2010", "2015", True),
    ],
)
def test_the_rule_decides_as_published(target, answer, right):
    assert relaxed_equal(target, answer) is right


def test_any_target_will_do():
    score = RelaxedAccuracy()(Sample(id="a", target=("red", "50")), Output.of(" 51 "))

    assert (score.value, score.answer) == (1.0, "51")


def test_a_sample_without_target_is_a_fault_of_the_data():
    assert (
        RelaxedAccuracy()(Sample(id="a"), Output.of("1")).outcome is Outcome.DATA_ERROR
    )


def test_a_negative_tolerance_is_refused():
    with pytest.raises(UsageError, match="a tolerance of at least 0"):
        RelaxedAccuracy(tolerance=-0.1)


@settings(deadline=None)
@given(
    st.one_of(
        st.text(max_size=20), st.floats(allow_nan=False, allow_infinity=False).map(str)
    )
)
def test_the_target_itself_is_right(answer):
    assert relaxed_equal(answer, answer)

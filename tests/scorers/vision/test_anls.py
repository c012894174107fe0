"""ANLS, by its definition and as VLMEvalKit computes it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core import Outcome, Output, Sample, UsageError
from assay.scorers.vision.anls import Anls


def score(answer, *targets, v="definition"):
    return Anls(v)(Sample(id="a", target=targets), Output.of(answer)).value


@pytest.mark.parametrize(
    ("target", "answer", "value"),
    [
        ("hello world", "hello word", 0.909091),
        ("Hello  World", "hello world", 1.0),
        ("abc", "xyz", 0.0),
        ("ab", "ax", 0.5),
        ("kitten", "sitting", 0.571429),
        ("$1,234", "1234", 0.666667),
        ("abc  def", "abcdef", 0.857143),
    ],
)
def test_the_definition_gives_the_known_values(target, answer, value):
    assert score(answer, target) == pytest.approx(value, abs=1e-6)


def test_extra_blanks_raise_the_score_only_in_the_variant_that_counts_them():
    assert score("abcdef", "abc  def", v="vlmevalkit") == 0.875


def test_the_best_target_counts():
    assert score("kitten", "xyz", "kitten", "mitten") == 1.0


def test_a_sample_without_target_is_a_fault_of_the_data():
    assert Anls()(Sample(id="a"), Output.of("x")).outcome is Outcome.DATA_ERROR


def test_an_unknown_variant_is_refused():
    with pytest.raises(UsageError, match="does not know v='raw'"):
        Anls("raw")


@settings(deadline=None)
@given(st.text(max_size=30), st.text(max_size=30))
def test_the_score_is_symmetric_and_stays_in_range(one, other):
    value = score(one, other)

    assert value == 0.0 or 0.5 <= value <= 1.0
    assert value == score(other, one)


@settings(deadline=None)
@given(st.text(max_size=30))
def test_the_target_itself_is_right(answer):
    assert score(answer, answer) == 1.0

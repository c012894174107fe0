"""What every text scorer asks first."""

import pytest

from assay.core import AllOf, Candidate, Outcome, Output, Sample, Score
from assay.scorers.answers import accepted, last_of, named, no_answer, no_target, shown
from assay.scorers.text.match import ExactMatch


@pytest.mark.parametrize(
    ("target", "texts"),
    [
        ("a", ("a",)),
        (("a", "b"), ("a", "b")),
        (7, ("7",)),
        (None, ()),
        (("4", None), ("4",)),
        ((None, 7, None), ("7",)),
        ((None,), ()),
        ((None, {"text": "x"}), ()),
        (AllOf(("red", ("azure", "blue"))), ("red azure",)),
    ],
)
def test_targets_of_every_kind_are_texts_to_compare_with(target, texts):
    assert accepted(Sample(id="a", target=target)) == texts


@pytest.mark.parametrize(
    ("text", "reason", "outcome"),
    [
        ("", "length", Outcome.TRUNCATED),
        (" \n", "length", Outcome.TRUNCATED),
        ("", "content_filter", Outcome.REFUSED),
        ("", "stop", None),
        ("", None, None),
        ("x", "length", None),
    ],
)
def test_only_a_truncated_or_filtered_empty_output_is_not_an_answer(
    text, reason, outcome
):
    score = no_answer(Output.of(text, stop_reason=reason))

    assert (score.outcome if score else None) is outcome


def test_an_output_without_candidates_is_an_empty_answer():
    assert no_answer(Output()) is None
    assert no_answer(Output((Candidate((), "length"),))) is not None


def test_a_missing_target_names_the_sample():
    assert no_target(Sample(id="q7")).details["reason"] == "sample 'q7' has no target"


@pytest.mark.parametrize(("answer", "value"), [("4", 1.0), ("None", 0.0), ("", 0.0)])
def test_a_null_among_answers_is_ignored(answer, value):
    assert (
        ExactMatch()(Sample(id="a", target=("4", None)), Output.of(answer)).value
        == value
    )


def test_a_target_of_nulls_alone_is_a_fault_of_the_data():
    score = ExactMatch()(Sample(id="q7", target=(None, None)), Output.of("None"))

    assert score.outcome is Outcome.DATA_ERROR
    assert (
        score.details["reason"] == "the target of sample 'q7' is not text: (None, None)"
    )


def test_a_judge_does_not_see_nulls_among_answers():
    assert shown(Sample(id="a", target=("4", None))) == ("4",)


def test_an_empty_output_counts_zero_under_each_name_of_a_scorer():
    assert named(Score.unparsed(), "a", "b").value == {"a": 0.0, "b": 0.0}


def test_the_last_of_nothing_is_none():
    assert (last_of([]), last_of(iter("abc"))) == (None, "c")

"""Bars and scales: the share of values that reach a bar, and values moved to another scale."""

import pytest
from summary_context import Context, record

from assay.core import SummarizerError
from assay.summarizers.threshold import Rescaled, Threshold


def by_metric(summarizer, records, **context):
    return {r.metric: r for r in summarizer(records, Context(**context))}


def test_both_the_share_that_reaches_the_bar_and_the_mean_are_given():
    records = [
        record("a", 0.2),
        record("b", 0.5),
        record("c", 0.9),
        record("d", None, "model_error"),
    ]

    results = by_metric(Threshold(bar=0.5), records)

    assert results["exact_match>=0.5"].value == pytest.approx(2 / 3)
    assert results["exact_match>=0.5"].interval == "clopper-pearson"
    assert results["exact_match>=0.5"].bounds == (0.5, 0.75)
    assert results["exact_match"].value == pytest.approx(1.6 / 3)


def test_a_strict_bar_is_not_reached_by_a_value_on_it():
    assert (
        by_metric(Threshold(bar=0.5, inclusive=False), [record("a", 0.5)])[
            "exact_match>0.5"
        ].value
        == 0.0
    )


def test_where_lower_is_better_the_share_below_the_bar_counts_and_more_of_it_is_better():
    records = [record("a", 0.1), record("b", 0.9), record("c", 0.0, "unparsed")]

    share = by_metric(Threshold(bar=0.2), records, higher_is_better=False)[
        "exact_match<=0.2"
    ]

    assert (share.value, share.higher_is_better) == (pytest.approx(1 / 3), True)


def test_an_unread_answer_does_not_reach_a_bar_of_zero():
    assert (
        by_metric(Threshold(bar=0.0), [record("a", 0.0, "unparsed")])[
            "exact_match>=0"
        ].value
        == 0.0
    )


def test_ratings_move_to_a_hundred_and_an_unread_answer_stays_at_zero():
    records = [record("a", 10.0), record("b", 5.5), record("c", 0.0, "unparsed")]

    result = by_metric(Rescaled(low=1, high=10), records, bounds=(1.0, 10.0))[
        "exact_match"
    ]

    assert (result.value, result.parsed_value) == (50.0, 75.0)


def test_a_power_bends_the_scale():
    assert (
        by_metric(Rescaled(to=1.0, power=2.0), [record("a", 0.5)])["exact_match"].value
        == 0.25
    )


def test_a_value_off_the_scale_is_an_error_that_names_the_fix():
    with pytest.raises(
        SummarizerError, match="7 is outside 1 … 5; fix: give the scale"
    ):
        by_metric(Rescaled(low=1, high=5), [record("a", 7.0)])


def test_a_scale_without_extent_is_refused():
    with pytest.raises(SummarizerError, match="low < high"):
        Rescaled(low=1, high=1)


def test_no_records_give_rows_without_values():
    assert by_metric(Threshold(bar=0.5), [])["exact_match>=0.5"].value is None


def test_a_label_keeps_the_rescaled_mean_apart_from_the_plain_one():
    results = by_metric(
        Rescaled(high=5, power=2.0, label="rescaled"),
        [record("a", 4.0)],
        bounds=(0.0, 5.0),
    )

    assert {metric: result.value for metric, result in results.items()} == {
        "exact_match.rescaled": pytest.approx(64.0)
    }

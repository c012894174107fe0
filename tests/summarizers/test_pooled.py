"""Ratios of sums: counts are added before they are divided."""

import pytest
from summary_context import Context, record

from assay.summarizers.pooled import Pooled

WER = Pooled(
    numerator=("substitutions", "deletions", "insertions"),
    denominator="reference_words",
)
CONTEXT = Context(scorer="wer", higher_is_better=False, bounds=None, n_expected=4)


def heard(id, errors, words, outcome="scored", **more):
    details = {
        "substitutions": errors,
        "deletions": 0,
        "insertions": 0,
        "reference_words": words,
    }
    return record(id, errors / words, outcome, details=details, **more)


def only(records, context=CONTEXT, summarizer=WER):
    (result,) = summarizer(records, context)
    return result


def test_a_long_sample_weighs_more_than_a_short_one():
    result = only([heard("a", 1, 1), heard("b", 0, 9)])

    assert (result.metric, result.value, result.n) == ("wer", 0.1, 2)
    assert result.details["mean_of_samples"] == 0.5
    assert result.higher_is_better is False


def test_the_interval_is_the_same_whatever_the_seed():
    records = [heard(str(i), i % 4, 10) for i in range(30)]

    first, again = only(records), only(records)

    assert first.ci == again.ci
    assert first.ci[0] < first.value < first.ci[1]
    assert first.ci == only(records, Context(scorer="wer", seed=8)).ci


def test_clusters_are_drawn_whole():
    records = [
        heard(str(i), 5 * (i % 20 < 10), 10, cluster=str(i // 10)) for i in range(40)
    ]

    clustered = only(records)
    independent = only([heard(str(i), 5 * (i % 20 < 10), 10) for i in range(40)])

    assert clustered.clusters == 4
    assert clustered.stderr > 1.5 * independent.stderr


def test_epochs_of_one_sample_are_one_unit():
    result = only([heard(str(i // 2), 1, 10, epoch=i % 2) for i in range(8)])

    assert (result.n, result.clusters) == (4, 4)


def test_answers_without_counts_are_left_out_and_flagged():
    result = only(
        [
            heard("a", 1, 10),
            record("b", 0.0, "refused"),
            record("c", None, "model_error"),
        ]
    )

    assert (result.value, result.n) == (0.1, 1)
    assert result.flags == (
        "unresolved 33.3%: in doubt",
        "1 answers have no counts and are left out",
    )
    assert result.interval == "none: one sample"


def test_tags_have_their_own_ratio():
    result = only(
        [
            heard("a", 1, 10, tags={"set": "clean"}),
            heard("b", 9, 10, tags={"set": "other"}),
        ]
    )

    assert {name: group.value for name, group in result.groups["set"].items()} == {
        "clean": 0.1,
        "other": 0.9,
    }


@pytest.mark.parametrize(
    ("records", "why"),
    [
        ([], "no sample has counts"),
        ([record("a", 0.0, details={"e": 1, "w": 0})], "the denominator is 0"),
    ],
)
def test_where_nothing_can_be_divided_there_is_no_value(records, why):
    result = only(records, summarizer=Pooled("e", "w", metric="rate"))

    assert (result.metric, result.value, result.interval) == (
        "rate",
        None,
        f"none: {why}",
    )


def test_a_group_counts_each_sample_once_however_often_it_was_asked():
    records = [
        heard(id, 1, 10, epoch=epoch, tags={"kind": "k"})
        for epoch in range(3)
        for id in "ab"
    ]

    group = only(records).groups["kind"]["k"]

    assert (group.n, group.value) == (2, 0.1)

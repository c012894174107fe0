"""Groups: right only if all of their samples are."""

import pytest
from summary_context import Context, record

from assay.summarizers.grouped import Grouped


def summarize(records, context=None, **options):
    return {r.metric: r for r in Grouped(**options)(records, context or Context())}


def test_a_group_is_right_only_if_all_its_samples_are():
    records = [record("a0", 1.0, group="a"), record("a1", 1.0, group="a")]
    records += [record("b0", 1.0, group="b"), record("b1", 0.0, group="b")]

    results = summarize(records)

    assert (results["exact_match.grouped"].value, results["exact_match.grouped"].n) == (
        0.5,
        2,
    )
    assert (results["exact_match"].value, results["exact_match"].n) == (0.75, 4)


def test_samples_of_a_group_are_one_cluster_of_the_mean_over_samples():
    records = [
        record(f"{g}{i}", float(g in "ab"), group=g) for g in "abcd" for i in range(3)
    ]

    assert summarize(records)["exact_match"].clusters == 4


def test_an_unread_answer_makes_its_group_wrong():
    records = [record("a0", 1.0, group="a"), record("a1", 0.0, "unparsed", group="a")]

    assert summarize(records)["exact_match.grouped"].value == 0.0


@pytest.mark.parametrize("outcome", ["model_error", "judge_error"])
def test_a_group_that_lacks_a_verdict_is_incomplete_and_not_a_smaller_group(outcome):
    records = [
        record("a0", 1.0, group="a"),
        record("a1", None, outcome, group="a"),
        record("b0", 0.0, group="b"),
    ]

    result = summarize(records)["exact_match.grouped"]

    assert (result.value, result.n, result.n_expected) == (0.0, 1, 2)
    assert result.outcomes == {"incomplete": 1, "scored": 1}
    assert result.bounds == (0.0, 0.5)


def test_a_group_of_another_size_than_expected_is_incomplete():
    records = [
        record("a0", 1.0, group="a"),
        record("b0", 1.0, group="b"),
        record("b1", 1.0, group="b"),
    ]

    result = summarize(records, expected_size=2)["exact_match.grouped"]

    assert (result.value, result.n) == (1.0, 1)
    assert result.details["group_size"] == [1, 2]


def test_epochs_of_a_group_are_judged_apart_and_then_averaged():
    records = [
        record(f"a{i}", float(i == 0 or epoch), group="a", epoch=epoch)
        for epoch in (0, 1)
        for i in (0, 1)
    ]

    result = summarize(records)["exact_match.grouped"]

    assert (result.value, result.n) == (0.5, 1)


def test_where_lower_is_better_the_worst_of_a_group_counts():
    records = [record("a0", 0.1, group="a"), record("a1", 0.4, group="a")]

    results = summarize(records, Context(higher_is_better=False))

    assert results["exact_match.grouped"].value == 0.4


def test_no_records_give_a_row_without_a_value():
    assert summarize([])["exact_match.grouped"].value is None


def test_the_label_names_the_number():
    assert "exact_match.circular" in summarize(
        [record("a", 1.0, group="a")], label="circular"
    )


def test_a_question_that_lacks_a_rotation_of_its_options_is_incomplete_and_flagged():
    whole = [
        record(f"a{turn}", 1.0, group="a", details={"options": 2}) for turn in range(2)
    ]
    cut = [
        record(f"b{turn}", 1.0, group="b", details={"options": 4}) for turn in range(3)
    ]

    result = summarize([*whole, *cut], expected_size="options")["exact_match.grouped"]

    assert (result.value, result.n, result.n_expected) == (1.0, 1, 2)
    assert result.outcomes == {"scored": 1, "incomplete": 1}
    assert "1 of 2 groups lack some of their samples" in result.flags


def test_the_size_is_known_from_any_sample_of_the_group_that_says_it():
    records = [
        record("a0", None, "model_error", group="a"),
        record("a1", 1.0, group="a", details={"options": 3}),
    ]

    result = summarize(records, expected_size="options")["exact_match.grouped"]

    assert result.value is None
    assert "1 of 1 groups lack some of their samples" in result.flags

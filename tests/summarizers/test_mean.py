"""The mean: the headline, its failures, its interval, its repeats and its breakdowns."""

import json
import math

import pytest
from summary_context import Context, record

from assay.core import Result, SummarizerError
from assay.summarizers.mean import Mean


def only(records, **context) -> Result:
    (result,) = Mean()(records, Context(**context))
    return result


class Lazy:
    """A sequence of records that are made when read, and that counts how often it was read."""

    def __init__(self, records):
        self.records, self.passes = records, 0

    def __iter__(self):
        self.passes += 1
        return iter(self.records)


def test_an_unreadable_answer_counts_as_wrong():
    records = [
        record("a", 1.0),
        record("b", 1.0),
        record("c", 0.0, "unparsed"),
        record("d", 0.0, "truncated"),
    ]

    result = only(records, n_expected=4)

    assert (result.value, result.n, result.n_expected) == (0.5, 4, 4)
    assert result.parsed_value == 1.0
    assert result.outcomes == {"scored": 2, "unparsed": 1, "truncated": 1}


def test_an_unread_answer_counts_as_zero_whatever_value_it_has():
    assert only([record("a", 1.0), record("b", 0.7, "refused")]).value == 0.5


def test_a_sample_without_a_verdict_leaves_the_denominator_and_widens_the_bounds():
    records = [
        record("a", 1.0),
        record("b", 0.0),
        record("c", None, "model_error"),
        record("d", None, "data_error"),
    ]

    result = only(records, n_expected=4)

    assert (result.value, result.n) == (0.5, 2)
    assert result.bounds == (0.25, 0.75)
    assert result.flags == ("unresolved 50.0%: in doubt",)


def test_few_unresolved_samples_are_flagged_mildly_and_very_few_not_at_all():
    def flags(errors):
        good = [record(str(i), 1.0) for i in range(1000 - errors)]
        return only(
            good + [record(f"e{i}", None, "judge_error") for i in range(errors)]
        ).flags

    assert flags(31) == ("unresolved 3.1%",)
    assert flags(10) == ()


def test_bounds_stay_unknown_where_the_scale_is():
    records = [record("a", 3.0), record("c", None, "model_error")]

    assert only(records, bounds=None).bounds is None
    assert only(records, bounds=(0.0, 1.0)).bounds is None, (
        "a value outside of the declared scale disproves it"
    )


def test_a_binary_mean_has_the_interval_of_a_share_and_a_graded_one_that_of_a_score():
    binary = only([record(str(i), float(i < 5)) for i in range(10)])
    graded = only([record(str(i), i / 10) for i in range(10)])

    assert binary.interval == "clopper-pearson"
    assert binary.ci == pytest.approx((0.1871, 0.8129), abs=1e-4)
    assert graded.interval == "score"
    assert (
        only([record(str(i), i / 10) for i in range(10)], bounds=None).interval == "t"
    )


def test_a_rating_where_all_got_one_is_not_a_proportion():
    result = only([record(str(i), 1.0) for i in range(5)], bounds=(1.0, 5.0))

    assert result.interval == "exact, no spread seen"
    assert result.ci == pytest.approx((1.0, 1 + 4 * (1 - 0.025 ** (1 / 5))))


def test_clusters_widen_the_error_as_in_the_published_vector():
    scores = [1, 1, 1, 0, 0, 0, 1, 0, 1, 1, 0, 1]
    clusters = "000111223344"
    records = [
        record(str(i), float(s), cluster=c)
        for i, (s, c) in enumerate(zip(scores, clusters, strict=True))
    ]

    result = only(records)

    assert result.stderr == pytest.approx(0.216005, abs=1e-6)
    assert (result.clusters, result.interval) == (5, "score on clusters")
    assert result.flags == ("interval unreliable: 5 clusters",)


def test_a_sample_without_a_cluster_is_its_own_cluster_and_is_mentioned():
    records = [
        record("a", 1.0),
        record("b", 1.0, cluster="x"),
        record("c", 0.0, cluster="x"),
    ]

    result = only(records)

    assert (result.clusters, result.flags[0]) == (2, "1 sample without a cluster")


def test_epochs_are_reduced_by_sample_first_as_in_the_published_vector():
    rows = ["1110", "0010", "1111", "0101", "0000"]
    records = Lazy(
        [
            record(f"q{i}", float(row[k]), epoch=k)
            for k in range(4)
            for i, row in enumerate(rows)
        ]
    )

    result = only(records, n_expected=5)

    assert (result.value, result.n) == (0.5, 5)
    assert result.stderr == pytest.approx(0.176777, abs=1e-6)
    epochs = result.details["epochs"]
    assert epochs["stderr_at_infinity"] == pytest.approx(0.151383, abs=1e-6)
    assert epochs["icc"] == pytest.approx(0.407407, abs=1e-6)
    assert epochs["advice"].startswith(
        "more epochs would cut SE from 0.177 to at most 0.151"
    )
    assert records.passes == 2


def test_epochs_without_a_verdict_widen_the_bounds_of_their_sample_only():
    records = [
        record("a", 1.0),
        record("a", None, "model_error", epoch=1),
        record("b", 0.0),
        record("b", 0.0, epoch=1),
    ]

    result = only(records)

    assert (result.value, result.n) == (0.5, 2)
    assert result.bounds == (0.25, 0.5)


def test_the_run_chooses_the_reducer_of_epochs():
    records = [
        record("a", 1.0),
        record("a", 0.0, epoch=1),
        record("b", 0.0),
        record("b", 0.0, epoch=1),
    ]

    assert only(records, options={"reducer": "max"}).value == 0.5
    assert only(records, options={"reducer": "pass^2"}).value == 0.0


def test_more_answers_asked_for_than_there_are_is_a_clear_error():
    records = [record("a", 1.0), record("a", 0.0, epoch=1)]

    with pytest.raises(
        SummarizerError, match=r"exact_match.*k=5 needs at least 5 answers"
    ):
        only(records, options={"reducer": "pass@5"})


def test_a_sample_that_lost_an_answer_is_unresolved_for_pass_at_k_not_an_error():
    records = [
        record("a", 1.0),
        record("a", None, "model_error", epoch=1),
        record("b", 1.0),
        record("b", 0.0, epoch=1),
    ]

    result = only(records, options={"reducer": "pass^2"})

    assert (result.value, result.n, result.bounds) == (0.0, 1, (0.0, 0.5))


def test_each_named_value_is_a_metric_and_an_unread_answer_counts_in_all_of_them():
    both = {"gsm8k.strict": 0.0, "gsm8k.flexible": 1.0}
    records = [record("a", both), record("b", {"gsm8k": 0.0}, "unparsed")]

    results = {r.metric: r for r in Mean()(records, Context(scorer="gsm8k"))}

    assert {name: (r.value, r.n) for name, r in results.items()} == {
        "gsm8k.strict": (0.0, 2),
        "gsm8k.flexible": (0.5, 2),
    }


def test_a_metric_that_a_sample_does_not_have_is_left_out_for_it():
    records = [
        record("a", {"x": 1.0}),
        record("b", {"x": 0.0, "y": 1.0}),
        record("c", {"x": 0.0}, "unparsed"),
    ]

    results = {r.metric: r for r in Mean()(records, Context())}

    assert (
        results["y"].value,
        results["y"].n,
        results["y"].details["without_value"],
    ) == (1.0, 1, 2)
    assert results["x"].n == 3


def test_a_value_that_is_not_a_number_is_unresolved_not_zero():
    records = [
        record("a", 1.0),
        record("b", math.nan),
        record("c", {"exact_match": None}),
    ]

    result = only(records)

    assert (result.value, result.n, result.bounds) == (1.0, 1, (1 / 3, 1.0))


def test_where_lower_is_better_an_unread_answer_counts_as_the_worst():
    records = [
        record("a", 0.0),
        record("b", 0.0, "unparsed"),
        record("c", None, "model_error"),
    ]

    bounded = only(records, higher_is_better=False)
    unbounded = only(records, higher_is_better=False, bounds=None)

    assert (bounded.value, bounded.bounds) == (0.5, (2 / 3, 1 / 3))
    assert (unbounded.value, unbounded.n) == (0.0, 1)
    assert "unread answers left out: their worst value is not known" in unbounded.flags


def test_where_lower_is_better_the_interval_is_not_turned_around():
    graded = only(
        [record(str(i), value) for i, value in enumerate((0.1, 0.9, 0.9, 1.0))],
        higher_is_better=False,
    )
    equal = only([record(str(i), 0.4) for i in range(4)], higher_is_better=False)

    assert (
        0.0 < graded.ci[0] < graded.value < graded.ci[1] < 1.0
        and graded.interval == "score"
    )
    share = 1 - 0.025 ** (1 / 4)
    assert equal.ci == pytest.approx((0.4 - share * 0.4, 0.4 + share * 0.6))


@pytest.mark.parametrize(
    ("bounds", "worst"), [((1.0, 5.0), 1.0), ((-1.0, 1.0), -1.0), ((0.0, 100.0), 0.0)]
)
def test_an_unread_answer_counts_as_the_worst_of_its_scale(bounds, worst):
    unread = [record("a", 0.0, "truncated"), record("b", 0.0, "unparsed")]

    alone, beside = (
        only(unread, bounds=bounds),
        only([*unread, record("c", bounds[1])], bounds=bounds),
    )

    assert alone.value == worst and alone.ci[0] == worst < alone.ci[1]
    assert beside.value == pytest.approx((2 * worst + bounds[1]) / 3)
    assert beside.details.get("unread_counts_as", 0.0) == worst


def test_an_unread_answer_is_left_out_if_values_below_0_occur():
    records = [record("a", -3.0), record("b", 5.0), record("c", 0.0, "unparsed")]

    result = only(records, bounds=None)

    assert (result.value, result.n) == (1.0, 2)
    assert "unread answers left out: their worst value is not known" in result.flags


def test_equal_values_on_an_open_scale_have_no_interval_and_say_why():
    result = only(
        [record(str(i), 4.0, tags={"kind": "x"}) for i in range(9)], bounds=None
    )

    assert (result.value, result.ci, result.stderr, result.interval) == (
        4.0,
        None,
        None,
        "none: no spread seen",
    )
    assert result.groups["kind"]["x"].ci is None
    assert result.details["groups"]["kind"]["macro"] == {
        "value": 4.0,
        "stderr": None,
        "ci": None,
    }


def test_equal_values_of_a_tag_have_a_width_where_the_scale_ends():
    result = only([record(str(i), 0.4, tags={"kind": "x"}) for i in range(9)])

    low, high = result.groups["kind"]["x"].ci
    assert 0.0 < low < 0.4 < high < 1.0


def test_the_interval_of_a_tag_stays_within_the_scale():
    values = {"a": 0.0, "b": 0.0, "c": 2 / 3}
    result = only(
        [record(name, value, tags={"kind": "x"}) for name, value in values.items()]
    )

    low, high = result.groups["kind"]["x"].ci
    assert (
        0.0 <= low < 2 / 9 < high <= 1.0
        and result.groups["kind"]["x"].interval == "score"
    )
    assert result.details["groups"]["kind"]["micro"]["ci"][0] >= 0.0 and result.details[
        "scale"
    ] == [0.0, 1.0]


def test_ties_among_options_are_counted_for_each_metric_and_flagged():
    values = {"exact_match.acc": 1.0, "exact_match.acc_norm": 0.0}
    records = [
        record("a", values, details={"ties": {"acc": 1}}),
        record("b", values, details={"ties": {"acc": 3}}),
    ]
    records.append(record("c", values, details={"ties": {}}))

    plain, normalized = Mean()(records, Context())

    assert (
        plain.details["ties"] == 2
        and "2 ties: the first option was taken" in plain.flags
    )
    assert "ties" not in normalized.details and normalized.flags == ()


def test_each_tag_has_a_line_and_both_macro_and_micro_mean():
    records = [record(f"l{i}", 1.0, tags={"subject": "law"}) for i in range(3)]
    records += [
        record("m", 0.0, tags={"subject": "maths"}),
        record("e", None, "model_error", tags={"subject": "art"}),
    ]

    result = only(records)

    law, maths, art = (
        result.groups["subject"][name] for name in ("law", "maths", "art")
    )
    assert (law.value, law.n, law.outcomes, law.interval) == (
        1.0,
        3,
        {"scored": 3},
        "clopper-pearson",
    )
    assert (maths.value, maths.interval) == (0.0, "none: one sample")
    assert (art.value, art.n, art.outcomes) == (None, 0, {"model_error": 1})
    assert result.details["groups"]["subject"]["macro"]["value"] == 0.5
    assert result.details["groups"]["subject"]["micro"]["value"] == 0.75


def test_a_tag_that_names_every_sample_is_not_broken_down():
    records = [record(str(i), 1.0, tags={"file": str(i)}) for i in range(1001)]

    result = only(records)

    assert result.groups == {}
    assert result.details["groups"]["file"]["values"] == 1001


def test_where_nothing_was_scored_there_is_a_row_without_a_value():
    failed = only([record("a", None, "model_error")], n_expected=3)
    empty = only([], n_expected=3)

    assert (failed.value, failed.metric, failed.interval) == (
        None,
        "exact_match",
        "none: nothing was scored",
    )
    assert failed.bounds == (0.0, 1.0)
    assert (empty.value, empty.n, empty.n_expected) == (None, 0, 3)


def test_one_sample_has_no_error_bar():
    result = only([record("a", 1.0)])

    assert (result.stderr, result.ci, result.interval) == (
        None,
        None,
        "none: one sample",
    )


def test_records_are_read_once_where_there_are_no_epochs():
    records = Lazy([record("a", 1.0), record("b", 0.0)])

    only(records)

    assert records.passes == 1


def test_the_details_of_a_result_are_plain_json():
    records = [
        record(str(i // 2), 1.0, epoch=i % 2, tags={"subject": "law"}) for i in range(6)
    ]

    assert json.loads(json.dumps(dict(only(records).details)))["epochs"]["answers"] == 6


def test_an_answer_unread_by_one_rule_keeps_the_value_of_another():
    records = [
        record("a", {"ours": 1.0, "official": 1.0}),
        record("b", {"ours": 0.0, "official": 1.0}, "unparsed"),
        record("c", {"ours": 0.0, "official": 0.0}, "refused"),
        record("d", {"ours": 0.0, "official": 1.0}, "truncated"),
    ]

    values = {result.metric: result.value for result in Mean()(records, Context())}

    assert values == {"ours": 0.25, "official": 0.75}


def test_an_unread_answer_has_the_worst_value_of_every_metric_its_scorer_gives_none():
    records = [
        record("a", {"wer": 0.2, "ser": 0.5}),
        record("b", {"wer": 0.0, "ser": 0.0}, "unparsed"),
    ]

    results = Mean()(records, Context(higher_is_better=False, bounds=(0.0, 1.0)))

    assert {result.metric: result.value for result in results} == {
        "wer": 0.6,
        "ser": 0.75,
    }


def test_a_round_that_a_dialogue_does_not_have_is_not_missing():
    long, short = (
        {"overall": 1.0, "round_1": 1.0, "round_2": 1.0},
        {"overall": 0.0, "round_1": 0.0},
    )
    records = [record("a", long), record("b", short), record("c", None, "judge_error")]

    results = {
        result.metric: result for result in Mean()(records, Context(n_expected=3))
    }

    assert {name: (one.n, one.n_expected) for name, one in results.items()} == {
        "overall": (2, 3),
        "round_1": (2, 3),
        "round_2": (1, 2),
    }
    assert not any("without a value" in flag for flag in results["round_2"].flags)


def test_a_metric_that_is_not_a_round_is_missing_where_a_sample_lacks_it():
    records = [record("a", {"speed": 1.0, "taste": 1.0}), record("b", {"speed": 0.0})]

    results = {
        result.metric: result for result in Mean()(records, Context(n_expected=2))
    }

    assert (results["taste"].n, results["taste"].n_expected) == (1, 2)

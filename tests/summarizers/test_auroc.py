"""The area under the ROC curve."""

from dataclasses import replace

import pytest
from summary_context import Context, record

from assay.summarizers.classification import auroc, estimate_auroc
from assay.summarizers.statistics import clopper_pearson


def result_of(records):
    (result,) = auroc(records, Context())
    return result


def verdict(id, gold, said, **details):
    return record(
        id, float(gold == said), answer=said, details={"gold": gold, **details}
    )


def test_the_area_is_the_share_of_correctly_ordered_pairs_with_ties_as_half():
    # (.9 > .1, .9 > .4, .4 > .1 and .4 = .4): three and a half of four pairs.
    assert (
        estimate_auroc([0.1, 0.4, 0.4, 0.9], [False, False, True, True]).value == 0.875
    )


def test_one_class_alone_has_no_area():
    assert estimate_auroc([0.1, 0.9], [True, True]) is None
    assert result_of([verdict("a", "yes", "yes")]).value is None


def test_delongs_standard_error_is_that_of_the_two_classes_added():
    # Placements of the yes: 1/2, 1, 1; of the no: 1, 2/3. Variances 1/12 and 1/18.
    estimate = estimate_auroc(
        [0.3, 0.6, 0.8, 0.1, 0.5], [True, True, True, False, False]
    )

    assert estimate.value == pytest.approx(5 / 6)
    assert estimate.stderr == pytest.approx((1 / 12 / 3 + 1 / 18 / 2) ** 0.5)


def test_without_probabilities_the_verdicts_are_ranked_and_an_unread_one_is_wrong():
    records = [
        verdict("a", "yes", "yes"),
        verdict("b", "no", "no"),
        verdict("c", "yes", "no"),
    ]
    unread = record("d", 0.0, "unparsed", details={"gold": "no"})

    assert result_of(records).value == 0.75
    # Unread where no is right ranks as yes: of four pairs one is right and two are tied.
    assert result_of([*records, unread]).value == 0.5


def test_probabilities_are_ranked_where_there_are_some():
    records = [
        verdict(str(n), gold, "no", score=score)
        for n, (gold, score) in enumerate(
            [("yes", 0.4), ("yes", 0.3), ("no", 0.2), ("no", 0.1)]
        )
    ]

    assert result_of(records).value == 1.0


def test_a_sample_without_an_answer_is_left_out_and_counted():
    records = [
        verdict("a", "yes", "yes"),
        verdict("b", "no", "no"),
        record("c", None, "model_error"),
    ]

    result = result_of(records)

    assert (result.value, result.n, result.outcomes["model_error"]) == (1.0, 2, 1)
    assert result.flags


def test_repeats_of_a_sample_are_one_sample():
    golds = ["yes", "yes", "yes", "no", "no", "no"]
    scores = [0.9, 0.7, 0.2, 0.6, 0.3, 0.1]
    once = [
        verdict(str(n), gold, "no", score=s)
        for n, (gold, s) in enumerate(zip(golds, scores, strict=True))
    ]

    one, eight = (
        result_of(once),
        result_of([replace(each, epoch=epoch) for epoch in range(8) for each in once]),
    )

    assert (eight.value, eight.ci, eight.n) == (one.value, one.ci, 6)


def test_answers_that_differ_rank_by_their_mean():
    records = [
        verdict("a", "yes", "no", score=0.9),
        replace(verdict("a", "yes", "no", score=0.1), epoch=1),
        verdict("b", "no", "no", score=0.4),
    ]

    assert (result_of(records).value, result_of(records).n) == (1.0, 2)


def test_a_verdict_without_a_gold_is_left_out_and_flagged():
    records = [
        verdict("a", "yes", "yes"),
        verdict("b", "no", "no"),
        record("c", 0.0, "refused"),
    ]

    assert result_of(records).flags == ("1 answers have no counts and are left out",)


def test_where_no_answer_could_be_read_there_is_no_area():
    unread = [
        record(str(n), 0.0, "unparsed", details={"gold": gold})
        for n, gold in enumerate(["yes", "no"] * 10)
    ]

    result = result_of(unread)

    assert (result.value, result.ci, result.interval) == (
        None,
        None,
        "none: no answer could be read",
    )
    assert result.outcomes == {"unparsed": 20}


@pytest.mark.parametrize("wrong", [False, True])
def test_an_area_at_an_end_of_its_scale_has_a_width(wrong):
    said = {"yes": "no", "no": "yes"} if wrong else {"yes": "yes", "no": "no"}
    records = [
        verdict(str(n), gold, said[gold]) for n, gold in enumerate(["yes", "no"] * 10)
    ]

    result = result_of(records)

    assert result.value == float(not wrong) and result.ci == pytest.approx(
        clopper_pearson(10 * (not wrong), 10)
    )


def test_the_interval_of_an_area_stays_within_its_scale():
    estimate = estimate_auroc(
        [0.9, 0.8, 0.7, 0.2, 0.1, 0.75], [True, True, True, False, False, False]
    )

    assert 0.0 < estimate.low < estimate.value < estimate.high < 1.0

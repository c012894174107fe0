"""Intervals of corpus metrics and ratios of sums."""

import math

import numpy as np
import pytest

from assay.summarizers.statistics import (
    POSITIVE,
    clopper_pearson,
    estimate_mean,
    jackknife,
    ratio_estimate,
    share_interval,
)
from assay.summarizers.statistics.jackknife import jackknife_spread
from assay.summarizers.statistics.proportions import unseen_spread

ERRORS = [0, 2, 1, 0, 3, 0, 1, 1, 0, 4, 1, 0, 2, 0, 1, 0]
WORDS = [9, 12, 8, 10, 14, 7, 11, 9, 10, 13, 8, 12, 10, 9, 11, 10]


def mean(sums):
    with np.errstate(divide="ignore"):
        return sums[:, 0] / sums[:, 1]


def test_the_standard_error_of_a_mean_is_the_plain_one():
    values = [0.2, 0.9, 0.4, 0.7, 0.1, 0.8, 0.3]

    found = jackknife([[value, 1.0] for value in values], mean)

    assert found.stderr == pytest.approx(estimate_mean(values).stderr)
    assert (found.low, found.high) == pytest.approx(
        (estimate_mean(values).low, estimate_mean(values).high)
    )


def test_the_standard_error_of_a_ratio_comes_from_leaving_out_each_sample():
    found = ratio_estimate(ERRORS, WORDS)

    n, errors, words = len(WORDS), sum(ERRORS), sum(WORDS)
    without = [(errors - e) / (words - w) for e, w in zip(ERRORS, WORDS, strict=True)]
    centre = sum(without) / n
    assert found.stderr == pytest.approx(
        math.sqrt((n - 1) / n * sum((x - centre) ** 2 for x in without))
    )
    assert found.value == errors / words


def test_an_error_rate_has_an_interval_on_the_logarithm():
    found = ratio_estimate(ERRORS, WORDS)

    assert found.method == "jackknife log t"
    assert found.low > 0.0 and found.value / found.low == pytest.approx(
        found.high / found.value
    )


def test_a_score_out_of_a_hundred_stays_within_its_scale():
    found = jackknife(
        [[99.0, 1.0], [95.0, 1.0], [100.0, 1.0], [100.0, 1.0]] * 4,
        mean,
        ends=(0.0, 100.0),
    )

    assert 90.0 < found.low < found.value < found.high < 100.0


def test_a_ratio_that_may_be_negative_has_students_t():
    found = ratio_estimate([-0.2, 0.4, 0.1, 0.3, 0.2, 0.5] * 3, [1.0] * 18)

    assert found.method == "jackknife t" and found.low < found.value < found.high


def test_a_share_of_questions_is_one_of_trials_that_weigh_differently():
    right, asked = [1.0, 2.0, 0.0, 3.0] * 10, [1.0, 3.0, 1.0, 3.0] * 10

    found = ratio_estimate(right, asked, ends=(0.0, 1.0))

    assert found.method == "score" and 0.0 < found.low < 0.75 < found.high < 1.0


def test_clusters_that_differ_widen_the_interval():
    clusters = [i // 2 for i in range(16)]
    alike = [ERRORS[i // 2 * 2] for i in range(16)]

    assert (
        ratio_estimate(alike, WORDS, clusters).stderr
        > ratio_estimate(alike, WORDS).stderr
    )
    assert (
        ratio_estimate(alike, WORDS, clusters).unreliable
        == "interval unreliable: 8 clusters"
    )


def test_strata_keep_their_differences_out_of_the_error():
    rows = [[value, 1.0, 0.0, 0.0] for value in (0.1, 0.2, 0.15)] + [
        [0.0, 0.0, value, 1.0] for value in (0.8, 0.9)
    ]

    def both(sums):
        return (sums[:, 0] / sums[:, 1] + sums[:, 2] / sums[:, 3]) / 2

    found = jackknife(rows, both, strata=["a"] * 3 + ["b"] * 2)

    parts = [estimate_mean([0.1, 0.2, 0.15]).stderr, estimate_mean([0.8, 0.9]).stderr]
    assert found.stderr == pytest.approx(math.hypot(*parts) / 2)


def test_an_unknown_spread_has_no_interval():
    alike = ratio_estimate([1.0] * 5, [10.0] * 5)
    alone = ratio_estimate([1.0], [10.0])
    stratum = jackknife(
        [[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]], mean, strata=["a", "a", "b"]
    )
    torn = jackknife([[1.0, 1.0], [2.0, 0.0], [3.0, 0.0]], mean)

    assert [x.low for x in (alike, alone, stratum, torn)] == [None] * 4
    assert alike.method == "n/a: no spread seen" and alone.method == "n/a: one sample"
    assert (
        stratum.method == "n/a: one sample in a stratum"
        and torn.method == "n/a: undefined without one sample"
    )


def test_an_error_rate_of_two_samples_has_no_interval():
    two = ratio_estimate([1.0, 4.0], [6.0, 8.0])
    three = ratio_estimate([1.0, 4.0, 2.0], [6.0, 8.0, 9.0])
    mean_of_two = jackknife([[1.0, 1.0], [2.0, 1.0]], mean)

    assert two.method == "n/a: two samples" and two.low is None
    assert three.low is not None and mean_of_two.low is not None


def test_a_share_that_is_1_has_the_exact_interval_of_those_that_count():
    precision = ratio_estimate(
        [1.0] * 5 + [0.0] * 20, [1.0] * 5 + [0.0] * 20, ends=(0.0, 1.0)
    )

    f1 = ratio_estimate([2.0] * 5 + [0.0] * 20, [2.0] * 5 + [0.0] * 20, ends=(0.0, 1.0))

    assert (
        (precision.low, precision.high)
        == (f1.low, f1.high)
        == pytest.approx(clopper_pearson(5, 5))
    )
    assert precision.n == f1.n == 25


def test_a_ratio_of_right_or_wrong_answers_is_a_share():
    values, clusters = [1.0, 0.0, 1.0, 1.0] * 20, [i // 8 for i in range(80)]

    found, grouped = (
        ratio_estimate(values, [1.0] * 80, keys, ends=(0.0, 1.0))
        for keys in (None, clusters)
    )

    assert (found.low, found.high, found.method) == (
        *share_interval(60, 80)[0],
        "wilson",
    )
    assert (grouped.low, grouped.high) == pytest.approx(
        unseen_spread(0.75, 10, (0.0, 1.0))
    )


def test_the_order_of_samples_does_not_matter():
    forward, backward = (
        ratio_estimate(ERRORS, WORDS),
        ratio_estimate(ERRORS[::-1], WORDS[::-1]),
    )

    assert (forward.low, forward.high) == pytest.approx((backward.low, backward.high))


def test_counts_that_make_no_sense_are_errors():
    with pytest.raises(ValueError, match="2 numerators but 1 denominators"):
        ratio_estimate([1, 2], [1])
    with pytest.raises(ValueError, match="undefined on the full data"):
        ratio_estimate([1.0, 1.0], [0.0, 0.0])
    with pytest.raises(ValueError, match="finite"):
        jackknife([[math.nan, 1.0]], mean)
    with pytest.raises(ValueError, match="two strata"):
        jackknife([[1.0, 1.0]] * 3, mean, [0, 0, 1], ["a", "b", "b"])


def test_ten_thousand_samples_take_one_pass():
    rng = np.random.default_rng(0)
    calls = []

    def counted(sums):
        calls.append(len(sums))
        return mean(sums)

    found = jackknife(
        np.column_stack([rng.random(10_000), np.ones(10_000)]), counted, ends=POSITIVE
    )

    assert calls == [1, 10_000] and found.low < 0.5 < found.high


def test_an_error_rate_dominated_by_one_loop_is_flagged():
    words = [10] * 100
    plain = ratio_estimate([1, 0, 2, 0] * 25, words)
    looped = ratio_estimate([1, 0, 2, 0] * 24 + [1, 0, 2, 150], words)

    assert plain.unreliable == ""
    assert looped.unreliable == "interval unreliable: one sample makes 66% of the value"


def test_a_score_on_a_closed_scale_is_not_flagged_for_one_odd_sample():
    assert (
        ratio_estimate([1.0] * 99 + [0.0], [1.0] * 100, ends=(0.0, 1.0)).unreliable
        == ""
    )


def test_how_many_units_show_a_spread_does_not_depend_on_its_size():
    without, labels = np.array([0.0, 1.0, 3.0]), np.zeros(3, int)

    plain, tiny = (
        jackknife_spread(without * scale, labels, 3) for scale in (1.0, 1e-100)
    )

    assert (tiny.seen, tiny.df) == pytest.approx((plain.seen, plain.df))

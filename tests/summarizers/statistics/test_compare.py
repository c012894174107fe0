"""Two models on the same samples: METRICS §3.5."""

import random

import numpy as np
import pytest

from assay.summarizers.statistics import compare_paired, unseen_spread


def scores(values):
    return {f"s{index}": float(value) for index, value in enumerate(values)}


A = scores("11101011011011010111")
B = scores("10101001011001000111")
F1_A = scores([0.5, 0.8, 0.9, 0.3, 1, 0.7, 0.6, 0.85])
F1_B = scores([0.4, 0.7, 0.95, 0.3, 0.8, 0.6, 0.65, 0.7])


def test_binary_scores_match_the_published_vector():
    result = compare_paired(A, B)

    assert (result.mean_a, result.mean_b) == pytest.approx((0.7, 0.5))
    assert (result.wins, result.losses, result.n) == (4, 0, 20)
    assert result.difference.value == pytest.approx(0.2)
    assert result.difference.stderr == pytest.approx(0.091766, abs=1e-6)
    assert result.unpaired_stderr == pytest.approx(0.155597, abs=1e-6)
    assert result.t_p == pytest.approx(0.042086, abs=1e-6)
    assert (result.p, result.test) == (0.125, "McNemar exact")
    half = 2.0930240544 * 0.0917662935
    assert (result.difference.low, result.difference.high) == pytest.approx((0.2 - half, 0.2 + half), abs=1e-6)


def test_continuous_scores_match_the_published_vector():
    result = compare_paired(F1_A, F1_B)

    assert (result.p, result.test) == (28 / 256, "sign-flip exact")
    assert result.t_p == pytest.approx(0.073237, abs=1e-6)


def test_swapping_the_models_only_turns_the_sign():
    there, back = compare_paired(F1_A, F1_B), compare_paired(F1_B, F1_A)

    assert back.difference.value == pytest.approx(-there.difference.value)
    assert (back.p, back.t_p) == pytest.approx((there.p, there.t_p))


def test_the_order_of_records_does_not_matter_even_with_draws():
    draw = random.Random(1)
    a, b = scores([draw.random() for _ in range(60)]), scores([draw.random() for _ in range(60)])

    result = compare_paired(a, b)

    assert result.test == "sign-flip draws"
    assert compare_paired(dict(reversed(a.items())), b) == result


def test_clusters_move_together_in_interval_and_test():
    clusters = {key: index // 4 for index, key in enumerate(A)}

    result = compare_paired(A, B, clusters)

    assert result.difference.clusters == 5
    assert result.difference.method == "t on clusters"
    assert result.test == "sign-flip exact on clusters"
    # Three clusters moved, by 1, 1 and 2 wins: of the 8 ways to sign them two are as extreme.
    assert result.p == 2 / 8


def test_singleton_clusters_give_mcnemar_again():
    result = compare_paired(A, B, {key: key for key in A})

    assert result.p == 0.125
    assert result.difference.stderr == pytest.approx(0.091766, abs=1e-6)


def test_a_missing_cluster_key_names_the_sample():
    with pytest.raises(ValueError, match=r"sample 's0' has no cluster key \(20 of 20"):
        compare_paired(A, B, {})


def test_too_little_overlap_is_refused_unless_forced():
    part = {key: B[key] for key in list(B)[:18]}

    with pytest.raises(ValueError, match=r"only 18 of 20 samples are in both \(2 only in the first, 0 only in"):
        compare_paired(A, part)

    forced = compare_paired(A, part, force=True)
    assert (forced.n, forced.only_a, forced.only_b, forced.overlap) == (18, 2, 0, 0.9)


def test_an_overlap_of_exactly_95_percent_is_enough():
    part = {key: B[key] for key in list(B)[:19]}

    assert compare_paired(A, part).overlap == 0.95


def test_nothing_in_common_cannot_even_be_forced():
    with pytest.raises(ValueError, match="no sample in common"):
        compare_paired({"x": 1.0}, {"y": 1.0}, force=True)


def test_one_common_sample_has_no_interval():
    result = compare_paired({"x": 1.0}, {"x": 0.0})

    assert (result.difference.low, result.t_p, result.unpaired_stderr) == (None, None, None)
    assert result.p == 1.0


def test_equal_models_and_constant_gaps_have_no_t_test():
    assert compare_paired(A, A).t_p is None
    assert compare_paired(scores([1.5, 2.5, 3.5]), scores([1, 2, 3])).t_p is None


def test_differences_that_are_all_equal_are_not_certain():
    same = compare_paired(A, A).difference
    gap = compare_paired(scores([1.5, 2.5, 3.5]), scores([1, 2, 3])).difference
    grouped = compare_paired(A, A, {key: number // 4 for number, key in enumerate(A)}).difference

    assert (same.low, same.high) == pytest.approx(unseen_spread(0.0, 20, (-1.0, 1.0)))
    assert (gap.value, gap.low, gap.high) == (0.5, None, None)
    assert (grouped.low, grouped.high) == pytest.approx(unseen_spread(0.0, 5, (-1.0, 1.0)))


@pytest.mark.parametrize("kind", ["binary", "continuous", "clustered"])
def test_equal_models_are_called_different_at_most_as_often_as_promised(kind):
    rng = np.random.default_rng(5)
    runs, n, false_alarms = 1000, 40, 0

    for _ in range(runs):
        if kind == "continuous":
            a, b, clusters = rng.random(n), rng.random(n), None
        else:
            a, b = (rng.random((2, n)) < 0.6).astype(float)
            clusters = None
        if kind == "clustered":
            # Each model gets all of a cluster's samples right or wrong together.
            a, b = np.repeat(a[: n // 4], 4), np.repeat(b[: n // 4], 4)
            clusters = {f"s{i}": i // 4 for i in range(n)}
        false_alarms += compare_paired(scores(a), scores(b), clusters).p <= 0.05

    # 5 % promised; the simulation's own error is 0.7 points.
    assert false_alarms / runs <= 0.065


def test_a_difference_cannot_be_wider_than_its_scale():
    two = compare_paired({"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 1.0})
    clustered = compare_paired({"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 1.0}, {"a": "x", "b": "y"})
    rated = compare_paired({"a": 5.0, "b": 1.0}, {"a": 1.0, "b": 5.0}, bounds=(1.0, 5.0))

    assert (two.difference.low, two.difference.high) == (-1.0, 1.0)
    assert (clustered.difference.low, clustered.difference.high) == (-1.0, 1.0)
    assert (rated.difference.low, rated.difference.high) == (-4.0, 4.0)
    assert two.difference.method == "t, cut to bounds" and two.t_p == pytest.approx(1.0)


def test_a_scale_that_is_not_known_cuts_nothing():
    open_scale = compare_paired({"a": 0.5, "b": 0.25}, {"a": 0.25, "b": 0.5})
    outside = compare_paired({"a": 7.0, "b": 1.0}, {"a": 1.0, "b": 5.0}, bounds=(1.0, 5.0))

    assert open_scale.difference.low < -1 and outside.difference.high > 4


def test_ratings_that_are_all_one_are_not_right_or_wrong():
    assert compare_paired({"a": 1.0, "b": 1.0}, {"a": 1.0, "b": 1.0}, bounds=(1.0, 5.0)).test == "sign-flip exact"

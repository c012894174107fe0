"""Two models on the same samples: METRICS §3.5, and interval and p as two sides of one test."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.summarizers.statistics import compare_paired, paired_share_difference
from assay.summarizers.statistics.proportions import unseen_spread


def scores(values):
    return {f"s{index}": float(value) for index, value in enumerate(values)}


A = scores("11101011011011010111")
B = scores("10101001011001000111")
F1_A = scores([0.5, 0.8, 0.9, 0.3, 1, 0.7, 0.6, 0.85])
F1_B = scores([0.4, 0.7, 0.95, 0.3, 0.8, 0.6, 0.65, 0.7])


def excludes_zero(difference):
    return difference.low is not None and (difference.low > 0 or difference.high < 0)


def test_binary_scores_match_the_published_vector():
    result = compare_paired(A, B)

    assert (result.mean_a, result.mean_b) == pytest.approx((0.7, 0.5))
    assert (result.wins, result.losses, result.n) == (4, 0, 20)
    assert result.difference.value == pytest.approx(0.2)
    assert result.difference.stderr == pytest.approx(0.091766, abs=1e-6)
    assert (result.p, result.test) == (0.0625, "McNemar mid-p")
    assert result.difference == paired_share_difference(4, 0, 20)
    assert result.difference.low < 0


def test_continuous_scores_match_the_published_vector():
    result = compare_paired(F1_A, F1_B)

    assert result.test == "paired t"
    assert result.p == pytest.approx(0.073237, abs=1e-6)


def test_swapping_the_models_only_turns_the_sign():
    for a, b in ((A, B), (F1_A, F1_B)):
        there, back = compare_paired(a, b), compare_paired(b, a)

        assert back.difference.value == pytest.approx(-there.difference.value)
        assert (-back.difference.high, -back.difference.low) == pytest.approx(
            (there.difference.low, there.difference.high)
        )
        assert back.p == pytest.approx(there.p)


def test_the_order_of_records_does_not_matter():
    draw = random.Random(1)
    a, b = (
        scores([draw.random() for _ in range(60)]),
        scores([draw.random() for _ in range(60)]),
    )

    assert compare_paired(dict(reversed(a.items())), b) == compare_paired(a, b)


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 1.0])),
        min_size=2,
        max_size=80,
    ),
    st.sampled_from([0, 3, 7]),
)
def test_the_interval_of_right_or_wrong_scores_excludes_0_exactly_where_p_is_small(
    pairs, size
):
    a, b = scores(x for x, _ in pairs), scores(y for _, y in pairs)
    clusters = {key: index // size for index, key in enumerate(a)} if size else None

    result = compare_paired(a, b, clusters)

    if result.difference.low is not None:
        assert excludes_zero(result.difference) == (result.p < 0.05)
        assert (
            -1
            <= result.difference.low
            <= result.difference.value
            <= result.difference.high
            <= 1
        )


@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=2, max_size=60),
    st.sampled_from([0, 2, 5]),
    st.sampled_from([None, (0.0, 8.0)]),
)
def test_the_interval_of_graded_scores_excludes_0_exactly_where_p_is_small(
    pairs, size, bounds
):
    a, b = scores(x for x, _ in pairs), scores(y for _, y in pairs)
    clusters = {key: index // size for index, key in enumerate(a)} if size else None

    result = compare_paired(a, b, clusters, bounds=bounds)

    if result.difference.low is not None:
        assert excludes_zero(result.difference) == (result.p < 0.05)


@pytest.mark.parametrize(
    ("n", "level"), [(2, 0.95), (9, 0.8), (20, 0.9), (41, 0.95), (60, 0.99)]
)
def test_the_agreement_holds_at_every_level_and_for_every_outcome(n, level):
    for wins in range(n + 1):
        for losses in range(0, n + 1 - wins, 3):
            a = scores([1] * wins + [0] * losses + [1] * (n - wins - losses))
            b = scores([0] * wins + [1] * losses + [1] * (n - wins - losses))

            result = compare_paired(a, b, level=level)

            assert excludes_zero(result.difference) == (result.p < 1 - level - 1e-12)


def test_clusters_move_together_in_interval_and_test():
    clusters = {key: index // 4 for index, key in enumerate(A)}

    result = compare_paired(A, B, clusters)

    assert result.difference.clusters == 5
    assert result.difference.method == "t on clusters"
    assert result.test == "paired t on clusters"
    assert result.p > compare_paired(A, B).p
    assert result.difference.unreliable == "interval unreliable: 5 clusters"


def test_clusters_of_one_sample_each_are_none():
    assert compare_paired(A, B, {key: key for key in A}) == compare_paired(A, B)


def test_a_missing_cluster_key_names_the_sample():
    with pytest.raises(ValueError, match=r"sample 's0' has no cluster key \(20 of 20"):
        compare_paired(A, B, {})


def test_too_little_overlap_is_refused_unless_forced():
    part = {key: B[key] for key in list(B)[:18]}

    with pytest.raises(
        ValueError,
        match=r"only 18 of 20 samples are in both \(2 only in the first, 0 only in",
    ):
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

    assert result.difference.low is None
    assert result.p == 1.0


def test_equal_models_differ_by_chance():
    assert compare_paired(A, A).p == 1.0
    assert compare_paired(F1_A, F1_A).p == 1.0


def test_differences_that_are_all_equal_are_not_certain():
    same = compare_paired(A, A).difference
    gap = compare_paired(scores([1.5, 2.5, 3.5]), scores([1, 2, 3]))
    grouped = compare_paired(
        A, A, {key: number // 4 for number, key in enumerate(A)}
    ).difference
    rated = compare_paired(scores([3] * 20), scores([2] * 20), bounds=(1.0, 5.0))

    assert same.low < 0 < same.high
    assert (gap.difference.value, gap.difference.low, gap.difference.high) == (
        0.5,
        None,
        None,
    )
    # Three differences of one sign: a quarter of all signs is as extreme.
    assert gap.p == 0.25
    assert (grouped.low, grouped.high) == pytest.approx(
        unseen_spread(0.0, 5, (-1.0, 1.0))
    )
    assert (rated.difference.low, rated.difference.high) == pytest.approx(
        unseen_spread(1.0, 20, (-4.0, 4.0))
    )
    assert excludes_zero(rated.difference) and rated.p == pytest.approx(2 * 0.8**20)


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


def test_few_samples_that_differ_do_not_make_a_difference_certain():
    moved = compare_paired(
        scores([0.5] * 4 + [0.0] * 196), scores([0.0] * 200), bounds=(0.0, 1.0)
    )

    # The plain t says 0.045; of four differences of one sign an eighth is as extreme.
    assert moved.p > 0.05 and moved.difference.low < 0


def test_a_difference_cannot_be_wider_than_its_scale():
    two = compare_paired({"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 1.0})
    clustered = compare_paired(
        scores("1100"), scores("0011"), {"s0": "x", "s1": "x", "s2": "y", "s3": "y"}
    )
    rated = compare_paired(
        {"a": 5.0, "b": 1.0}, {"a": 1.0, "b": 5.0}, bounds=(1.0, 5.0)
    )

    assert -1.0 <= two.difference.low < two.difference.high <= 1.0
    assert (clustered.difference.low, clustered.difference.high) == (-1.0, 1.0)
    assert (rated.difference.low, rated.difference.high) == (-4.0, 4.0)
    assert (
        clustered.difference.method == "t on clusters, cut to bounds" and two.p == 1.0
    )


def test_a_scale_that_is_not_known_cuts_nothing():
    open_scale = compare_paired({"a": 0.5, "b": 0.25}, {"a": 0.25, "b": 0.5})
    outside = compare_paired(
        {"a": 7.0, "b": 1.0}, {"a": 1.0, "b": 5.0}, bounds=(1.0, 5.0)
    )

    assert open_scale.difference.low < -1 and outside.difference.high > 4


def test_ratings_that_are_all_one_are_not_right_or_wrong():
    assert (
        compare_paired(
            {"a": 1.0, "b": 1.0}, {"a": 1.0, "b": 1.0}, bounds=(1.0, 5.0)
        ).test
        == "paired t"
    )


def test_a_difference_that_a_few_samples_make_is_flagged():
    before = {str(n): 1.0 + n % 3 for n in range(40)}
    skewed = {**before, "0": 30.0, "1": 20.0}
    even = {key: value + (-1) ** int(key) for key, value in before.items()}

    flagged = compare_paired(skewed, before).difference
    plain = compare_paired(even, before).difference

    assert flagged.unreliable == "interval unreliable: skewed differences"
    assert plain.unreliable == ""

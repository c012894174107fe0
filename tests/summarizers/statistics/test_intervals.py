"""Intervals of means and proportions: METRICS §3.1–3.3, and their coverage by simulation (§4)."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.summarizers.statistics import (
    clopper_pearson,
    clustered_mean,
    compare_paired,
    estimate_mean,
    mean_interval,
    share_interval,
    wald,
    wilson,
)
from assay.summarizers.statistics.intervals import proportion
from assay.summarizers.statistics.proportions import unseen_spread

S = [1, 1, 1, 0, 1, 0, 1, 1, 0, 1]
CLUSTERED = [1, 1, 1, 0, 0, 0, 1, 0, 1, 1, 0, 1]
CLUSTERS = [0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4]

TABLE = [
    (7, 10, (0.415974, 0.984026), (0.396778, 0.892209), (0.347547, 0.933260)),
    (0, 10, (0, 0), (0, 0.277533), (0, 0.308497)),
    (10, 10, (1, 1), (0.722467, 1), (0.691503, 1)),
    (1, 1, (1, 1), (0.206549, 1), (0.025, 1)),
    (70, 100, (0.610183, 0.789817), (0.604151, 0.781051), (0.600185, 0.787594)),
    (95, 100, (0.907284, 0.992716), (0.888250, 0.978456), (0.887165, 0.983568)),
    (500, 1000, (0.469010, 0.530990), (0.469070, 0.530930), (0.468549, 0.531451)),
]


@pytest.mark.parametrize(("k", "n", "by_wald", "by_wilson", "exact"), TABLE)
def test_proportion_intervals_match_the_published_table(
    k, n, by_wald, by_wilson, exact
):
    assert wald(k, n) == pytest.approx(by_wald, abs=1e-6)
    assert wilson(k, n) == pytest.approx(by_wilson, abs=1e-6)
    assert clopper_pearson(k, n) == pytest.approx(exact, abs=1e-6)


def test_proportion_intervals_agree_with_statsmodels():
    proportions = pytest.importorskip("statsmodels.stats.proportion")

    for k, n in ((3, 17), (1, 400), (399, 400), (5000, 10_000)):
        assert wilson(k, n) == pytest.approx(
            proportions.proportion_confint(k, n, method="wilson"), abs=1e-9
        )
        assert clopper_pearson(k, n) == pytest.approx(
            proportions.proportion_confint(k, n, method="beta"), abs=1e-9
        )


def test_the_plain_mean_has_ddof_1_and_a_t_interval_that_may_leave_the_range():
    estimate = mean_interval(S, correct_skew=False)

    assert estimate.value == 0.7
    assert estimate.stderr == pytest.approx(0.152753, abs=1e-6)
    assert (estimate.low, estimate.high) == pytest.approx(
        (0.354450, 1.045550), abs=1e-6
    )


def test_a_z_interval_on_the_same_standard_error_is_narrower():
    stderr = mean_interval(S).stderr
    half = 1.959963985 * stderr

    assert (0.7 - half, 0.7 + half) == pytest.approx((0.400611, 0.999389), abs=1e-6)


def test_a_binary_mean_is_exact_for_few_samples_and_keeps_the_ddof_1_standard_error():
    estimate = estimate_mean(S)

    assert (estimate.low, estimate.high) == pytest.approx(
        (0.347547, 0.933260), abs=1e-6
    )
    assert estimate.stderr == pytest.approx(0.152753, abs=1e-6)
    assert (estimate.method, estimate.n, estimate.clusters) == (
        "clopper-pearson",
        10,
        None,
    )


def test_a_binary_mean_of_many_samples_gets_wilson():
    estimate = estimate_mean(S * 10)

    # Wilson's own upper bound is 0.781051: the exact one that 3.5 % of runs miss lies a little further out.
    assert (estimate.low, estimate.high) == pytest.approx(
        (0.604151, 0.781758), abs=1e-6
    )
    assert (estimate.method, estimate.n) == ("wilson", 100)


def test_a_mean_of_other_scores_gets_t():
    assert estimate_mean([0.5, 0.25, 1.0]).method == "t"


def test_a_rating_that_only_looks_binary_is_not_a_proportion_if_declared():
    estimate = estimate_mean([1, 1, 1, 0, 1], binary=False)

    assert estimate.method == "t"


def test_the_clustered_standard_error_has_the_small_sample_factor():
    naive, ours = mean_interval(CLUSTERED), estimate_mean(CLUSTERED, CLUSTERS)

    assert ours.value == pytest.approx(0.583333, abs=1e-6)
    assert naive.stderr == pytest.approx(0.148647, abs=1e-6)
    assert ours.stderr == pytest.approx(0.216005, abs=1e-6)
    # Without C / (C - 1) it would be the CR0 error of the paper.
    assert ours.stderr * math.sqrt(4 / 5) == pytest.approx(0.193200, abs=1e-6)
    assert (ours.n, ours.clusters, ours.method) == (12, 5, "score on clusters")


def test_the_numbers_other_systems_print_follow_from_ours():
    naive, ours = (
        mean_interval(CLUSTERED).stderr,
        estimate_mean(CLUSTERED, CLUSTERS).stderr,
    )

    # The Bernoulli formula divides by n instead of n - 1.
    assert mean_interval(S).stderr * math.sqrt(9 / 10) == pytest.approx(
        0.144914, abs=1e-6
    )
    # lmms-eval adds the cross terms of CR0 to a variance with ddof = 1.
    cross_terms = ours**2 * 4 / 5 - naive**2 * 11 / 12
    assert math.sqrt(naive**2 + cross_terms) == pytest.approx(0.197908, abs=1e-6)


def test_a_clustered_binary_mean_stays_within_its_scale_and_is_wider_than_a_share():
    ours = estimate_mean(CLUSTERED, CLUSTERS)

    assert (
        0.0 < ours.low < clopper_pearson(7, 12)[0]
        and clopper_pearson(7, 12)[1] < ours.high < 1.0
    )
    assert ours.unreliable == "interval unreliable: 5 clusters"


def test_clusters_of_one_size_on_an_open_scale_have_students_t():
    values, clusters = (
        [3.0, 5.0, 2.0, 7.0, 4.0, 9.0, 1.0, 3.0],
        [0, 0, 1, 1, 2, 2, 3, 3],
    )

    ours = estimate_mean(values, clusters, binary=False)

    t_of_three = 3.1824463
    assert ours.high - ours.value == pytest.approx(t_of_three * ours.stderr, abs=1e-6)
    assert ours.method == "t on clusters"


def test_a_spread_that_one_value_makes_has_few_degrees_of_freedom():
    plain, odd = mean_interval([1.0, 2.0] * 50), mean_interval([1.0] * 99 + [100.0])

    assert (plain.high - plain.value) / plain.stderr == pytest.approx(
        1.984217, abs=1e-5
    )
    assert (odd.high - odd.value) / odd.stderr > 4


def test_clusters_agree_with_statsmodels():
    linear_model = pytest.importorskip("statsmodels.api")
    scores = [0.2, 0.9, 0.4, 0.7, 0.1, 0.8, 0.3]
    groups = [0, 0, 1, 1, 1, 2, 3]

    fit = linear_model.OLS(scores, [1.0] * 7).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": True}
    )

    assert estimate_mean(scores, groups).stderr == pytest.approx(
        float(fit.bse[0]), abs=1e-9
    )


def test_clusters_that_all_agree_still_have_a_width():
    estimate = estimate_mean([1] * 12, CLUSTERS)

    assert (estimate.low, estimate.high) == pytest.approx(clopper_pearson(5, 5))
    assert estimate.method == "exact on clusters, no spread seen"


@pytest.mark.parametrize("ends", [None, (0.0, 3.0)])
def test_equal_values_on_a_scale_without_known_ends_have_no_interval(ends):
    estimate = estimate_mean([4.0] * 9, ends=ends)

    assert (estimate.value, estimate.low, estimate.high) == (4.0, None, None)
    assert estimate.method == "n/a: no spread seen"


def test_equal_values_on_a_scale_with_ends_have_an_interval_towards_both():
    estimate = estimate_mean([4.0] * 9, binary=False, ends=(1.0, 5.0))

    # None of 9 differs: Clopper and Pearson's upper bound is 1 - 0.025 ** (1 / 9) = 0.336267 of all others.
    assert (estimate.low, estimate.high) == pytest.approx(
        (4 - 0.336267 * 3, 4 + 0.336267), abs=1e-6
    )
    assert (estimate.stderr, estimate.method) == (0.0, "exact, no spread seen")


@pytest.mark.parametrize("n", [2, 9, 400])
def test_at_an_end_of_the_scale_the_interval_is_clopper_and_pearsons(n):
    assert unseen_spread(1.0, n, (0.0, 1.0)) == pytest.approx(clopper_pearson(n, n))
    assert unseen_spread(0.0, n, (0.0, 1.0)) == pytest.approx(clopper_pearson(0, n))


def test_values_that_differ_by_rounding_are_equal():
    assert (
        estimate_mean([0.1 + 0.2, 0.3, 0.3], ends=(0.0, 1.0)).method
        == "exact, no spread seen"
    )


def test_clusters_that_agree_while_their_samples_differ_have_a_width_too():
    pairs, clusters = [1, 0] * 4, [0, 0, 1, 1, 2, 2, 3, 3]

    estimate = estimate_mean(pairs, clusters)
    graded = estimate_mean([0.4] * 8, clusters, ends=(0.0, 1.0))

    assert (estimate.low, estimate.high) == pytest.approx(
        unseen_spread(0.5, 4, (0.0, 1.0))
    )
    assert (graded.low, graded.high) == pytest.approx(unseen_spread(0.4, 4, (0.0, 1.0)))
    assert estimate.method == graded.method == "exact on clusters, no spread seen"


@pytest.mark.parametrize("n", [5, 9, 30])
def test_samples_that_all_agree_mislead_in_at_most_5_percent_of_runs(n):
    scale = (1.0, 3.0, 5.0)
    worst = 0.0
    for first in range(21):
        for second in range(21 - first):
            shares = (first / 20, second / 20, (20 - first - second) / 20)
            truth = sum(
                share * value for share, value in zip(shares, scale, strict=True)
            )
            intervals = [unseen_spread(value, n, (1.0, 5.0)) for value in scale]
            missed = [not low - 1e-9 <= truth <= high + 1e-9 for low, high in intervals]
            worst = max(
                worst, sum(s**n for s, miss in zip(shares, missed, strict=True) if miss)
            )

    assert 0 < worst <= 0.05


@pytest.mark.parametrize(
    "estimate", [estimate_mean([1]), estimate_mean([0.3]), proportion([0])]
)
def test_one_sample_has_an_unknown_error_rather_than_zero(estimate):
    assert (estimate.stderr, estimate.low, estimate.high) == (None, None, None)
    assert estimate.method == "n/a: one sample"


def test_one_cluster_has_no_error_either():
    estimate = estimate_mean([1, 0, 1], ["p", "p", "p"])

    assert (estimate.value, estimate.stderr, estimate.low) == (
        pytest.approx(2 / 3),
        None,
        None,
    )
    assert (estimate.n, estimate.clusters, estimate.method) == (
        3,
        1,
        "n/a: one cluster",
    )


def test_a_sample_without_its_cluster_key_is_an_error():
    with pytest.raises(ValueError, match="value 1 has no cluster key"):
        estimate_mean([1, 0, 1], ["p", None, "q"])
    with pytest.raises(ValueError, match="value 2 has no cluster key"):
        estimate_mean([1, 0, 1], [1.0, 2.0, math.nan])
    with pytest.raises(ValueError, match="3 values but 2 cluster keys"):
        estimate_mean([1, 0, 1], ["p", "q"])


def test_values_that_cannot_be_averaged_are_errors():
    with pytest.raises(ValueError, match="nothing to estimate"):
        estimate_mean([])
    with pytest.raises(ValueError, match="value 1 is nan"):
        estimate_mean([1.0, math.nan])
    with pytest.raises(ValueError, match="values of 0 or 1"):
        proportion([0.5, 1])
    with pytest.raises(ValueError, match="0 <= k <= n"):
        wilson(3, 2)


scores = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40)


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_stays_in_the_unit_interval_and_holds_the_share(counts):
    k, n = counts

    low, high = wilson(k, n)

    assert 0.0 <= low <= k / n <= high <= 1.0
    assert low < high


def test_a_share_of_clusters_of_one_sample_each_is_a_share():
    plain, clustered = estimate_mean(S), estimate_mean(S, range(10))

    assert (clustered.low, clustered.high, clustered.clusters) == (
        plain.low,
        plain.high,
        10,
    )


@given(scores)
def test_singleton_clusters_give_the_plain_standard_error(values):
    plain, clustered = (
        mean_interval(values),
        clustered_mean(values, range(len(values)), binary=False),
    )

    assert clustered.stderr == pytest.approx(plain.stderr, rel=1e-9, abs=1e-12)
    assert (clustered.low is None) == (plain.low is None)
    assert plain.low is None or clustered.low == pytest.approx(
        plain.low, rel=1e-9, abs=1e-9
    )


@given(scores, st.randoms(use_true_random=False))
def test_the_order_of_samples_does_not_matter(values, shuffler):
    rows = [(value, index % 3) for index, value in enumerate(values)]
    mixed = rows.copy()
    shuffler.shuffle(mixed)

    assert estimate_mean([v for v, _ in rows]) == estimate_mean([v for v, _ in mixed])
    assert clustered_mean(*zip(*rows, strict=True)) == clustered_mean(
        *zip(*mixed, strict=True)
    )


@pytest.mark.parametrize("n", [30, 100, 1000])
@pytest.mark.parametrize("p", [0.02, 0.5, 0.98])
def test_the_default_binary_interval_covers_the_truth_about_95_percent_of_the_time(
    n, p
):
    numpy = pytest.importorskip("numpy")
    runs = 4000
    # One binomial draw stands for n samples: the interval sees only their sum.
    successes = numpy.random.default_rng(n).binomial(n, p, size=runs).tolist()

    hits = sum(
        low <= p <= high for (low, high), _ in (share_interval(k, n) for k in successes)
    )

    # Counts are whole, so no interval covers exactly 95 % at every p: at n = 100, p = 0.02 it is 98.5 %. The
    # simulation's own error is about 0.35 points.
    assert 0.935 <= hits / runs <= 0.99


@pytest.mark.parametrize("n", [30, 100, 400])
def test_the_t_interval_of_a_continuous_score_covers_the_truth(n):
    numpy = pytest.importorskip("numpy")
    table = numpy.random.default_rng(n).beta(2, 3, size=(2000, n))

    hits = sum(
        e.low <= 0.4 <= e.high for e in (mean_interval(row.tolist()) for row in table)
    )

    assert 0.935 <= hits / 2000 <= 0.965


@pytest.mark.parametrize("n", [30, 100, 400])
@pytest.mark.parametrize("p", [0.02, 0.5, 0.98])
def test_the_clustered_interval_covers_where_the_naive_one_fails(n, p):
    numpy = pytest.importorskip("numpy")
    rng = numpy.random.default_rng(7)
    keys = [i // 5 for i in range(n)]
    hits = naive_hits = 0
    runs = 1000

    for _ in range(runs):
        # Half of a cluster's samples copy one shared draw: the same share p, but not independent.
        shared = numpy.repeat(rng.random(n // 5) < p, 5)
        values = (
            numpy.where(rng.random(n) < 0.5, shared, rng.random(n) < p)
            .astype(float)
            .tolist()
        )
        ours, naive = estimate_mean(values, keys), estimate_mean(values)
        hits += ours.low <= p <= ours.high
        naive_hits += naive.low <= p <= naive.high

    # At the ends the truth is missed almost never with few clusters: what they did not show is allowed for.
    assert hits / runs >= 0.935
    if p == 0.5:
        assert hits / runs <= 0.975
    assert naive_hits < hits


def binary_clusters(sizes):
    values, keys = [], []
    for key, size in enumerate(sizes):
        values += [float((key + n) % 3 > 0) for n in range(size)]
        keys += [key] * size
    return values, keys


@pytest.mark.parametrize(
    ("sizes", "flag"),
    [
        ([10] * 30, ""),
        ([1, 2, 20, 80] * 15, ""),
        ([1, 2, 20, 80] * 5, "6 effective clusters (20 of very unequal size)"),
        ([100] + [1] * 60, "1 effective clusters (61 of very unequal size)"),
        ([50] * 5 + [1] * 195, "6 effective clusters (200 of very unequal size)"),
        ([5] * 10, "10 clusters"),
    ],
    ids=["equal", "60 unequal", "20 unequal", "one large", "five large", "few"],
)
def test_few_effective_clusters_are_flagged(sizes, flag):
    said = estimate_mean(*binary_clusters(sizes), binary=True).unreliable

    assert said == (f"interval unreliable: {flag}" if flag else "")


def test_a_difference_of_two_models_on_unequal_clusters_is_flagged_too():
    values, keys = binary_clusters([100] + [1] * 60)
    after = {str(n): value for n, value in enumerate(values)}
    before = {str(n): float(n % 2) for n in range(len(values))}
    clusters = {str(n): key for n, key in enumerate(keys)}

    difference = compare_paired(after, before, clusters).difference

    assert "effective clusters" in difference.unreliable


def test_equal_clusters_keep_their_interval():
    """Widening is for unequal sizes only: the prior of equal clusters is that of a correlation of 0.2."""
    estimate = estimate_mean(*binary_clusters([7] * 30), binary=True)

    assert estimate.spread.prior == pytest.approx(1 + 0.2 * 6)
    assert estimate.spread.unseen == 0.5


def test_skewed_values_have_a_longer_side_and_a_flag():
    values = [1.0] * 25 + [2.0, 3.0, 5.0, 9.0, 60.0]

    estimate = estimate_mean(values, binary=False)
    turned = estimate_mean([-value for value in values], binary=False)

    assert estimate.high - estimate.value > estimate.value - estimate.low
    assert estimate.unreliable == "interval unreliable: skewed values"
    assert (turned.low, turned.high) == pytest.approx((-estimate.high, -estimate.low))


def test_symmetric_values_have_students_t():
    values = [float(n) for n in range(-20, 21)]

    plain = mean_interval(values, correct_skew=False)

    assert estimate_mean(values, binary=False) == plain
    assert plain.unreliable == ""

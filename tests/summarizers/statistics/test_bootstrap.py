"""The bootstrap: METRICS §3.7, clusters, strata, and its price in seconds."""

import math
import time

import numpy as np
import pytest

from assay.summarizers.statistics import bootstrap, bootstrap_ratio, seed_of

S = [1, 1, 1, 0, 1, 0, 1, 1, 0, 1]


def test_the_percentile_interval_matches_the_published_vector():
    estimate = bootstrap_ratio(S, [1] * 10, resamples=20_000, seed=1)

    # The exact bootstrap deviation is the ddof = 0 error, 0.144914; the vector has 0.1444 from its draws.
    assert estimate.stderr == pytest.approx(0.1444, abs=0.003)
    assert (estimate.low, estimate.high) == pytest.approx((0.4, 1.0), abs=1e-9)
    assert estimate.method == "bootstrap percentile, 20000 resamples"


def test_bca_pulls_the_upper_bound_in():
    estimate = bootstrap_ratio(S, [1] * 10, resamples=20_000, seed=1, method="bca")

    assert (estimate.low, estimate.high) == pytest.approx((0.4, 0.9), abs=1e-9)


def test_bca_agrees_with_scipy_on_a_skewed_sample():
    stats = pytest.importorskip("scipy.stats")
    values = np.random.default_rng(3).exponential(size=60)

    ours = bootstrap_ratio(values, np.ones(60), resamples=20_000, seed=1, method="bca")
    theirs = stats.bootstrap((values,), np.mean, n_resamples=20_000, method="BCa", rng=2).confidence_interval

    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.015)


def test_the_same_seed_gives_the_same_numbers_and_another_does_not():
    first, again, other = (bootstrap_ratio(S, [1] * 10, seed=seed) for seed in (5, 5, 6))

    assert first == again
    assert first.stderr != other.stderr


def test_a_seed_comes_from_the_run_id_alone():
    assert seed_of("run-1") == seed_of("run-1") != seed_of("run-2")
    assert seed_of("") == 0xE3B0C44298FC1C14  # the start of the SHA-256 of nothing


def test_a_ratio_pools_before_it_divides():
    estimate = bootstrap_ratio([1, 0, 9], [2, 8, 10], seed=1)

    assert estimate.value == 0.5


def test_clusters_are_drawn_whole():
    rng = np.random.default_rng(0)
    shared = np.repeat(rng.normal(size=200), 10)

    plain = bootstrap_ratio(shared, np.ones(2000), seed=1)
    clustered = bootstrap_ratio(shared, np.ones(2000), [i // 10 for i in range(2000)], seed=1)

    # Ten copies of one value hold the information of one: the error is sqrt(10) larger.
    assert clustered.stderr / plain.stderr == pytest.approx(math.sqrt(10), rel=0.1)
    assert clustered.clusters == 200


def test_strata_keep_their_sizes():
    values = [0.0] * 50 + [1.0] * 50
    task = ["easy"] * 50 + ["hard"] * 50

    free = bootstrap_ratio(values, [1] * 100, seed=1)
    stratified = bootstrap_ratio(values, [1] * 100, strata=task, seed=1)

    assert free.stderr == pytest.approx(0.05, rel=0.1)
    assert stratified.stderr == 0.0


def test_draws_that_all_agree_have_no_interval():
    silent = bootstrap_ratio([0, 0, 0, 0], [3, 5, 2, 7], seed=1)
    alike = bootstrap_ratio([0.1] * 30, [0.3] * 30, seed=1)

    assert (silent.value, silent.low, silent.high, silent.method) == (0.0, None, None, "n/a: no spread seen")
    assert (alike.low, alike.method) == (None, "n/a: no spread seen")


def test_a_macro_mean_over_strata_is_a_function_of_their_own_columns():
    statistics = [[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]]
    tasks = ["a", "a", "b", "b", "b", "b"]

    estimate = bootstrap(statistics, lambda s: (s[:, 0] / s[:, 1] + s[:, 2] / s[:, 3]) / 2, None, tasks, seed=1)

    assert estimate.value == pytest.approx((0.5 + 0.75) / 2)
    assert estimate.stderr == pytest.approx(math.sqrt(0.25 / 2 + 0.1875 / 4) / 2, rel=0.05)


def test_one_unit_has_no_interval():
    alone = bootstrap_ratio([1], [2], seed=1)
    one_cluster = bootstrap_ratio([1, 2], [2, 2], ["p", "p"], seed=1)
    one_in_a_stratum = bootstrap_ratio([1, 2, 3], [4, 4, 4], strata=["a", "a", "b"], seed=1)

    assert (alone.stderr, alone.low, alone.method) == (None, None, "n/a: one sample")
    assert one_cluster.method == "n/a: one cluster"
    assert one_in_a_stratum.method == "n/a: one sample in a stratum"


def test_undefined_resamples_are_counted_and_too_many_leave_no_interval():
    few = bootstrap_ratio([1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], seed=1)
    many = bootstrap_ratio([1, 1, 1], [1, 0, 0], seed=1)

    assert "undefined" in few.method
    assert few.low is not None
    assert many.low is None
    assert many.method.startswith("n/a")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bootstrap_ratio([1, 2], [1], seed=0), "2 numerators but 1 denominators"),
        (lambda: bootstrap_ratio([1, 2], [0, 0], seed=0), "is the denominator 0"),
        (lambda: bootstrap_ratio([], [], seed=0), "at least one row"),
        (lambda: bootstrap_ratio([1, math.nan], [1, 1], seed=0), "finite"),
        (lambda: bootstrap_ratio([1, 1], [1, 1], [1, None], seed=0), "value 1 has no cluster key"),
        (lambda: bootstrap_ratio([1, 1], [1, 1], [1, 1], strata=["a", "b"], seed=0), "two strata"),
    ],
)
def test_what_cannot_be_resampled_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_ten_thousand_samples_are_resampled_without_a_loop_over_them():
    rng = np.random.default_rng(0)
    statistics = rng.integers(0, 20, size=(10_000, 10)).astype(float)
    start = time.process_time()

    bootstrap(statistics, lambda s: s[:, 0] / s[:, 9], seed=1)

    assert time.process_time() - start < 10


def test_the_percentile_interval_of_a_ratio_covers_the_truth():
    rng = np.random.default_rng(11)
    hits, runs = 0, 400

    for run in range(runs):
        words = rng.integers(5, 30, size=100)
        errors = rng.binomial(words, 0.1)
        estimate = bootstrap_ratio(errors, words, seed=run, resamples=500)
        hits += estimate.low <= 0.1 <= estimate.high

    assert 0.91 <= hits / runs <= 0.975

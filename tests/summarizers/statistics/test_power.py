"""Sample sizes and detectable differences: METRICS §3.8."""

import math

import pytest

from assay.summarizers.statistics import (
    minimum_detectable_difference,
    minimum_detectable_paired_binary,
    paired_binary_power,
    sample_size,
    sample_size_paired_binary,
)
from assay.summarizers.statistics.paired_shares import mcnemar
from assay.summarizers.statistics.power_analysis import normal_size


def test_sizes_of_means_match_the_published_vectors_but_for_the_t_test():
    # Two more than the published 969, 3876 and 1260, which take the variance as known; the t test does not.
    assert sample_size(0.03, 1 / 9) == 971
    assert sample_size(0.03, 1 / 9 + 2 / 6) == 3878
    assert sample_size(0.03, 1 / 9 + 2 / 6 / 10) == 1262


@pytest.mark.parametrize(
    ("difference", "n"), [(0.05, 621), (0.03, 1737), (0.02, 3917), (0.01, 15_690)]
)
def test_the_textbook_sizes_match_the_published_vectors(difference, n):
    assert normal_size(difference / math.sqrt(0.2 - difference**2)) == n


@pytest.mark.parametrize(
    ("difference", "discordance"),
    [(0.1, 0.2), (-0.1, 0.2), (0.09, 0.1), (0.3, 0.3), (0.2, 0.6)],
)
@pytest.mark.parametrize("power", [0.8, 0.9])
def test_paired_binary_sizes_reach_their_power_under_the_test_that_decides(
    difference, discordance, power
):
    n = sample_size_paired_binary(difference, discordance, power=power)

    assert power <= exact_power(n, difference, discordance) <= power + 0.03
    assert paired_binary_power(n, difference, discordance) == pytest.approx(
        exact_power(n, difference, discordance), abs=1e-4
    )


def exact_power(n, difference, discordance):
    """Over every number of wins and losses, with the p that `compare_paired` reports."""
    binom = pytest.importorskip("scipy.stats").binom
    share = (1 + difference / discordance) / 2
    total = 0.0
    for count in range(1, n + 1):
        weight = binom.pmf(count, n, discordance)
        if weight < 1e-9:
            continue
        fewer = 0
        while fewer <= count // 2 and mcnemar(fewer, count - fewer) < 0.05:
            fewer += 1
        if fewer:
            total += weight * (
                binom.cdf(fewer - 1, count, share)
                + binom.sf(count - fewer, count, share)
            )
    return total


@pytest.mark.parametrize("difference", [0.5, 1.0, 2.0])
def test_sizes_of_means_reach_their_power_under_the_t_test(difference):
    stats = pytest.importorskip("scipy.stats")
    n = sample_size(difference, 1.0)

    def power(size):
        bar = stats.t.ppf(0.975, size - 1)
        return stats.nct.sf(bar, size - 1, difference * math.sqrt(size))

    assert power(n) >= 0.8 - 1e-6 > power(n - 1) - 1e-3


@pytest.mark.parametrize("n", [198, 1000])
def test_the_detectable_difference_is_the_smallest_one_detected(n):
    difference = minimum_detectable_paired_binary(n, 0.2)

    assert paired_binary_power(n, difference, 0.2) == pytest.approx(0.8, abs=1e-6)
    # The published 8.9 and 4.0 points take the variance of equal models.
    assert round(100 * difference, 1) == {198: 8.7, 1000: 3.9}[n]


def test_too_few_samples_show_no_difference_at_all():
    with pytest.raises(
        ValueError,
        match=r"10 samples show no difference between models that differ on 0\.1 of them",
    ):
        minimum_detectable_paired_binary(10, 0.1)


def test_the_detectable_difference_undoes_the_sample_size():
    n = sample_size(0.03, 0.25)

    assert minimum_detectable_difference(n, 0.25) == pytest.approx(0.03, abs=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sample_size(0, 0.1), "difference of 0"),
        (lambda: sample_size(0.1, -0.1), "negative"),
        (lambda: sample_size_paired_binary(0.3, 0.2), "cannot be 0.3 apart"),
        (lambda: sample_size_paired_binary(0.1, 0), "share of samples"),
        (lambda: minimum_detectable_difference(0, 1), "at least two samples"),
        (lambda: minimum_detectable_difference(5, -1), "negative"),
    ],
)
def test_plans_that_make_no_sense_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()

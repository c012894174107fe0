"""Sample sizes and detectable differences: METRICS §3.8."""

import pytest

from assay.summarizers.statistics import (
    minimum_detectable_difference,
    minimum_detectable_paired_binary,
    sample_size,
    sample_size_correlated,
    sample_size_paired_binary,
)


def test_sampling_noise_multiplies_the_questions_needed_and_repeats_divide_it():
    noise = {"noise_a": 1 / 6, "noise_b": 1 / 6}

    assert sample_size(0.03, 1 / 9) == 969
    assert sample_size(0.03, 1 / 9, **noise) == 3876
    assert sample_size(0.03, 1 / 9, **noise, repeats_a=10, repeats_b=10) == 1260


@pytest.mark.parametrize(("difference", "n"), [(0.05, 621), (0.03, 1737), (0.02, 3917), (0.01, 15_690)])
def test_paired_binary_sizes_match_the_published_vectors(difference, n):
    assert sample_size_paired_binary(difference, 0.2) == n
    assert sample_size_paired_binary(-difference, 0.2) == n


def test_correlated_scores_match_the_published_vector():
    assert sample_size_correlated(0.03, 0.5, 0.5, 0.5) == 2181


@pytest.mark.parametrize(("n", "points"), [(198, 8.9), (1000, 4.0)])
def test_detectable_differences_match_the_published_vectors(n, points):
    assert round(100 * minimum_detectable_paired_binary(n, 0.2), 1) == points


def test_the_detectable_difference_undoes_the_sample_size():
    n = sample_size(0.03, 0.25)

    assert minimum_detectable_difference(n, 0.25) == pytest.approx(0.03, abs=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sample_size(0, 0.1), "difference of 0"),
        (lambda: sample_size(0.1, -0.1), "negative"),
        (lambda: sample_size(0.1, 0.1, repeats_a=0), "at least once"),
        (lambda: sample_size_paired_binary(0.3, 0.2), "cannot be 0.3 apart"),
        (lambda: sample_size_paired_binary(0.1, 0), "share of samples"),
        (lambda: sample_size_correlated(0.1, 1, 1, 2), "correlation"),
        (lambda: minimum_detectable_difference(0, 1), "at least one sample"),
        (lambda: minimum_detectable_difference(5, -1), "negative"),
    ],
)
def test_plans_that_make_no_sense_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()

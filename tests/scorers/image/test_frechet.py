"""Fréchet distance: known distances between normal distributions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core import UsageError
from assay.scorers.image.fid import distance_of_moments, frechet_distance

ONE = np.eye(2)


@pytest.mark.parametrize(
    ("mean1", "covariance1", "mean2", "covariance2", "distance"),
    [
        ((0, 0), ONE, (3, 4), ONE, 25.0),
        ((0, 0), ONE, (0, 0), 4 * ONE, 2.0),
        ((0, 0), np.diag([1.0, 4.0]), (1, 1), np.diag([9.0, 1.0]), 7.0),
    ],
)
def test_the_distance_of_two_normal_distributions_is_known(
    mean1, covariance1, mean2, covariance2, distance
):
    assert distance_of_moments(mean1, covariance1, mean2, covariance2) == pytest.approx(
        distance, abs=1e-9
    )


def test_too_few_images_are_refused():
    features = np.zeros((100, 4))

    with pytest.raises(UsageError, match="of 100 images says more about their number"):
        frechet_distance(features, features)


def test_few_images_are_flagged():
    features = np.random.default_rng(0).normal(size=(2048, 4))

    value, flags = frechet_distance(features, features)

    assert value == pytest.approx(0.0, abs=1e-9)
    assert flags == ("fewer than 10000 images: compare only with the same number",)


def test_different_numbers_of_images_are_flagged():
    features = np.random.default_rng(0).normal(size=(10_001, 2))

    assert frechet_distance(features, features[:-1])[1] == (
        "10001 images against 10000: the distance depends on both numbers",
    )


def test_tables_of_different_widths_are_refused():
    with pytest.raises(ValueError, match="equal width"):
        frechet_distance(np.zeros((3, 2)), np.zeros((3, 4)))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_distance_is_symmetric_whatever_the_order_of_images(seed):
    rng = np.random.default_rng(seed)
    one, other = (
        rng.normal(size=(30, 3)),
        rng.normal(size=(40, 3)) @ rng.normal(size=(3, 3)),
    )

    distance = frechet_distance(one, other, fewest=2)[0]

    assert distance >= 0
    assert distance == pytest.approx(
        frechet_distance(other, rng.permutation(one), fewest=2)[0], rel=1e-6, abs=1e-9
    )

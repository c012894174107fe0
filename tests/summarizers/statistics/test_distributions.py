"""The distributions against closed forms and scipy."""

import math

import pytest

from assay.summarizers.statistics.distributions import (
    beta_quantile,
    incomplete_beta,
    normal_cdf,
    normal_quantile,
    t_power,
    t_quantile,
    t_two_sided,
)


def test_the_normal_quantile_is_the_familiar_one():
    assert normal_quantile(0.975) == pytest.approx(1.959963985, abs=1e-9)
    assert normal_cdf(normal_quantile(0.3)) == pytest.approx(0.3, abs=1e-12)


def test_t_with_one_degree_is_the_cauchy_distribution():
    assert t_quantile(0.975, 1) == pytest.approx(math.tan(math.pi * 0.475), rel=1e-10)


@pytest.mark.parametrize("x", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_the_incomplete_beta_has_its_closed_form_for_small_parameters(x):
    assert incomplete_beta(x, 1, 1) == pytest.approx(x, abs=1e-14)
    assert incomplete_beta(x, 2, 1) == pytest.approx(x * x, abs=1e-14)
    assert incomplete_beta(x, 1, 3) == pytest.approx(1 - (1 - x) ** 3, abs=1e-14)


def test_t_quantile_undoes_the_tails_on_both_sides():
    for p in (0.001, 0.025, 0.4, 0.6, 0.99):
        assert t_two_sided(t_quantile(p, 7), 7) == pytest.approx(
            2 * min(p, 1 - p), abs=1e-12
        )


def test_quantiles_and_tails_agree_with_scipy():
    stats = pytest.importorskip("scipy.stats")

    for df in (1, 2, 3.5, 9, 30, 999, 100_000):
        for p in (0.0005, 0.025, 0.2, 0.975, 0.9999):
            assert t_quantile(p, df) == pytest.approx(stats.t.ppf(p, df), rel=1e-8)
        assert t_two_sided(2.5, df) == pytest.approx(2 * stats.t.sf(2.5, df), rel=1e-9)
    for a, b in ((0.5, 10.5), (7, 4), (500.5, 500.5), (1, 1), (20_000, 3)):
        for p in (0.025, 0.5, 0.975):
            assert beta_quantile(p, a, b) == pytest.approx(
                stats.beta.ppf(p, a, b), rel=1e-8
            )


@pytest.mark.parametrize(
    "call",
    [
        lambda: normal_quantile(0.0),
        lambda: t_quantile(1.0, 5),
        lambda: t_two_sided(1.0, -1),
        lambda: beta_quantile(1.5, 1, 1),
        lambda: incomplete_beta(0.5, 0, 1),
    ],
)
def test_arguments_outside_the_domain_are_refused(call):
    with pytest.raises(ValueError, match="needs"):
        call()


def test_infinite_t_is_certain():
    assert t_two_sided(math.inf, 3) == 0.0


@pytest.mark.parametrize("df", [0, 0.5, -1])
def test_power_needs_a_degree_of_freedom(df):
    with pytest.raises(ValueError, match="needs df >= 1"):
        t_power(2.0, df, 0.05)


@pytest.mark.parametrize("df", [1, 2, 30])
def test_power_without_a_difference_is_alpha(df):
    assert t_power(0.0, df, 0.05) == pytest.approx(0.05, abs=1e-4)

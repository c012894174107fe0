"""Aggregates over groups and tasks: METRICS §3.6."""

import math

import pytest

from assay.summarizers.statistics import (
    Estimate,
    clopper_pearson,
    estimate_mean,
    macro,
    micro,
)

SMALL = Estimate(0.8, 0.04, 0.72, 0.88, 100, None, "t")
LARGE = Estimate(0.6, 0.02, 0.56, 0.64, 300, None, "t")


def test_micro_weighs_by_samples_and_macro_by_tasks():
    assert micro([SMALL, LARGE]).value == pytest.approx(0.65)
    assert macro([SMALL, LARGE]).value == pytest.approx(0.7)
    assert micro([SMALL, LARGE]).n == macro([SMALL, LARGE]).n == 400


def test_standard_errors_match_the_published_vectors():
    assert micro([SMALL, LARGE]).stderr == pytest.approx(0.018028, abs=1e-6)
    assert macro([SMALL, LARGE]).stderr == pytest.approx(0.022361, abs=1e-6)


def test_parts_on_an_open_scale_give_the_t_interval_of_their_standard_error():
    both = macro([SMALL, LARGE])

    # Satterthwaite: (0.02² + 0.01²)² / (0.02⁴ / 99 + 0.01⁴ / 299) = 151.5 degrees of freedom.
    half = 1.975740 * math.hypot(0.04, 0.02) / 2
    assert (both.low, both.high) == pytest.approx((0.7 - half, 0.7 + half), abs=1e-5)


def test_perfect_tasks_keep_a_width_and_stay_in_range():
    both = macro([estimate_mean([1] * 10), estimate_mean([1] * 10)])

    assert (both.low, both.high) == pytest.approx(clopper_pearson(20, 20))


def test_the_interval_is_not_narrower_than_its_own_standard_error():
    both = macro([estimate_mean([0.0, 1.0], binary=True)] * 57)

    assert both.stderr == pytest.approx(0.066227, abs=1e-6)
    assert (
        both.high - both.value > 1.9 * both.stderr
        and both.value - both.low > 1.9 * both.stderr
    )


def test_a_part_of_one_sample_counts_with_the_widest_spread_its_scale_allows():
    four, one = estimate_mean([1.0, 0.0, 1.0, 1.0]), estimate_mean([1.0])

    both = macro([four, one])

    assert both.stderr == pytest.approx(math.sqrt(0.0625 / 4 + 0.875 * 0.125 / 4))
    assert 0.0 < both.low < 0.875 < both.high < 1.0
    assert macro([one, one]).low is None


@pytest.mark.parametrize("tiny", [1e-50, 1.9e-110, 1e-160, 5e-324])
def test_a_spread_whose_square_is_0_as_a_float_is_no_division_by_0(tiny):
    parts = [
        estimate_mean([0.0, tiny], ends=(0.0, 1.0)),
        estimate_mean([0.0], ends=(0.0, 1.0)),
    ]

    both = macro(parts)

    assert both.low is not None and 0.0 <= both.low <= both.value <= both.high <= 1.0


def test_all_orders_of_parts_give_one_number():
    parts = [estimate_mean([0, 1, 1, 0, 1][: n + 2]) for n in range(4)]

    assert macro(parts).low == pytest.approx(macro(parts[::-1]).low)


def test_a_part_without_an_interval_leaves_none_for_the_whole():
    both = macro([SMALL, estimate_mean([1])])

    assert (both.stderr, both.low, both.high) == (None, None, None)
    assert "a part has no interval" in both.method


def test_clusters_add_up_only_where_every_part_has_them():
    clustered = estimate_mean([1, 0, 1, 0], [1, 1, 2, 2])

    assert micro([clustered, clustered]).clusters == 4
    assert micro([clustered, SMALL]).clusters is None


@pytest.mark.parametrize(
    "call",
    [lambda: micro([]), lambda: macro([])],
)
def test_nothing_to_aggregate_is_an_error(call):
    with pytest.raises(ValueError, match="nothing to"):
        call()

"""The interval of a paired difference of shares."""

import pytest

from assay.summarizers.statistics import paired_share_difference
from assay.summarizers.statistics.paired_shares import mcnemar


def test_tangos_interval_matches_the_published_one():
    # Airway reactivity before and after transplantation: 1, 1, 7 and 12 of 21 (Fagerland, Lydersen and Laake 2014).
    found = paired_share_difference(1, 7, 21, mid_p=False)

    assert found.value == pytest.approx(-0.286, abs=5e-4)
    assert (found.low, found.high) == pytest.approx((-0.517, -0.026), abs=5e-4)
    assert mcnemar(1, 7) == pytest.approx(0.0391, abs=5e-5)


@pytest.mark.parametrize(
    ("wins", "losses", "n"),
    [(0, 0, 12), (12, 0, 12), (0, 12, 12), (3, 3, 400), (0, 1, 2)],
)
def test_the_interval_has_a_width_and_stays_in_range(wins, losses, n):
    found = paired_share_difference(wins, losses, n)

    assert -1.0 <= found.low <= found.value <= found.high <= 1.0
    assert found.low < found.high


def test_many_samples_that_differ_leave_tangos_interval_as_it_is():
    ours, tango = (
        paired_share_difference(300, 200, 5000),
        paired_share_difference(300, 200, 5000, mid_p=False),
    )

    assert (ours.low, ours.high) == pytest.approx((tango.low, tango.high), abs=2e-5)


def test_counts_that_cannot_be_are_errors():
    with pytest.raises(ValueError, match="3 wins and 2 losses of 4 samples"):
        paired_share_difference(3, 2, 4)


@pytest.mark.parametrize(("n", "discordance"), [(50, 0.1), (50, 0.4), (200, 0.05)])
@pytest.mark.parametrize("part", [0.0, 0.5, 0.9])
def test_it_covers_the_truth_over_all_outcomes(n, discordance, part):
    binom = pytest.importorskip("scipy.stats").binom
    gap = part * discordance
    covered = 0.0

    for count in range(n + 1):
        weight = binom.pmf(count, n, discordance)
        if weight < 1e-6:
            continue
        for wins in range(count + 1):
            found = paired_share_difference(wins, count - wins, n)
            covered += (
                weight
                * binom.pmf(wins, count, (1 + part) / 2)
                * (found.low <= gap <= found.high)
            )

    assert 0.935 <= covered <= 0.99 or part == 0.0

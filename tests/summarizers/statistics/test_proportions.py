"""The interval of a share: never less than 93.5 %, whatever the truth."""

import numpy as np
import pytest

from assay.summarizers.statistics import clopper_pearson, share_interval, wilson
from assay.summarizers.statistics.proportions import EXACT_BELOW


@pytest.mark.parametrize("n", [2, 5, 10, 30, 63, 64, 70, 100, 200, 1000])
def test_a_share_is_covered_whatever_the_truth(n):
    binom = pytest.importorskip("scipy.stats").binom
    truths = np.concatenate(
        [np.geomspace(1e-4, 0.02, 150), np.linspace(0.02, 0.98, 480), [0.999]]
    )
    limits = np.array([share_interval(k, n)[0] for k in range(n + 1)])

    chances = binom.pmf(np.arange(n + 1), n, truths[:, None])
    inside = (limits[:, 0] <= truths[:, None]) & (truths[:, None] <= limits[:, 1])
    covered = (chances * inside).sum(axis=1)

    assert covered.min() >= (0.95 - 1e-9 if n < EXACT_BELOW else 0.935)


@pytest.mark.parametrize(
    ("k", "n"), [(0, 100), (50, 100), (100, 100), (500, 1000), (0, 10), (7, 10)]
)
def test_away_from_the_ends_it_is_wilsons_or_exact(k, n):
    low, high = share_interval(k, n)[0]

    assert (low, high) == pytest.approx(
        clopper_pearson(k, n) if n < EXACT_BELOW else wilson(k, n), abs=1e-9
    )


def test_one_failure_in_many_extends_the_upper_end():
    (low, high), method = share_interval(999, 1000)

    assert method == "wilson" and low == wilson(999, 1000)[0]
    assert high == pytest.approx(0.965 ** (1 / 1000)) and high > wilson(999, 1000)[1]


def test_the_interval_of_failures_mirrors_that_of_successes():
    for k, n in ((1, 80), (5, 300), (3, 20)):
        low, high = share_interval(k, n)[0]

        assert share_interval(n - k, n)[0] == pytest.approx(
            (1 - high, 1 - low), abs=1e-12
        )

"""Tests of paired differences and corrections for many: METRICS §3.5."""

import math

import pytest

from assay.summarizers.statistics import holm
from assay.summarizers.statistics.paired_shares import mcnemar

P_VALUES = [0.01, 0.04, 0.03, 0.005, 0.2]


def exact(b, c):
    """The exact p: the mid-p counts the outcome that was seen half on each side."""
    return min(1.0, mcnemar(b, c) + math.comb(b + c, min(b, c)) / 2 ** (b + c))


def test_mcnemar_matches_the_published_vector():
    assert mcnemar(4, 0) == 0.0625
    assert exact(4, 0) == 0.125


@pytest.mark.parametrize(
    ("b", "c", "expected"),
    [
        (10, 2, 0.038574),
        (25, 12, 0.047031),
        (5, 5, 1),
        (0, 6, 0.03125),
        (1, 8, 0.039063),
    ],
)
def test_exact_mcnemar_matches_the_published_vectors_from_either_side(b, c, expected):
    assert exact(b, c) == pytest.approx(expected, abs=1e-6)
    assert mcnemar(c, b) == mcnemar(b, c)


def test_mcnemar_of_many_pairs_is_still_exact():
    stats = pytest.importorskip("scipy.stats")

    assert exact(1300, 1200) == pytest.approx(
        stats.binomtest(1300, 2500).pvalue, rel=1e-9
    )


def test_models_that_never_differ_give_no_evidence():
    assert mcnemar(0, 0) == 1.0


def test_negative_counts_are_refused():
    with pytest.raises(ValueError, match="cannot be negative"):
        mcnemar(-1, 3)


def test_holm_matches_the_published_vector():
    assert holm(P_VALUES) == pytest.approx([0.04, 0.09, 0.09, 0.025, 0.2], abs=1e-9)


def test_corrections_never_pass_one_and_take_no_tests_at_all():
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_a_p_value_outside_its_range_is_refused():
    with pytest.raises(ValueError, match=r"p-value 1 is 1\.5"):
        holm([0.1, 1.5])

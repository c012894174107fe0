"""Tests of paired differences and corrections for many: METRICS §3.5."""

import random

import pytest

from assay.summarizers.statistics import benjamini_hochberg, holm, mcnemar, sign_flip, wilcoxon

FIRST = [0.5, 0.8, 0.9, 0.3, 1, 0.7, 0.6, 0.85]
SECOND = [0.4, 0.7, 0.95, 0.3, 0.8, 0.6, 0.65, 0.7]
DIFFERENCES = [x - y for x, y in zip(FIRST, SECOND, strict=True)]
P_VALUES = [0.01, 0.04, 0.03, 0.005, 0.2]


def test_all_four_versions_of_mcnemar_match_the_published_vector():
    p = mcnemar(4, 0)

    assert p.exact == 0.125
    assert p.mid_p == 0.0625
    assert p.chi_square_corrected == pytest.approx(0.133614, abs=1e-6)
    assert p.chi_square == pytest.approx(0.045500, abs=1e-6)


@pytest.mark.parametrize(
    ("b", "c", "expected"),
    [(10, 2, 0.038574), (25, 12, 0.047031), (5, 5, 1), (0, 6, 0.03125), (1, 8, 0.039063)],
)
def test_exact_mcnemar_matches_the_published_vectors_from_either_side(b, c, expected):
    assert mcnemar(b, c).exact == pytest.approx(expected, abs=1e-6)
    assert mcnemar(c, b) == mcnemar(b, c)


def test_mcnemar_of_many_pairs_is_still_exact():
    stats = pytest.importorskip("scipy.stats")

    assert mcnemar(1300, 1200).exact == pytest.approx(stats.binomtest(1300, 2500).pvalue, rel=1e-9)


def test_models_that_never_differ_give_no_evidence():
    assert mcnemar(0, 0).exact == 1.0
    assert sign_flip([0.0, 0.0]) == 1.0
    assert wilcoxon([0.0, 0.0]) == 1.0


def test_negative_counts_are_refused():
    with pytest.raises(ValueError, match="cannot be negative"):
        mcnemar(-1, 3)


def test_exact_sign_flip_counts_sums_that_tie_on_paper():
    assert sign_flip(DIFFERENCES) == 28 / 256


def test_sign_flip_on_binary_differences_equals_mcnemar():
    assert sign_flip([1, 1, 1, 1, 0, 0]) == 0.125
    assert sign_flip([1] * 10 + [-1] * 2) == pytest.approx(mcnemar(10, 2).exact)


def test_sign_flip_draws_come_near_the_exact_answer_and_repeat_with_the_seed():
    differences = [1] * 25 + [-1] * 12

    drawn = sign_flip(differences, seed=4)

    assert drawn == pytest.approx(0.047031, abs=0.008)
    assert drawn == sign_flip(differences, seed=4) != sign_flip(differences, seed=5)


def test_a_drawn_p_is_never_zero():
    assert sign_flip([1.0] * 100) == pytest.approx(1 / 10_001)


def test_wilcoxon_gives_ties_their_mean_rank():
    assert wilcoxon(DIFFERENCES) == pytest.approx(0.0625, abs=1e-9)


@pytest.mark.parametrize("n", [6, 25, 50, 120])
def test_wilcoxon_agrees_with_scipy(n):
    stats = pytest.importorskip("scipy.stats")
    draw = random.Random(n)
    differences = [draw.gauss(0.2, 1) for _ in range(n)]

    method = "exact" if n <= 50 else "asymptotic"
    assert wilcoxon(differences) == pytest.approx(stats.wilcoxon(differences, method=method).pvalue, rel=1e-9)


def test_holm_and_benjamini_hochberg_match_the_published_vectors():
    assert holm(P_VALUES) == pytest.approx([0.04, 0.09, 0.09, 0.025, 0.2], abs=1e-9)
    assert benjamini_hochberg(P_VALUES) == pytest.approx([0.025, 0.05, 0.05, 0.025, 0.2], abs=1e-9)


def test_corrections_never_pass_one_and_take_no_tests_at_all():
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == benjamini_hochberg([]) == []


def test_a_p_value_outside_its_range_is_refused():
    with pytest.raises(ValueError, match=r"p-value 1 is 1\.5"):
        holm([0.1, 1.5])

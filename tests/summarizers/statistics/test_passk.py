"""pass@k and pass^k: METRICS §2.5."""

from itertools import combinations

import pytest

from assay.summarizers.statistics import pass_at_k, pass_hat_k


@pytest.mark.parametrize(
    ("n", "c", "k", "at_least_one", "every_one"),
    [
        (10, 3, 1, 0.3, 0.3),
        (10, 3, 5, 0.9166666667, 0),
        (10, 0, 5, 0, 0),
        (10, 10, 5, 1, 1),
        (4, 2, 2, 0.8333333333, 0.1666666667),
    ],
)
def test_both_match_the_published_vectors(n, c, k, at_least_one, every_one):
    assert pass_at_k(n, c, k) == pytest.approx(at_least_one, abs=1e-9)
    assert pass_hat_k(n, c, k) == pytest.approx(every_one, abs=1e-9)


@pytest.mark.parametrize(("k", "expected"), [(10, 0.6602256238), (100, 0.9999996678)])
def test_two_hundred_answers_lose_no_digits(k, expected):
    assert pass_at_k(200, 20, k) == pytest.approx(expected, abs=1e-10)


def test_the_estimate_is_not_the_biased_plug_in():
    assert abs(pass_at_k(10, 3, 5) - 0.83193) > 0.08


def test_both_equal_counting_all_subsets():
    for n in range(1, 8):
        for c in range(n + 1):
            for k in range(1, n + 1):
                subsets = list(combinations([True] * c + [False] * (n - c), k))
                assert pass_at_k(n, c, k) == pytest.approx(
                    sum(map(any, subsets)) / len(subsets), abs=1e-12
                )
                assert pass_hat_k(n, c, k) == pytest.approx(
                    sum(map(all, subsets)) / len(subsets), abs=1e-12
                )


@pytest.mark.parametrize("function", [pass_at_k, pass_hat_k])
def test_fewer_answers_than_k_is_an_error(function):
    with pytest.raises(
        ValueError, match="k=5 needs at least 5 answers to each question, got 2"
    ):
        function(2, 1, 5)


def test_impossible_counts_are_errors():
    with pytest.raises(ValueError, match="impossible"):
        pass_at_k(3, 4, 1)
    with pytest.raises(ValueError, match="at least 1"):
        pass_hat_k(3, 1, 0)

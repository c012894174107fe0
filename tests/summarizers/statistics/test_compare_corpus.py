"""Corpus metrics of two models on the same samples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.summarizers.recipes import Recipe
from assay.summarizers.statistics import compare_corpus

RATE = Recipe("ratio", (("E",), ("N",))).function()
BLEU = Recipe("bleu", "stats").function()


def table(rows):
    return {str(index): list(map(float, row)) for index, row in enumerate(rows)}


def test_the_difference_is_that_of_the_two_rates_with_an_interval_around_it():
    a, b = (
        table([(3, 10), (1, 20), (4, 15), (2, 12)] * 5),
        table([(1, 10), (1, 20), (2, 15), (0, 12)] * 5),
    )

    found = compare_corpus(a, b, RATE)

    assert (found.mean_a, found.mean_b) == pytest.approx((10 / 57, 4 / 57))
    assert found.difference.value == pytest.approx(6 / 57)
    assert 0.0 < found.difference.low < 6 / 57 < found.difference.high
    assert found.p < 0.001 and found.test == "paired jackknife t"
    assert (found.wins, found.losses, found.n) == (15, 0, 20)


counts = st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(5, 12))


@given(st.lists(counts, min_size=3, max_size=40), st.sampled_from([0, 2, 4]))
def test_the_interval_excludes_0_exactly_where_p_is_small(rows, size):
    a, b = table((x, n) for x, _, n in rows), table((y, n) for _, y, n in rows)
    clusters = {key: int(key) // size for key in a} if size else None

    found = compare_corpus(a, b, RATE, clusters)

    low, high = found.difference.low, found.difference.high
    if low is not None:
        assert (low > 0 or high < 0) == (found.p < 0.05)


def test_swapping_the_models_turns_the_sign():
    rows = np.random.default_rng(2).integers(1, 9, size=(30, 2))
    a, b = table((x, 10) for x, _ in rows), table((y, 10) for _, y in rows)

    there, back = compare_corpus(a, b, RATE), compare_corpus(b, a, RATE)

    assert back.difference.value == pytest.approx(-there.difference.value)
    assert back.p == pytest.approx(there.p)


def test_a_difference_that_is_the_same_without_any_sample_has_no_interval():
    f1 = Recipe(
        "expression",
        (("tp",), ("fn",)),
        options={"value": "mean(2 * a / (2 * a + b), 1 / 3)", "names": ["a", "b"]},
    ).function()

    compared = compare_corpus(table([(2, 0)] * 9), table([(1, 1)] * 9), f1)

    difference = compared.difference
    assert difference.value == pytest.approx(1 / 6)
    assert (difference.low, difference.high) == (None, None)
    assert difference.method == "n/a: no spread seen"
    assert compared.bootstrap is None
    assert compared.p == pytest.approx(2 * 0.5**9)


def test_equal_answers_are_not_a_difference():
    a = table([(3, 10), (1, 20), (4, 15)])

    found = compare_corpus(a, a, RATE)

    assert (found.difference.value, found.difference.low, found.p) == (0.0, None, 1.0)


def test_bleu_of_two_systems_can_be_compared():
    rng = np.random.default_rng(3)
    lengths = rng.integers(10, 30, size=60)

    def system(quality):
        matches = [rng.binomial(lengths - k, quality ** (k + 1)) for k in range(4)]
        return table(
            np.column_stack(
                [lengths, lengths, *matches, *(lengths - k for k in range(4))]
            )
        )

    found = compare_corpus(system(0.8), system(0.6), BLEU)

    assert found.difference.low > 5 and found.p < 1e-6


def test_too_little_in_common_is_refused():
    a = table([(1, 10)] * 20)

    with pytest.raises(ValueError, match="only 18 of 20 samples are in both"):
        compare_corpus(a, dict(list(a.items())[:18]), RATE)


def test_swapping_the_models_turns_the_sign_of_the_bootstrap():

    rng = np.random.default_rng(3)
    a = {str(i): [float(e), 20.0] for i, e in enumerate(rng.poisson(2, 60))}
    b = {str(i): [float(e), 20.0] for i, e in enumerate(rng.poisson(3, 60))}

    def rate(sums):
        return sums[:, 0] / sums[:, 1]

    one, other = (
        compare_corpus(a, b, rate).bootstrap,
        compare_corpus(b, a, rate).bootstrap,
    )

    assert one.p == other.p and (one.low, one.high) == pytest.approx(
        (-other.high, -other.low)
    )
    assert one.low < compare_corpus(a, b, rate).difference.value < one.high


def test_a_difference_that_no_draw_changes_has_no_bootstrap():
    counts = {str(i): [1.0, 10.0] for i in range(20)}

    assert (
        compare_corpus(counts, counts, lambda sums: sums[:, 0] / sums[:, 1]).bootstrap
        is None
    )


def test_a_difference_that_one_recording_makes_is_flagged():
    before = {str(n): [n % 2, 10.0] for n in range(40)}
    looped = {**before, "3": [90.0, 10.0]}
    better = {
        key: [max(0, errors - 1), words] for key, (errors, words) in before.items()
    }
    rate = Recipe("ratio", (("errors",), ("words",))).function()

    flagged = compare_corpus(looped, before, rate).difference
    plain = compare_corpus(better, before, rate).difference

    assert flagged.unreliable == "interval unreliable: skewed differences"
    assert plain.unreliable == ""

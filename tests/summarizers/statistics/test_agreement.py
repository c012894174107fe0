"""Agreement of raters and of a judge with itself: METRICS §2.14."""

import pytest

from assay.summarizers.statistics import cohens_kappa, krippendorff_alpha
from assay.summarizers.statistics.agreement import fold_verdicts

# Krippendorff, "Computing Krippendorff's Alpha-Reliability": four observers, twelve units.
TEXTBOOK = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
PAIRS = [("A", "A"), ("A", "B"), ("B", "B"), ("tie", "A"), ("B", "A"), ("A", "A")]


def test_cohens_kappa_matches_the_published_vectors():
    first, second = [1, 1, 0, 1, 0, 0, 1, 0, 1, 1], [1, 1, 0, 0, 0, 1, 1, 0, 1, 1]

    assert cohens_kappa(first, second) == pytest.approx(0.583333, abs=1e-6)
    assert cohens_kappa(
        [1, 2, 3, 4, 5, 3], [1, 2, 4, 4, 4, 3], "quadratic"
    ) == pytest.approx(0.888889, abs=1e-6)


def test_linear_weights_are_between_none_and_quadratic_here():
    first, second = [1, 2, 3, 4, 5, 3], [1, 2, 4, 4, 4, 3]

    plain, linear, quadratic = (
        cohens_kappa(first, second, w) for w in ("none", "linear", "quadratic")
    )

    assert plain < linear < quadratic


def test_labels_may_be_words_and_full_agreement_is_one():
    assert cohens_kappa(["yes", "no"], ["yes", "no"]) == 1.0
    assert krippendorff_alpha([["a", "b"], ["a", "b"]]) == 1.0


def test_krippendorffs_alpha_matches_his_textbook_matrix():
    assert krippendorff_alpha(TEXTBOOK) == pytest.approx(0.743421, abs=1e-6)


def test_ordinal_alpha_matches_the_same_paper():
    """Krippendorff (2011), section E: ordinal alpha of the textbook data is 0.815."""
    assert krippendorff_alpha(TEXTBOOK, "ordinal") == pytest.approx(0.815, abs=5e-4)


def test_ordinal_alpha_forgives_near_misses():
    near = [[1, 2, 3, 4, 5, 1], [2, 3, 4, 5, 4, 1]]
    far = [[1, 2, 3, 4, 5, 1], [5, 5, 1, 1, 1, 1]]

    assert krippendorff_alpha(near, "ordinal") > krippendorff_alpha(near)
    assert krippendorff_alpha(far, "ordinal") < krippendorff_alpha(far)


def test_the_order_of_raters_and_of_samples_does_not_matter():
    turned = [row[::-1] for row in TEXTBOOK[::-1]]

    assert krippendorff_alpha(turned) == pytest.approx(
        krippendorff_alpha(TEXTBOOK), abs=1e-12
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cohens_kappa([1], [1, 2]), "same samples"),
        (lambda: cohens_kappa([], []), "no ratings"),
        (lambda: cohens_kappa([1, 1], [1, 1]), "kappa is undefined"),
        (lambda: krippendorff_alpha([[1, 2], [1]]), "use None"),
        (
            lambda: krippendorff_alpha([[1, None], [None, 2]]),
            "no sample was rated twice",
        ),
        (lambda: krippendorff_alpha([[1, 1], [1, 1]]), "alpha is undefined"),
        (lambda: fold_verdicts([]), "nothing to fold"),
        (lambda: fold_verdicts([("A", "C")]), "pair 0 is"),
    ],
)
def test_ratings_that_allow_no_agreement_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_weights_need_numbers():
    with pytest.raises(
        TypeError, match="quadratic weights need ratings that are numbers"
    ):
        cohens_kappa(["a", "b"], ["b", "a"], "quadratic")


def test_verdicts_in_both_orders_match_the_published_vector():
    fold = fold_verdicts(PAIRS)

    assert (fold.wins, fold.losses, fold.ties) == (2, 1, 3)
    assert fold.win_rate == pytest.approx(0.583333, abs=1e-6)
    assert fold.flat_win_rate == 0.625
    assert fold.position_consistency == 0.5
    assert fold.first_position_share == pytest.approx(5 / 11)


def test_ties_alone_say_nothing_about_position():
    fold = fold_verdicts([("tie", "tie")])

    assert (fold.win_rate, fold.position_consistency, fold.first_position_share) == (
        0.5,
        1.0,
        None,
    )

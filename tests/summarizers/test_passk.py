"""pass@k and pass^k from candidates and epochs."""

import pytest
from summary_context import Context, record

from assay.core import SummarizerError
from assay.summarizers.repeated_answers import PassAtK, PassHatK


def by_metric(summarizer, records, **context):
    return {r.metric: r for r in summarizer(records, Context(**context))}


def test_candidates_and_epochs_are_the_answers_together():
    records = [
        record("a", 0.5, candidates=(1.0, 0.0)),
        record("a", 0.5, candidates=(0.0, 1.0), epoch=1),
    ]

    results = by_metric(PassAtK(k=(1, 2)), records)

    assert results["exact_match.pass@1"].value == 0.5
    assert results["exact_match.pass@2"].value == pytest.approx(5 / 6)


def test_pass_hat_k_needs_all_k_answers_right():
    records = [record("a", float(epoch < 2), epoch=epoch) for epoch in range(4)]

    assert by_metric(PassHatK(k=2), records)[
        "exact_match.pass^2"
    ].value == pytest.approx(1 / 6)


def test_the_error_is_over_questions():
    records = [
        record(f"q{i}", float(i % 2), epoch=epoch)
        for i in range(10)
        for epoch in range(3)
    ]

    result = by_metric(PassAtK(k=3), records)["exact_match.pass@3"]

    assert (result.value, result.n, result.interval) == (0.5, 10, "clopper-pearson")


def test_an_unread_answer_is_a_wrong_one():
    records = [record("a", 1.0), record("a", 0.0, "truncated", epoch=1)]

    assert by_metric(PassAtK(k=1), records)["exact_match.pass@1"].value == 0.5


def test_k_above_the_number_of_answers_is_an_error_that_names_the_sample():
    with pytest.raises(
        SummarizerError,
        match=r"k=5, but sample 'a' has 2 answers; fix: ask for at least 5",
    ):
        by_metric(PassAtK(k=5), [record("a", 0.5, candidates=(1.0, 0.0))])


def test_a_question_that_lost_its_answers_is_unresolved():
    records = [
        record("a", 0.5, candidates=(1.0, 1.0)),
        record("b", None, "model_error"),
    ]

    result = by_metric(PassAtK(k=2), records)["exact_match.pass@2"]

    assert (result.value, result.n, result.bounds) == (1.0, 1, (0.5, 1.0))


def test_what_counts_as_right_can_be_a_rating():
    records = [record("a", 4.0), record("b", 2.0)]

    assert (
        by_metric(PassAtK(right_at=3), records, bounds=(1.0, 5.0))[
            "exact_match.pass@1"
        ].value
        == 0.5
    )


@pytest.mark.parametrize("k", [0, (1, -2), "many"])
def test_k_must_be_a_positive_integer(k):
    with pytest.raises(SummarizerError, match="k must be a positive integer"):
        PassAtK(k=k)

"""The vote of repeated answers."""

import pytest
from summary_context import Context, record

from assay.core import SummarizerError
from assay.summarizers.majority import Majority


def only(records):
    (result,) = Majority()(records, Context())
    return result


def votes(id, text, right):
    return [
        record(id, float(answer == right), answer=answer, epoch=k)
        for k, answer in enumerate(text)
    ]


def test_the_most_frequent_answer_decides():
    result = only(votes("a", "BAA", right="A") + votes("b", "BCC", right="B"))

    assert (result.metric, result.value, result.n) == ("exact_match.majority", 0.5, 2)


def test_a_wrong_majority_of_different_answers_does_not_beat_the_right_one():
    assert only(votes("a", "AABCD", right="A")).value == 1.0


def test_a_tie_is_counted_and_counts_half():
    result = only(votes("a", "AB", right="A"))

    assert (result.value, result.details["tied"]) == (0.5, 1)


def test_an_unread_answer_does_not_vote_but_nothing_readable_is_wrong():
    some = [
        *votes("a", "A", right="A"),
        record("a", 0.0, "unparsed", epoch=1),
        record("a", 0.0, "unparsed", epoch=2),
    ]
    none = [record("a", 0.0, "unparsed"), record("a", 0.0, "unparsed", epoch=1)]

    assert only(some).value == 1.0
    assert (only(none).value, only(none).outcomes) == (0.0, {"unparsed": 1})


def test_a_question_nobody_answered_is_unresolved():
    result = only([*votes("a", "A", right="A"), record("b", None, "model_error")])

    assert (result.value, result.n, result.bounds) == (1.0, 1, (0.5, 1.0))


def test_a_scorer_that_extracts_no_answer_cannot_be_voted_on():
    with pytest.raises(
        SummarizerError, match="nothing to vote on; fix: let the scorer set `answer`"
    ):
        only([record("a", 1.0)])

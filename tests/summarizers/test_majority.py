"""The vote of repeated answers."""

import pytest
from summary_context import Context, record

from assay.core import SummarizerError
from assay.summarizers.mean import Mean
from assay.summarizers.repeated_answers import Majority
from assay.summarizers.units import value_reader, values_by_sample


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


def test_a_question_without_answers_is_unresolved():
    result = only([*votes("a", "A", right="A"), record("b", None, "model_error")])

    assert (result.value, result.n, result.bounds) == (1.0, 1, (0.5, 1.0))


def test_a_scorer_that_extracts_no_answer_cannot_be_voted_on():
    with pytest.raises(
        SummarizerError, match="nothing to vote on; fix: let the scorer set `answer`"
    ):
        only([record("a", 1.0)])


def reduced(records):
    (result,) = Mean(reducer="majority")(records, Context())
    return result


WORDS = (
    ("AABCD", "A"),
    ("BBCCC", "B"),
    ("ABBCD", "A"),
    ("AACCB", "A"),
    ("ABCDE", "E"),
)


def test_the_reducer_majority_votes_on_answers_as_the_summarizer_does():
    records = [
        one
        for number, (text, right) in enumerate(WORDS)
        for one in votes(str(number), text, right=right)
    ]

    result = reduced(records)

    assert result.value == pytest.approx(only(records).value)
    assert result.value == pytest.approx((1 + 0 + 0 + 0.5 + 0.2) / 5)
    assert result.details["epochs"]["tied"] == only(records).details["tied"] == 2


def test_values_by_sample_vote_as_the_mean_does():
    records = votes("a", "AABCD", right="A") + votes("b", "BBCCC", right="B")

    values, _ = values_by_sample(records, value_reader("exact_match", 0.0), "majority")

    assert values == {"a": 1.0, "b": 0.0}


def test_an_unread_answer_does_not_vote_under_the_reducer_either():
    unread = [record("a", 0.0, "unparsed", epoch=k) for k in (1, 2, 3)]

    assert reduced([*votes("a", "A", right="A"), *unread]).value == 1.0
    assert reduced([record("a", 0.0, "unparsed"), *unread]).value == 0.0


def test_a_lost_answer_widens_the_bounds_of_a_vote_as_far_as_it_could_change_it():
    lost = record("a", None, "model_error", epoch=9)

    result = reduced([*votes("a", "AAABB", right="A"), lost])

    assert (result.value, result.bounds) == (1.0, (0.5, 1.0))


def test_scores_without_an_answer_are_voted_on_and_the_row_says_so():
    records = [record("a", value, epoch=k) for k, value in enumerate((1.0, 0.0, 0.0))]

    result = reduced(records)

    assert result.value == 0.0
    assert "majority of equal scores: the scorer extracts no answer" in result.flags

"""One record for each answer, whether it came as a candidate or in another epoch."""

import pytest
from summary_context import Context, record

from assay.core import Score, SummarizerError
from assay.core.score import Outcome, ValueScale
from assay.runner.scoring.scoring import reduce_candidates
from assay.summarizers.attempts import Attempts
from assay.summarizers.mean import Mean
from assay.summarizers.pooled import Pooled
from assay.summarizers.repeated_answers import Majority, PassAtK

FAILED = Score(None, Outcome.JUDGE_ERROR, details={"error": "the judge is down"})


def request(id, *scores, epoch=0):
    made = reduce_candidates(scores)
    return record(
        id,
        made.value,
        made.outcome.value,
        epoch=epoch,
        answer=made.answer,
        details=made.details,
        candidates=made.candidates,
    )


def named(**values):
    return Score({name: float(value) for name, value in values.items()})


def test_each_candidate_keeps_its_own_value_outcome_answer_and_details():
    one = request(
        "a",
        Score(1.0, answer="A", details={"words": 3}),
        Score.unparsed(rule="none"),
        FAILED,
    )

    first, second, third = Attempts([one])

    assert (first.values, first.outcome, first.answer, first.details) == (
        {"exact_match": 1.0},
        "scored",
        "A",
        {"words": 3},
    )
    assert (second.values, second.outcome, second.answer) == (
        {"exact_match": 0.0},
        "unparsed",
        None,
    )
    assert (third.values, third.outcome, third.details) == (
        {},
        "judge_error",
        {"error": "the judge is down"},
    )
    assert [x.epoch for x in (first, second, third)] == [
        0,
        1,
        2,
    ] and not first.candidates


def test_records_of_one_answer_pass_as_they_are():
    records = [record("a", 1.0, epoch=2), record("b", None, "model_error")]

    attempts = Attempts(records)

    assert (
        all(given is made for given, made in zip(records, attempts, strict=True))
        and len(attempts) == 2
    )
    assert list(Attempts(attempts)) == records


def test_an_unanswered_request_has_lost_all_its_answers():
    records = [
        record("a", None, "model_error"),
        request("b", Score(1.0), Score(0.0), Score(1.0)),
    ]

    attempts = Attempts(records)

    assert [(x.id, x.epoch, x.outcome) for x in attempts] == [
        ("a", 0, "model_error"),
        ("a", 1, "model_error"),
        ("a", 2, "model_error"),
        ("b", 0, "scored"),
        ("b", 1, "scored"),
        ("b", 2, "scored"),
    ]
    assert (
        len(attempts) == 6
        and attempts[4].values == {"exact_match": 0.0}
        and attempts[-1] == attempts[5:][0]
    )
    with pytest.raises(IndexError, match="no answer 6"):
        attempts[6]


def test_candidates_of_several_epochs_are_attempts_in_turn():
    records = [request("a", Score(1.0), Score(0.0), epoch=epoch) for epoch in range(2)]

    assert [x.epoch for x in Attempts(records)] == [0, 1, 2, 3]


def test_the_mean_counts_what_failed_and_keeps_what_was_judged():
    records = [request("a", Score(1.0), FAILED), request("b", Score(0.0), Score(0.0))]

    (result,) = Mean()(Attempts(records), Context())

    assert (result.value, result.n, result.outcomes) == (
        0.5,
        2,
        {"scored": 3, "judge_error": 1},
    )
    assert result.bounds == (0.25, 0.5) and any(
        "in doubt" in flag for flag in result.flags
    )


def test_an_unread_candidate_counts_as_the_worst_where_lower_is_better():
    scores = [Score(0.4), Score.unparsed()]

    (result,) = Mean()(
        Attempts([request("a", *scores)]), Context(higher_is_better=False)
    )

    assert result.value == pytest.approx(0.7)
    assert reduce_candidates(scores, ValueScale(False)).value == pytest.approx(0.7)


def test_counts_of_every_candidate_are_pooled_and_the_sample_is_drawn_whole():
    heard = Score(0.0, details={"errors": 0, "words": 2})
    missed = Score(1.0, details={"errors": 2, "words": 2})

    records = Attempts([request("a", heard, missed), request("b", heard, heard)])
    (result,) = Pooled("errors", "words")(records, Context())

    assert (result.value, result.n, result.clusters) == (0.25, 2, 2)
    assert result.details["denominator"] == 8


def test_named_values_have_a_pass_at_k_each():
    scores = [named(strict=right == 0, loose=right < 2) for right in range(4)]

    results = {
        r.metric: r.value for r in PassAtK(k=(1, 2))([request("a", *scores)], Context())
    }

    assert results == pytest.approx(
        {
            "exact_match.strict.pass@1": 0.25,
            "exact_match.strict.pass@2": 0.5,
            "exact_match.loose.pass@1": 0.5,
            "exact_match.loose.pass@2": 5 / 6,
        }
    )


def test_an_unread_candidate_of_a_scorer_with_names_is_wrong_for_all_of_them():
    one = request("a", named(strict=1, loose=1), Score.unparsed())

    results = {r.metric: r.value for r in PassAtK()([one], Context())}

    assert one.values == {"strict": 0.5, "loose": 0.5}
    assert results == {
        "exact_match.strict.pass@1": 0.5,
        "exact_match.loose.pass@1": 0.5,
    }


def test_every_candidate_votes():
    right, wrong = Score(1.0, answer="A"), Score(0.0, answer="B")
    records = [
        request("a", right, wrong, wrong),
        request("b", right, Score.unparsed(), Score.unparsed()),
    ]

    (result,) = Majority()(records, Context())

    assert (result.value, result.n, result.details["tied"]) == (0.5, 2, 0)


def test_votes_of_candidates_and_epochs_are_counted_together():
    right, wrong = Score(1.0, answer="A"), Score(0.0, answer="B")
    records = [request("a", right, wrong), request("a", right, right, epoch=1)]

    (result,) = Majority()(records, Context())

    assert result.value == 1.0


def test_verdicts_that_differ_on_one_answer_count_as_their_mean():
    records = [request("a", Score(1.0, answer="A"), Score(0.0, answer="A"))]

    (result,) = Majority()(records, Context())

    assert result.value == 0.5


def test_the_value_of_a_record_is_the_mean_and_there_is_none_while_a_verdict_is_missing():
    whole, torn = (
        reduce_candidates([Score(4.0), Score(2.0)]),
        reduce_candidates([Score(4.0), FAILED]),
    )

    assert (whole.value, whole.outcome) == (3.0, Outcome.SCORED)
    assert (torn.value, torn.outcome, torn.candidates) == (
        None,
        Outcome.JUDGE_ERROR,
        (4.0, None),
    )
    assert torn.details["error"] == "the judge is down"


def test_a_record_has_an_answer_only_if_all_candidates_gave_it():
    same = reduce_candidates([Score(1.0, answer="A"), Score(1.0, answer="A")])
    other = reduce_candidates([Score(1.0, answer="A"), Score(0.0, answer="B")])

    assert (same.answer, other.answer, other.details["answers"]) == (
        "A",
        None,
        ["A", "B"],
    )


def test_a_row_that_could_not_be_asked_does_not_spoil_the_bounds_of_pass_at_k():
    records = [
        record("a", 1.0),
        record("a", 0.0, epoch=1),
        record("b", None, "data_error"),
    ]

    (result,) = Mean(reducer="pass@2")(records, Context())

    assert (result.value, result.n, result.bounds) == (1.0, 1, (0.5, 1.0))


def test_a_request_refused_as_a_whole_refused_as_many_answers_as_the_others_gave():
    records = [
        record("b", 0.0, "refused"),
        request("a", Score(1.0), Score(0.0), Score(1.0)),
    ]

    assert [(each.id, each.epoch, each.outcome) for each in Attempts(records)][:3] == [
        ("b", 0, "refused"),
        ("b", 1, "refused"),
        ("b", 2, "refused"),
    ]
    assert len(Attempts(records)) == 6
    assert len(Attempts(records[:1], per_request=4)) == 4


@pytest.mark.parametrize("reducer", ["pass@2", "pass^2"])
def test_pass_at_k_of_a_single_answer_is_refused(reducer):
    records = [record("a", 1.0), record("b", 0.0), record("c", None, "model_error")]

    with pytest.raises(
        SummarizerError,
        match=r"needs more than one answer to each sample.*as many candidates",
    ):
        list(Mean(reducer=reducer)(records, Context()))


def test_pass_at_1_of_a_single_answer_is_its_value():
    (result,) = Mean(reducer="pass@1")([record("a", 1.0), record("b", 0.0)], Context())

    assert result.value == 0.5

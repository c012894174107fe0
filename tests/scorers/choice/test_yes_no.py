"""Yes or no: the rules that read it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core import Candidate, Outcome, Output, Sample, UsageError
from assay.scorers.choice.yes_no import YesNo, read_mme, read_pope, read_words

RULES = ["words", "pope_official", "mme_official"]


@pytest.mark.parametrize(
    ("text", "words", "pope", "mme"),
    [
        ("Yes", "yes", "yes", "yes"),
        ("Yes, there is a dog.", "yes", "yes", "yes"),
        ("No.", "no", "no", "no"),
        ("There is no dog.", "no", "no", None),
        ("There isn't a dog.", None, "yes", None),
        ("I am not sure", None, "no", None),
        ("It is unclear", None, "yes", None),
        ("not visible", None, "no", "no"),
        ("None of them", None, "yes", "no"),
        ("I say yes", "yes", "yes", None),
        ("yes and no", None, "no", "yes"),
    ],
)
def test_each_rule_reads_in_its_own_way(text, words, pope, mme):
    assert (read_words(text), read_pope(text), read_mme(text)) == (words, pope, mme)


@pytest.mark.parametrize(
    ("gold", "answer", "value", "cell"),
    [
        ("Yes", "yes", 1.0, 0),
        ("no", "Yes.", 0.0, 1),
        ("yes", "no", 0.0, 2),
        ("No", "no", 1.0, 3),
    ],
)
def test_the_answer_counts_in_one_field_of_the_confusion_matrix(
    gold, answer, value, cell
):
    score = YesNo()(Sample(id="a", target=gold), Output.of(answer))

    assert (score.value, score.outcome) == (value, Outcome.SCORED)
    assert score.details["confusion"] == [int(place == cell) for place in range(6)]


def test_an_answer_with_neither_is_unparsed_and_still_counted():
    score = YesNo()(Sample(id="a", target="yes"), Output.of("maybe"))

    assert score.outcome is Outcome.UNPARSED
    assert score.details["confusion"] == [0, 0, 0, 0, 1, 0]


def test_silence_at_the_token_limit_is_not_a_yes_even_for_a_rule_that_never_abstains():
    score = YesNo("pope_official")(
        Sample(id="a", target="yes"), Output((Candidate((), "length"),))
    )

    assert (score.outcome, score.value) == (Outcome.TRUNCATED, 0.0)


def test_a_target_that_is_neither_is_a_fault_of_the_data():
    score = YesNo()(Sample(id="a", target="maybe"), Output.of("yes"))

    assert score.outcome is Outcome.DATA_ERROR
    assert "neither yes nor no" in score.details["reason"]


def test_an_unknown_rule_is_refused():
    with pytest.raises(UsageError, match="does not know rule='letters'"):
        YesNo("letters")


@settings(deadline=None)
@given(st.text(max_size=40), st.sampled_from(["yes", "no"]), st.sampled_from(RULES))
def test_every_answer_is_counted_exactly_once(text, gold, rule):
    score = YesNo(rule)(Sample(id="a", target=gold), Output.of(text))

    assert sum(score.details["confusion"]) == 1
    assert score.value in (0.0, 1.0)


@settings(deadline=None)
@given(st.sampled_from(["yes", "no"]), st.sampled_from(RULES))
def test_the_target_itself_is_right(gold, rule):
    assert YesNo(rule)(Sample(id="a", target=gold), Output.of(gold)).value == 1.0

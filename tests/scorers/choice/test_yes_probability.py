"""The probability of yes beside the verdict."""

import math

import pytest

from assay.core import Candidate, Output, Sample, Text, Token, UsageError
from assay.scorers.choice.yes_no import YesProbability, probability_of_yes


def output(text, *tokens):
    return Output((Candidate((Text(text),), tokens=tokens),))


def token(text, chance, **others):
    return Token(
        text,
        math.log(chance),
        tuple((name.replace("_", " "), math.log(p)) for name, p in others.items()),
    )


def test_yes_is_weighed_against_no_in_every_spelling_of_the_first_token():
    first = token("No", 0.5, Yes=0.2, _yes=0.1, Maybe=0.2)

    assert probability_of_yes(output("No.", first)) == pytest.approx(0.3 / 0.8)


def test_the_token_that_was_taken_counts_once_also_where_it_is_listed_again():
    assert probability_of_yes(
        output("Yes", token("Yes", 0.6, Yes=0.6, No=0.2))
    ) == pytest.approx(0.75)


@pytest.mark.parametrize(
    "said", [output("Yes"), output("A dog", token("A", 0.9)), Output()]
)
def test_without_yes_or_no_among_the_alternatives_there_is_no_probability(said):
    assert probability_of_yes(said) is None


def test_the_verdict_is_that_of_yes_no_and_the_probability_is_in_the_details():
    sample = Sample(id="a", target="yes")

    sure = YesProbability()(sample, output("No.", token("No", 0.6, Yes=0.4)))
    plain = YesProbability()(sample, Output.of("Yes."))

    assert (sure.value, sure.answer, sure.details["score"]) == (
        0.0,
        "no",
        pytest.approx(0.4),
    )
    assert (plain.value, plain.answer, "score" in plain.details) == (1.0, "yes", False)


def test_an_unknown_rule_is_refused():
    with pytest.raises(UsageError, match="does not know rule='guess'"):
        YesProbability("guess")

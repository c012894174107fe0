"""What a perplexity score keeps of one text."""

import math

import pytest

from assay.core import Likelihood, Message, Outcome, Output, Sample
from assay.scorers.text.perplexity import LastWord, Perplexity


def weighed(logprob, **fields):
    return Output(likelihoods=(Likelihood(logprob, **fields),))


def test_lengths_are_counted_in_words_and_utf8_bytes():
    score = Perplexity()(Sample(id="a", input="héllo wörld"), weighed(-15.0, tokens=7))

    assert score.details == {"logprob": -15.0, "tokens": 7, "words": 2, "bytes": 13}
    assert score.value == pytest.approx(15 / (13 * math.log(2)))


def test_the_text_may_be_in_a_column_or_in_messages():
    in_column = Sample(id="a", input="prompt", fields={"page": "one two"})
    in_messages = Sample(id="a", input=(Message.of("", "one two three"),))

    assert Perplexity(column="page")(in_column, weighed(-1.0)).details["words"] == 2
    assert Perplexity()(in_messages, weighed(-1.0)).details["words"] == 3


@pytest.mark.parametrize(
    "output", [Output(), weighed(-math.inf), weighed(math.nan), Output.of("text")]
)
@pytest.mark.parametrize("scorer", [Perplexity(), LastWord()])
def test_a_text_without_a_likelihood_is_a_model_error(scorer, output):
    score = scorer(Sample(id="a", input="text"), output)

    assert (score.value, score.outcome) == (None, Outcome.MODEL_ERROR)


def test_an_empty_text_is_a_fault_of_the_data():
    assert (
        Perplexity(column="page")(Sample(id="a", input="x"), weighed(-1.0)).outcome
        is Outcome.DATA_ERROR
    )


def test_the_last_word_is_right_when_greedy_decoding_writes_it():
    score = LastWord()(Sample(id="a"), weighed(-1.5, greedy=True, tokens=2))

    assert (score.value, score.details) == (1.0, {"logprob": -1.5, "tokens": 2})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        # `len(re.split(r"\s+", text))` of lm-evaluation-harness 0.4: a blank at either end bounds an empty word.
        ("one two three", 3),
        (" = Robert Boulter = \n", 6),
        ("\n two\t\nwords", 3),
        ("tail ", 2),
        (" ", 2),
        ("one", 1),
    ],
)
def test_words_are_counted_as_lm_eval_counts_them(text, words):
    score = Perplexity()(Sample(id="a", input=text), weighed(-1.0))

    assert score.details["words"] == words

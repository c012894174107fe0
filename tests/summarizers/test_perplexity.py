"""Perplexity of a corpus: sums first, one division last."""

import math
from types import SimpleNamespace

import pytest

from assay.core import Likelihood, Output, Sample, ScoreRecord
from assay.scorers.text.perplexity import LastWord, Perplexity
from assay.summarizers.text_corpora import item_perplexity, perplexity

CONTEXT = SimpleNamespace(
    task="t", model="m", protocol="t", scorer="p", n_expected=2, seed=1
)


def record(index, score):
    values, outcome = {"value": score.value}, str(score.outcome)
    return ScoreRecord(
        "t", "m", str(index), "p", "d", values, outcome, details=score.details
    )


def weigh(scorer, *rows):
    made = []
    for index, (text, logprob, tokens) in enumerate(rows):
        output = Output(likelihoods=(Likelihood(logprob, tokens=tokens),))
        made.append(record(index, scorer(Sample(id=str(index), input=text), output)))
    return made


def test_documents_are_weighted_by_their_length():
    made = weigh(
        Perplexity(), ("the cat sat on the mat", -20.0, 6), ("héllo wörld", -15.0, 8)
    )

    results = {result.metric: result for result in perplexity(made, CONTEXT)}

    assert results["word_perplexity"].value == pytest.approx(79.439840, abs=1e-6)
    assert results["byte_perplexity"].value == pytest.approx(2.718282, abs=1e-6)
    assert results["bits_per_byte"].value == pytest.approx(1.442695, abs=1e-6)
    assert results["token_perplexity"].value == pytest.approx(math.exp(35 / 14))
    assert not any(result.higher_is_better for result in results.values())


def test_the_interval_holds_the_value_and_the_failures_are_counted():
    rows = [("one two three", -9.0 - 0.1 * i, 3) for i in range(20)]
    failed = ScoreRecord("t", "m", "x", "p", "d", {}, "model_error")

    result = next(iter(perplexity([*weigh(Perplexity(), *rows), failed], CONTEXT)))

    assert result.ci[0] < result.value < result.ci[1]
    assert (result.n, result.outcomes["model_error"]) == (20, 1)


def test_token_perplexity_is_left_out_where_tokens_were_not_counted():
    made = weigh(Perplexity(), ("one two", -3.0, None), ("three four", -4.0, None))

    assert "token_perplexity" not in {
        result.metric for result in perplexity(made, CONTEXT)
    }


def test_lambada_takes_each_last_word_once_however_long():
    made = weigh(LastWord(), ("a", -1.0, 1), ("b", -2.0, 9), ("c", -3.0, 1))

    (result,) = item_perplexity(made, CONTEXT)

    assert result.value == pytest.approx(7.389056, abs=1e-6)


def test_a_perplexity_past_every_float_has_no_value():
    made = weigh(Perplexity(), ("one", -1e6, 1), ("two", -1e6, 1))

    result = next(iter(perplexity(made, CONTEXT)))

    assert (result.value, result.interval) == (None, "none: undefined on these counts")


def test_no_records_at_all_give_no_value():
    assert [result.value for result in perplexity([], CONTEXT)] == [None, None, None]

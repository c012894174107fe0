"""The bigram example, whose probabilities are known exactly."""

from math import isclose, log
from pathlib import Path

from assay.code.userfiles import load_attribute
from assay.core import GenerateOptions, Message, Prompt, Request
from assay.models import build_model

REFERENCE = f"{Path(__file__).parents[2] / 'examples' / 'bigram.py'}:Bigram"


def test_its_probabilities_are_those_counted_by_hand():
    model = build_model(REFERENCE, {"text": "a b a c ."})
    request = Request(
        Prompt((Message.of("user", "x a"),), continuations=("b", "b a", "zebra"))
    )

    [output] = model.likelihood([request])

    # Words: . <unk> a b c, so V = 5; `a` begins two pairs, `b` one.
    expected = [log(2 / 7), log(2 / 7) + log(2 / 6), log(1 / 7)]
    assert all(
        isclose(w.logprob, e) for w, e in zip(output.likelihoods, expected, strict=True)
    )
    assert [w.tokens for w in output.likelihoods] == [1, 2, 1]
    assert [w.greedy for w in output.likelihoods] == [True, True, False]


def test_the_probabilities_after_any_word_sum_to_one():
    bigram = load_attribute(REFERENCE)()

    sums = [
        sum(bigram.probability(word, after) for word in bigram.words)
        for after in [*bigram.words, "zebra"]
    ]

    assert all(isclose(total, 1.0) for total in sums)


def test_a_rolling_request_weighs_the_text_itself():
    model = build_model(REFERENCE, {"text": "a b a c ."})
    request = Request(Prompt((Message.of("user", "a b"),), rolling=True))

    [output] = model.likelihood([request])

    assert isclose(output.likelihoods[0].logprob, log(1 / 5) + log(2 / 7))


def test_it_writes_greedily_until_a_full_stop_or_the_limit():
    model = build_model(REFERENCE)
    mat, on = (
        Prompt((Message.of("user", "the mat"),)),
        Prompt((Message.of("user", "on"),)),
    )

    stopped, cut = model.generate(
        [Request(mat), Request(on, GenerateOptions(max_tokens=2))]
    )

    assert (stopped.text, stopped.stop_reason) == (".", "stop")
    assert (cut.text, cut.stop_reason) == ("the cat", "length")


def test_it_declares_what_it_can_do():
    abilities = build_model(REFERENCE).abilities

    assert (abilities.accepts, abilities.produces, abilities.likelihood) == (
        {"text"},
        {"text"},
        True,
    )

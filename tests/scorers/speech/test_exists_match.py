"""Exists-match: references as whole words somewhere in what was said."""

import pytest

from assay.core import AllOf, Candidate, Outcome, Output, Sample
from assay.scorers.speech.exists_match import ExistsMatch, spoken_tokens


def value(target, said):
    return ExistsMatch()(Sample(id="a", target=target), Output.of(said)).value


@pytest.mark.parametrize(
    ("target", "said", "expected"),
    [
        ("Paris", "It is paris, of course.", 1.0),
        ("Paris", "It is Parisian food.", 0.0),
        ("New York", "in New-York City", 1.0),
        ("New York", "New is not York", 0.0),
        ("北京", "答案是北京。", 1.0),
        ("北京", "答案是北 京", 1.0),
        ("北京", "北方的京城", 0.0),
        ("20", "it costs $20.", 1.0),
        ("C++", "I prefer C.", 0.0),
        ("2024", "２０２４年", 1.0),
        ("it's", "It’s here", 1.0),
        ("café", "the cafe\u0301 is open", 1.0),
    ],
)
def test_a_plain_reference_occurs_as_whole_words(target, said, expected):
    assert value(target, said) == expected


@pytest.mark.parametrize(
    ("target", "said", "expected"),
    [
        (("cat", "dog"), "a dog", 1.0),
        (("cat", "dog"), "a cow", 0.0),
        (AllOf(("cat", "dog")), "a dog and a cat", 1.0),
        (AllOf(("cat", "dog")), "only a dog", 0.0),
        (AllOf((("cat", "kitten"), "dog")), "a kitten, a dog", 1.0),
        ((AllOf(("cat", "dog")), "cow"), "a cow", 1.0),
        ((AllOf(("cat", "dog")), "cow"), "a cat", 0.0),
        (["cat", AllOf((["dog", "hound"], "cow"))], "hound and cow", 1.0),
    ],
)
def test_alternatives_and_parts_nest(target, said, expected):
    assert value(target, said) == expected


@pytest.mark.parametrize("target", ["...", "", ("cat", "？！"), AllOf(("cat", "…"))])
def test_a_reference_without_words_is_a_fault_of_the_data_and_matches_nothing(target):
    score = ExistsMatch()(Sample(id="a", target=target), Output.of("anything"))

    assert (score.value, score.outcome) == (None, Outcome.DATA_ERROR)
    assert "has no words" in score.details["reason"]


def test_the_references_found_are_the_answer():
    score = ExistsMatch()(
        Sample(id="a", target=AllOf(("cat", "dog"))), Output.of("dog, cat")
    )

    assert score.answer == "cat … dog"


def test_silence_cut_by_the_limit_is_truncated():
    score = ExistsMatch()(
        Sample(id="a", target="x"), Output((Candidate((), "length"),))
    )

    assert score.outcome is Outcome.TRUNCATED


def test_a_sample_without_reference_is_a_fault_of_the_data():
    assert ExistsMatch()(Sample(id="a"), Output.of("x")).outcome is Outcome.DATA_ERROR


def test_each_chinese_character_and_each_sign_is_a_token():
    assert spoken_tokens("用Python3写，a+b=日本") == [
        "用",
        "python3",
        "写",
        "a",
        "+",
        "b",
        "=",
        "日",
        "本",
    ]


@pytest.mark.parametrize(
    "target", [{"text": "none"}, (None,), AllOf(("x", ("y", None)))]
)
def test_a_reference_that_is_not_text_is_a_fault_of_the_data(target):
    score = ExistsMatch()(Sample(id="a", target=target), Output.of("none and text"))

    assert (score.value, score.outcome) == (None, Outcome.DATA_ERROR)

"""Request keys: everything that may change an answer changes the key, and nothing else does."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core import (
    GenerateOptions,
    Image,
    Json,
    KeyMaker,
    Message,
    Prompt,
    Reasoning,
    Request,
    Text,
    UsageError,
)

# Control characters on purpose: they are what a key is put together with.
words = st.text(st.sampled_from('ab\x00\x01\x02\x03\x04\x0513{"}:,\ud800é'), max_size=6)
parts = st.one_of(
    words.map(Text),
    words.map(Reasoning),
    st.one_of(words, st.integers(-2, 2), st.lists(words, max_size=2)).map(Json),
    st.binary(max_size=3).map(Image),
)
messages = st.builds(Message, words, st.none() | st.lists(parts, max_size=3).map(tuple))
prompts = st.builds(
    Prompt,
    st.lists(messages, max_size=3).map(tuple),
    produces=st.sampled_from([("text",), ("image",), ("text", "audio")]),
    continuations=st.none() | st.lists(words, max_size=2).map(tuple),
    rolling=st.booleans(),
)
options = st.builds(
    GenerateOptions,
    temperature=st.sampled_from([None, 0, 0.0, 1, 1.0]),
    max_tokens=st.sampled_from([None, 1, 16]),
    stop=st.lists(words, max_size=2).map(tuple),
    seed=st.sampled_from([None, 0, 1]),
    n=st.sampled_from([1, 2]),
    logprobs=st.sampled_from([None, 0, 1]),
)
asked = st.tuples(
    st.dictionaries(words, words, max_size=2),
    prompts,
    options,
    st.sampled_from([None, 0, 1, 10]),
    st.sampled_from([0, 1, 10]),
    st.dictionaries(words, words, max_size=1),
    st.sampled_from(["", "0", "ab" * 16]),
)


def key_of(question):
    identity, prompt, chosen, seed, repeat, hints, previous = question
    return KeyMaker(identity).key(
        Request(prompt, chosen, seed, repeat, None, hints), previous
    )


@settings(max_examples=150, deadline=None)
@given(asked, asked)
def test_two_requests_have_one_key_exactly_when_they_are_the_same(one, other):
    assert (key_of(one) == key_of(other)) == (one == other)


@settings(max_examples=100, deadline=None)
@given(asked, words, words)
def test_text_split_over_parts_or_turns_differently_is_another_request(
    question, head, tail
):
    identity, prompt, *rest = question
    ways = [
        (Message("user", (Text(head + tail),)),),
        (Message("user", (Text(head), Text(tail))),),
        (Message("user", (Text(head),)), Message("user", (Text(tail),))),
        (Message("user" + head, (Text(tail),)),),
    ]
    keys = {
        (key_of((identity, replace(prompt, messages=way), *rest)), way) for way in ways
    }

    assert len({key for key, _ in keys}) == len({way for _, way in keys})


def drawn(rng):
    """A request of few pieces, so that many of ten thousand differ in one place only."""

    def part():
        text = rng.choice(["", "a", "b", "ab", "\x03", "\x001\x00a"])
        return rng.choice(
            [Text(text), Text(text), Reasoning(text), Json(text), Image(text.encode())]
        )

    turns = tuple(
        Message(
            rng.choice(["user", "u", "ser"]),
            tuple(part() for _ in range(rng.randrange(3))) or None,
        )
        for _ in range(rng.randrange(3))
    )
    prompt = Prompt(
        turns, continuations=rng.choice([None, (), ("a",), ("a", "b"), ("ab",)])
    )
    chosen = GenerateOptions(
        temperature=rng.choice([None, 0.0, 1.0]), max_tokens=rng.choice([None, 1])
    )
    identity = rng.choice(
        [{}, {"model": "a"}, {"model": "a", "revision": "b"}, {"model": {"a": "b"}}]
    )
    previous = rng.choice(["", "0", "1"])
    hints = rng.choice([{}, {"a": 1}, {"a": "1"}])
    return (
        identity,
        prompt,
        chosen,
        rng.choice([None, 0, 1]),
        rng.choice([0, 1]),
        hints,
        previous,
    )


def test_ten_thousand_requests_give_no_false_hit():
    rng = random.Random(5)
    answers: dict[str, str] = {}

    for _ in range(10_000):
        question = drawn(rng)
        identity, prompt, *rest = question
        told_apart = repr(
            (
                identity,
                [
                    (
                        m.role,
                        m.parts
                        and [(p.kind, getattr(p, "digest", p)) for p in m.parts],
                    )
                    for m in prompt.messages
                ],
                prompt.continuations,
                rest,
            )
        )
        assert answers.setdefault(key_of(question), told_apart) == told_apart

    assert len(set(answers.values())) == len(answers) > 5_000


BASE = Request(
    Prompt((Message("user", (Text("2+2?"),)),)),
    GenerateOptions(temperature=0.5),
    1,
    0,
    None,
    {"b": "x"},
)


@pytest.mark.parametrize(
    "changed",
    [
        replace(BASE, seed=2),
        replace(BASE, seed=None),
        replace(BASE, repeat=1),
        replace(BASE, hints={}),
        replace(BASE, hints={"b": "y"}),
        replace(
            BASE,
            prompt=replace(BASE.prompt, messages=(Message("system", (Text("2+2?"),)),)),
        ),
        replace(
            BASE,
            prompt=replace(BASE.prompt, messages=(Message("user", (Text("2+2? "),)),)),
        ),
        replace(
            BASE,
            prompt=replace(
                BASE.prompt, messages=(*BASE.messages, Message("assistant"))
            ),
        ),
        replace(
            BASE,
            prompt=replace(
                BASE.prompt, messages=(Message("user", (Image(b"a"), Text("2+2?"))),)
            ),
        ),
        replace(
            BASE,
            prompt=replace(
                BASE.prompt, messages=(Message("user", (Image(b"b"), Text("2+2?"))),)
            ),
        ),
        replace(BASE, prompt=replace(BASE.prompt, continuations=("4",))),
        replace(BASE, prompt=replace(BASE.prompt, rolling=True)),
        replace(BASE, prompt=replace(BASE.prompt, produces=("image",))),
    ],
)
def test_a_change_of_the_question_changes_the_key(changed):
    keys = KeyMaker({"model": "m"})

    assert keys.key(changed) != keys.key(BASE)


@pytest.mark.parametrize(
    "option",
    [
        {"temperature": 0.0},
        {"top_p": 0.9},
        {"top_k": 3},
        {"min_p": 0.1},
        {"max_tokens": 5},
        {"stop": ("a",)},
        {"seed": 1},
        {"n": 2},
        {"logprobs": 0},
        {"frequency_penalty": 0.1},
        {"presence_penalty": 0.1},
        {"repetition_penalty": 1.1},
        {"reasoning_effort": "low"},
        {"response_format": "json"},
    ],
)
def test_every_option_is_part_of_the_key(option):
    keys = KeyMaker({"model": "m"})

    assert keys.key(replace(BASE, options=BASE.options.set(**option))) != keys.key(BASE)


def test_identity_and_the_round_before_are_part_of_the_key():
    keys = {
        KeyMaker(identity).key(BASE, previous)
        for identity in (
            {"model": "m"},
            {"model": "m", "revision": 2},
            {"model": ["m"]},
        )
        for previous in ("", "k1", "k2")
    }

    assert len(keys) == 9


def test_turn_state_id_and_details_are_not_part_of_the_key():
    keys = KeyMaker({"model": "m"})
    same = replace(
        BASE,
        state=object(),
        id="another",
        prompt=replace(BASE.prompt, details={"shots": [1]}),
    )

    assert keys.key(same) == keys.key(BASE)


def test_a_key_does_not_depend_on_what_was_asked_before_it():
    whole, real = GenerateOptions(temperature=1), GenerateOptions(temperature=1.0)  # type: ignore[arg-type]

    first = KeyMaker({}).key(replace(BASE, options=whole))

    assert first == KeyMaker({}).key(replace(BASE, options=real))
    assert whole.given() == real.given() == {"temperature": 1.0}
    assert str(whole.given()["temperature"]) == "1.0"


def test_stop_may_be_one_text_or_a_list():
    assert (
        GenerateOptions(stop=["a"])
        == GenerateOptions(stop="a")
        == GenerateOptions().set(stop=("a",))
    )  # type: ignore[arg-type]
    assert hash(GenerateOptions(stop=["a"]))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"temperatur": 1}, "did you mean 'temperature'"),
        ({"temperature": "hot"}, "'temperature' takes a number, got 'hot'"),
        ({"top_p": True}, "'top_p' takes a number"),
        ({"n": 0}, "'n' takes a whole number from 1, got 0"),
        ({"n": None}, "'n' takes a whole number from 1"),
        ({"max_tokens": "many"}, "'max_tokens' takes a whole number"),
        ({"logprobs": -1}, "'logprobs' takes a whole number from 0"),
    ],
)
def test_a_wrong_option_is_reported_before_anything_is_asked(option, message):
    with pytest.raises(UsageError, match=message):
        GenerateOptions().set(**option)


def test_hints_that_were_changed_in_place_make_another_key():
    keys, hints = KeyMaker({"model": "m"}), {"dataset": "a"}
    first = keys.key(replace(BASE, hints=hints))

    hints["dataset"] = "b"

    assert keys.key(replace(BASE, hints=hints)) != first
    assert keys.key(replace(BASE, hints=hints)) == KeyMaker({"model": "m"}).key(
        replace(BASE, hints={"dataset": "b"})
    )


def test_hints_that_were_changed_deep_inside_make_another_key():
    keys, hints = KeyMaker({"model": "m"}), {"dataset": {"name": "a"}, "tags": ["x"]}
    first = keys.key(replace(BASE, hints=hints))

    hints["dataset"]["name"] = "b"
    second = keys.key(replace(BASE, hints=hints))
    hints["tags"].append("y")

    assert len({first, second, keys.key(replace(BASE, hints=hints))}) == 3
    assert second == KeyMaker({"model": "m"}).key(
        replace(BASE, hints={"dataset": {"name": "b"}, "tags": ["x"]})
    )


@pytest.mark.parametrize("value", [1, 1.0, True, "1", None])
def test_a_hint_that_equals_another_has_its_own_key_whatever_was_asked_before(value):
    keys, hints = KeyMaker({"model": "m"}), {"a": 1}
    keys.key(replace(BASE, hints=hints))

    hints["a"] = value

    assert keys.key(replace(BASE, hints=hints)) == KeyMaker({"model": "m"}).key(
        replace(BASE, hints={"a": value})
    )

"""Calling a model: what it returns in a wrong shape is a failure that says so, never an answer."""

import asyncio
import inspect

import pytest

import assay
from assay.core import (
    Abilities,
    Candidate,
    Likelihood,
    Message,
    Output,
    Prompt,
    Request,
)
from assay.runner.ask.calls import call_async, call_in_halves, call_model
from assay.store import RunReader

RIGHT = Output.of("x")
WEIGHED = Output(likelihoods=(Likelihood(-1.0), Likelihood(-2.0, True)))
BUILT = "return an Output with an answer, as in Output.of(text)"
EACH = "return one for each"
IN_A_LIST = "as in [answer async for answer in …]"
NO_ANSWER = f"Ready returned an Output without candidates and without an error; {BUILT}"


class Ready:
    """A model as the runner takes it, which returns whatever a test wants."""

    abilities = Abilities(likelihood=True)
    identity = {"ready": 1}  # noqa: RUF012

    def __init__(self, returns):
        self.returns, self.calls = returns, 0

    def generate(self, requests):
        self.calls += 1
        return self.returns(requests)

    likelihood = generate


class Awaited(Ready):
    """The same, asked for one answer at a time."""

    async def generate(self, requests):
        return Ready.generate(self, requests)

    likelihood = generate


class Yielding(Ready):
    """A model whose author took `yield` for `return`."""

    async def generate(self, requests):
        for _ in requests:
            yield RIGHT

    likelihood = generate


Awaited.__name__ = Yielding.__name__ = "Ready"


async def coroutine():
    return [RIGHT]


async def async_generator():
    yield RIGHT


def text(count):
    return [Request(Prompt((Message.of("user", f"q{at}"),))) for at in range(count)]


def pairs(count):
    return [
        Request(Prompt((Message.of("user", f"q{at}"),), continuations=("a", "b")))
        for at in range(count)
    ]


def rolling(count):
    return [
        Request(Prompt((Message.of("", f"q{at}"),), rolling=True))
        for at in range(count)
    ]


def ask_one(model, request):
    if inspect.iscoroutinefunction(model.generate):
        return asyncio.run(call_async(model, request))
    return call_model(model, [request])[0]


SHAPES = {
    "nothing": (lambda _: None, f"Ready was given 1 request and returned None; {EACH}"),
    "too few": (lambda _: [], f"Ready was given 1 request and returned 0 answers; {EACH}"),
    "too many": (lambda requests: [RIGHT] * 2, f"Ready was given 1 request and returned 2 answers; {EACH}"),
    "not listed": (lambda _: RIGHT, f"Ready was given 1 request and returned one Output, not a list of them; {EACH}"),
    "a text": (lambda _: "x", f"Ready was given 1 request and returned 'x'; {EACH}"),
    "a coroutine": (lambda _: coroutine(), "Ready returned a coroutine; declare it with `async def`"),
    "an async generator": (
        lambda _: async_generator(),
        f"Ready was given 1 request and returned an async generator; {EACH} in a list, {IN_A_LIST}",
    ),
    "a None for an output": (lambda _: [None], f"Ready returned None for one request; {BUILT}"),
    "a text for an output": (lambda _: ["x"], f"Ready returned 'x' for one request; {BUILT}"),
}  # fmt: skip


@pytest.mark.parametrize("kind", [Ready, Awaited])
@pytest.mark.parametrize("requests", [text, pairs])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_wrong_shape_is_one_line_that_says_what_was_returned(kind, requests, shape):
    returns, line = SHAPES[shape]

    output = ask_one(kind(returns), requests(1)[0])

    assert (output.error.kind, output.error.message, output.error.retryable) == (
        "exception",
        line,
        False,
    )


@pytest.mark.parametrize("requests", [text, pairs])
def test_the_error_for_a_model_that_yields_asks_it_to_return(requests):
    output = ask_one(Yielding(None), requests(1)[0])

    assert output.error.message == SHAPES["an async generator"][1]


@pytest.mark.parametrize("kind", [Ready, Awaited])
@pytest.mark.parametrize(
    ("returned", "line"),
    [
        (Output(), NO_ANSWER),
        (WEIGHED, NO_ANSWER),
        (Output("x"), f"Ready returned an Output with 'x' for a candidate; {BUILT}"),
        (
            Output((Candidate("x"),)),
            "Ready returned an Output with Candidate(parts='x'",
        ),
        (
            Output((Candidate(("x",)),)),
            "Ready returned an Output with Candidate(parts=('x',)",
        ),
    ],
    ids=[
        "empty",
        "weights",
        "a text for candidates",
        "a text for parts",
        "a text for a part",
    ],
)
def test_an_output_without_an_answer_is_not_a_wrong_answer(kind, returned, line):
    output = ask_one(kind(lambda _: [returned]), text(1)[0])

    assert output.error.kind == "exception" and output.error.message.startswith(line)


@pytest.mark.parametrize("kind", [Ready, Awaited])
@pytest.mark.parametrize(
    ("returned", "expected", "line"),
    [
        (RIGHT, "exception", "Ready returned likelihoods of 0 of 2 continuations"),
        (
            Output(likelihoods=(Likelihood(-1.0),)),
            "exception",
            "Ready returned likelihoods of 1 of 2 continuations",
        ),
        (
            Output(likelihoods=(-1.0, -2.0)),
            "exception",
            "Ready returned -1.0 for continuation 1; return one log-",
        ),
        (
            Output(likelihoods=(Likelihood(-1.0), Likelihood(float("nan")))),
            "non_finite",
            "Ready returned nan for",
        ),
        (
            Output(likelihoods=(Likelihood(0.5), Likelihood(-1.0))),
            "exception",
            "Ready returned 0.5 for continuation 1",
        ),
    ],
    ids=["none", "too few", "numbers", "nan", "a probability"],
)
def test_weights_that_are_none_are_not_compared(kind, returned, expected, line):
    output = ask_one(kind(lambda _: [returned]), pairs(1)[0])

    assert output.error.kind == expected and output.error.message.startswith(line)


@pytest.mark.parametrize("kind", [Ready, Awaited])
@pytest.mark.parametrize(
    "listed", [list, tuple, iter, lambda outputs: (output for output in outputs)]
)
def test_what_can_be_listed_is_taken_as_it_comes(kind, listed):
    one, other, whole = (
        Output.of("x"),
        Output(likelihoods=WEIGHED.likelihoods),
        Output(likelihoods=(Likelihood(-3.0),)),
    )

    assert ask_one(kind(lambda _: listed([one])), text(1)[0]) is one
    assert ask_one(kind(lambda _: listed([other])), pairs(1)[0]) is other
    assert ask_one(kind(lambda _: listed([whole])), rolling(1)[0]) is whole


def test_one_wrong_output_leaves_its_neighbours_alone_and_is_not_asked_again():
    model = Ready(lambda requests: [Output.of("x"), None, Output.of("z")])

    outputs = call_model(model, text(3))

    assert [output.text for output in outputs] == ["x", "", "z"]
    assert [output.error is None for output in outputs] == [True, False, True]
    assert model.calls == 1


def test_too_few_outputs_fail_the_whole_batch():
    model = Ready(lambda requests: [RIGHT] * (len(requests) - 1))

    outputs, _ = call_in_halves(model, text(3))

    line = f"Ready was given 3 requests and returned 2 answers; {EACH}"
    assert [output.error.message for output in outputs] == [line] * 3
    assert model.calls == 1


def test_a_generator_that_raises_is_asked_again_in_halves():
    def answers(requests):
        for request in requests:
            if request.messages[-1].text == "q1":
                raise TypeError("not this one")
            yield Output.of("x")

    outputs = call_model(Ready(answers), text(3))

    assert [output.text for output in outputs] == ["x", "", "x"]
    assert outputs[1].error.message == "TypeError: not this one"


@pytest.mark.parametrize("kind", [Ready, Awaited])
def test_a_run_counts_outputs_without_an_answer_as_failures_of_the_model(
    kind, tmp_path
):
    rows = [{"id": f"s{at}", "question": "?", "answer": "x"} for at in range(3)]

    assay.run(
        assay.Task("qa", rows),
        kind(lambda requests: [Output()] * len(requests)),
        output=str(tmp_path / "run"),
        on_error="continue",
    )

    result = RunReader(tmp_path / "run").summary["results"][0]
    assert result["value"] is None and result["outcomes"] == {"model_error": 3}


class Weighing:
    """Writes and weighs; each of its calls must be of one kind."""

    abilities = Abilities(likelihood=True)
    identity = {"weighing": 1}  # noqa: RUF012

    def generate(self, requests):
        assert all(request.prompt.continuations is None for request in requests)
        return [Output.of(request.messages[-1].text) for request in requests]

    def likelihood(self, requests):
        assert all(request.prompt.continuations for request in requests)
        return [Output(likelihoods=(Likelihood(-1.0, True),)) for _ in requests]


def test_a_batch_of_questions_and_texts_to_weigh_is_two_calls_of_one_kind_each():
    written = [Request(Prompt((Message.of("user", word),))) for word in "ab"]
    weighed = [
        Request(Prompt((Message.of("user", word),), continuations=("x",)))
        for word in "cd"
    ]

    outputs = call_model(Weighing(), [written[0], weighed[0], weighed[1], written[1]])

    assert [output.error for output in outputs] == [None] * 4
    assert [output.text for output in (outputs[0], outputs[3])] == ["a", "b"]
    assert [len(output.likelihoods) for output in outputs] == [0, 1, 1, 0]

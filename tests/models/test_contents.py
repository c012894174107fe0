"""Contents of an output: what nobody can count, open or write down fails its own sample."""

import math
from decimal import Decimal

import pytest

import assay
from assay.core import (
    EMPTY,
    Audio,
    Candidate,
    ErrorInfo,
    Image,
    Json,
    Likelihood,
    Message,
    Output,
    Prompt,
    Reasoning,
    Request,
    Text,
    Token,
    Usage,
)
from assay.models.shapes import checked, fault_in
from assay.store import RunReader

ENDLESS: dict[str, object] = {}
ENDLESS["again"] = ENDLESS


def said(*parts, **more):
    return Output((Candidate(parts or (Text("x"),), "stop"),), **more)


def raises(source):
    raise RuntimeError("no such camera")


ODD = {
    "usage that is a dictionary": (said(usage={"input_tokens": 3}), "{'input_tokens': 3} for usage; give Usage("),
    "seconds that are text": (said(seconds="x"), "'x' for seconds; give a finite number"),
    "endless seconds": (said(seconds=math.inf), "inf for seconds"),
    "details that are text": (said(details="x"), "'x' for details; give a dictionary"),
    "details without an end": (said(details=ENDLESS), "for details; give a dictionary that JSON can hold"),
    "a text that is a number": (said(Text(4)), "Text(4); give it text"),
    "thoughts that are none": (said(Reasoning(None), Text("x")), "Reasoning(None); give it text"),
    "a structure without an end": (said(Json(ENDLESS)), "which cannot be written"),
    "a picture that is not there": (said(Image("/no/such.png")), "an image that cannot be opened: cannot open image"),
    "a picture elsewhere": (said(Image("http://example.org/x.png")), "given by URL was not fetched ('http://example"),
    "base64 that is none": (said(Audio("data:audio/wav;base64,@@@")), "an audio that cannot be opened: audio is not"),
    "a reader that raises": (said(Image(1, read=raises)), "cannot be opened: RuntimeError: no such camera"),
    "a token's weight": (
        Output((Candidate((Text("4"),), "stop", (Token("4", "x"),)),)),
        "Token(text='4', logprob='x', top=()) for a token",
    ),
    "a token's rival": (Output((Candidate((Text("4"),), "stop", (Token("4", -1.0, ("4",)),)),)), "for a token; give"),
    "tokens that are none": (Output((Candidate((Text("4"),), "stop", "4"),)), "for a token; give"),
    "ids that are text": (Output((Candidate((Text("4"),), "stop", (), ("a",)),)), "('a',) for token_ids"),
    "a reason that is a number": (Output((Candidate((Text("4"),), 42),)), "42 for a stop_reason; give text or None"),
    "an error that is text": (Output(error="boom"), "'boom' for an error; give ErrorInfo(kind, message)"),
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
def test_an_unusable_output_is_a_failure_with_the_reason(odd):
    output, line = ODD[odd]

    failed = checked(output, Request(Prompt((Message.of("user", "?"),))), "Model")

    assert (failed.error.kind, failed.error.retryable) == ("exception", False)
    assert (
        failed.error.message.startswith("Model returned an Output with ")
        and line in failed.error.message
    )


@pytest.mark.parametrize("odd", ODD)
def test_it_fails_its_own_sample_and_the_run_continues(odd, tmp_path):
    class Model:
        abilities = assay.core.Abilities()
        identity = {"odd": 1}  # noqa: RUF012

        def generate(self, requests):
            return [
                ODD[odd][0] if request.id == "1" else Output.of("x")
                for request in requests
            ]

    rows = [{"id": str(n), "question": "?", "answer": "x"} for n in range(3)]

    result = assay.run(
        assay.Task("t", rows, scorers="exact_match"),
        Model(),
        output=str(tmp_path / "run"),
    )

    assert (result[0].value, result[0].outcomes) == (
        1.0,
        {"scored": 2, "model_error": 1},
    )
    assert "NaN" not in (tmp_path / "run" / "summary.json").read_text()
    assert [
        record.id for record in RunReader(tmp_path / "run").outputs() if record.failed
    ] == ["1"]


@pytest.mark.parametrize(
    "output",
    [
        said(usage=Usage(3, 0, None, None, 0.01), seconds=0.5, details={"x": object()}),
        said(
            Reasoning("hm"),
            Text("x"),
            Json({"a": [1, None]}),
            Image(b"no picture, but bytes"),
        ),
        Output(
            (
                Candidate(
                    (Text("4"),),
                    None,
                    (Token("4", math.nan), Token("5", -math.inf, (("6", -1),))),
                    (4, 5),
                ),
            )
        ),
        Output(error=ErrorInfo("oom", "too large")),
        said(details=EMPTY),
    ],
)
def test_what_can_be_worked_with_is_passed_on_untouched(output):
    assert fault_in(output) is None
    assert (
        checked(output, Request(Prompt((Message.of("user", "?"),))), "Model") is output
    )


def test_numbers_of_numpy_are_numbers():
    numpy = pytest.importorskip("numpy")
    token = Token("4", numpy.float32(-1.5))

    output = Output(
        (Candidate((Text("4"),), "stop", (token,), (numpy.int64(4),)),),
        seconds=numpy.float32(0.5),
        usage=Usage(numpy.int64(3)),
    )

    assert fault_in(output) is None


ASK = Request(Prompt((Message.of("user", "?"),)))
WEIGH = Request(Prompt((Message.of("user", "?"),), continuations=("a",)))


@pytest.mark.parametrize(
    "wrong", ["3", -5, math.nan, math.inf, True, [1], Decimal("nan"), Decimal("snan")]
)
@pytest.mark.parametrize("name", ["output_tokens", "cost"])
def test_an_invalid_count_is_dropped_and_the_answer_kept(name, wrong):
    output = checked(said(usage=Usage(input_tokens=7, **{name: wrong})), ASK, "Model")

    assert (output.error, output.text, output.usage) == (
        None,
        "x",
        Usage(input_tokens=7),
    )


def test_numbers_of_other_libraries_are_made_plain(tmp_path):
    numpy = pytest.importorskip("numpy")
    usage = Usage(numpy.int64(3), numpy.array(4), cost=Decimal("0.1"))

    output = checked(said(usage=usage, seconds=numpy.array(0.5)), ASK, "Model")

    counts = (
        output.usage.input_tokens,
        output.usage.output_tokens,
        output.usage.cost,
        output.seconds,
    )
    assert counts == (3, 4, 0.1, 0.5) and [type(count) for count in counts] == [
        int,
        int,
        float,
        float,
    ]


def test_ids_may_be_an_array_a_range_or_a_list():
    numpy = pytest.importorskip("numpy")
    given = [numpy.array([1, 2]), range(1, 3), [1, 2]]

    output = checked(
        Output(tuple(Candidate((Text("x"),), None, (), ids) for ids in given)),
        ASK,
        "Model",
    )

    assert [candidate.token_ids for candidate in output.candidates] == [(1, 2)] * 3


def test_ids_of_two_dimensions_are_a_failure():
    numpy = pytest.importorskip("numpy")

    failed = checked(
        Output((Candidate((Text("x"),), None, (), numpy.array([[1], [2]])),)),
        ASK,
        "Model",
    )

    assert "([1], [2]) for token_ids; give whole numbers" in failed.error.message


def test_a_weight_may_be_an_array_of_one_number_or_a_decimal():
    numpy = pytest.importorskip("numpy")

    outputs = [
        checked(
            Output(likelihoods=(Likelihood(weight, numpy.bool_(True)),)), WEIGH, "Model"
        )
        for weight in (numpy.array(-1.0), numpy.float32(-1), Decimal("-1"))
    ]

    assert [output.likelihoods for output in outputs] == [(Likelihood(-1.0, True),)] * 3
    assert {type(output.likelihoods[0].logprob) for output in outputs} == {float}


@pytest.mark.parametrize("wrong", ["-1", True, None, [-1.0]])
def test_a_log_probability_must_be_a_number(wrong):
    failed = checked(Output(likelihoods=(Likelihood(wrong),)), WEIGH, "Model")

    assert "for continuation 1; return one log-probability" in failed.error.message


def test_a_run_writes_the_numbers_of_other_libraries(tmp_path):
    numpy = pytest.importorskip("numpy")

    class Model:
        abilities = assay.core.Abilities()
        identity = {"numbers": 1}  # noqa: RUF012
        batch_size = numpy.int64(2)

        def generate(self, requests):
            usage = Usage(numpy.int64(3), cost=Decimal("0.1"))
            return [
                Output(
                    (Candidate((Text("x"),), None, (), numpy.array([1])),), usage=usage
                )
                for _ in requests
            ]

    rows = [{"id": str(n), "question": "?", "answer": "x"} for n in range(3)]

    result = assay.run(
        assay.Task("t", rows, scorers="exact_match"),
        Model(),
        output=str(tmp_path / "run"),
    )

    assert (result[0].value, result[0].outcomes) == (1.0, {"scored": 3})
    [first, *_] = RunReader(tmp_path / "run").outputs()
    assert first.output["usage"] == {"input_tokens": 3, "cost": 0.1}
    assert first.output["candidates"][0]["token_ids"] == [1]


def test_a_weight_that_is_text_is_a_failure():
    asked = Request(Prompt((Message.of("user", "?"),), continuations=("a",)))

    failed = checked(Output(likelihoods=(Likelihood("-1"),)), asked, "Model")

    assert "for continuation 1; return one log-probability" in failed.error.message

"""Records: what goes to the journal comes back equal."""

import json
import math

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core import (
    Audio,
    Candidate,
    ErrorInfo,
    Image,
    Json,
    Likelihood,
    Output,
    Reasoning,
    Result,
    Text,
    Token,
    Usage,
    as_output,
)
from assay.core.record import output_from_plain, output_to_plain, result_from_plain
from assay.store.journal import OutputLine, decode_output, seal

logprobs = st.floats(max_value=0, allow_nan=False)
tokens = st.builds(
    Token,
    st.text(max_size=3),
    logprobs,
    st.lists(st.tuples(st.text(max_size=3), logprobs), max_size=2).map(tuple),
)
media = st.one_of(st.binary(max_size=3).map(Image), st.binary(max_size=3).map(Audio))
parts = st.one_of(
    st.text(max_size=5).map(Text),
    st.text(max_size=5).map(Reasoning),
    st.integers(-9, 9).map(Json),
    media,
)
candidates = st.builds(
    Candidate,
    st.lists(parts, max_size=3).map(tuple),
    st.sampled_from([None, "stop", "length"]),
    st.lists(tokens, max_size=2).map(tuple),
    st.lists(st.integers(0, 2**31), max_size=3).map(tuple),
)
outputs = st.builds(
    Output,
    st.lists(candidates, max_size=2).map(tuple),
    st.lists(
        st.builds(Likelihood, logprobs, st.booleans(), st.none() | st.integers(0, 9)),
        max_size=3,
    ).map(tuple),
    st.none()
    | st.builds(
        Usage,
        st.none() | st.integers(0, 9),
        st.integers(0, 9),
        cost=st.none() | st.floats(0, 9),
    ),
    st.none() | st.integers(0, 100).map(lambda n: n / 8),
    error=st.none()
    | st.builds(
        ErrorInfo,
        st.sampled_from(["timeout", "oom"]),
        st.text(max_size=5),
        st.booleans(),
    ),
)


@settings(max_examples=40, deadline=None)
@given(outputs)
def test_an_output_survives_the_journal(output):
    # As the store gives them back: without knowing what they were used as.
    blobs = {
        medium.digest: Image(medium.source)
        for candidate in output.candidates
        for medium in candidate.media
    }
    line = seal(OutputLine("t", "m", "a", "k", output=output_to_plain(output)))

    again = output_from_plain(decode_output(line[:-1]).output, blobs)

    assert again == output


def test_an_impossible_continuation_stays_impossible():
    output = Output(likelihoods=(Likelihood(-math.inf), Likelihood(-1.5, True, 2)))
    plain = msgspec.json.decode(msgspec.json.encode(output_to_plain(output)))

    assert output_from_plain(plain) == output


def test_turn_state_is_not_written():
    assert "state" not in output_to_plain(Output(state=object()))


def test_what_a_model_may_return_becomes_an_output():
    assert as_output("a") == Output.of("a")
    assert as_output(["a", Text("b")]) == Output.of("a", "b")
    assert as_output(Candidate((Text("a"),))) == Output.of("a")
    assert as_output(Image(b"p")).media == (Image(b"p"),)
    assert as_output(Output.of("a")) == Output.of("a")


def test_one_candidate_can_be_inspected_alone():
    output = Output.of("a", "b")

    assert output.text == "a"
    assert output.only(1).text == "b"
    assert (
        Output().text == "" and Output().stop_reason is None and Output().json is None
    )


def test_a_result_survives_the_summary():
    result = Result(
        "t",
        "m",
        "acc",
        0.5,
        10,
        12,
        "t@p",
        0.1,
        (0.4, 0.6),
        "Wilson",
        {"scored": 10},
        bounds=(0.4, 0.7),
    )

    again = result_from_plain(json.loads(json.dumps(result.to_plain())))

    assert again.to_plain() == result.to_plain()
    assert again.ci == result.ci and again.bounds == result.bounds

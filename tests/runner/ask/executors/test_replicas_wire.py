"""The wire between driver and replicas: what goes in comes out, whatever models and data contain."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core import (
    Audio,
    Candidate,
    GenerateOptions,
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
from assay.runner.ask.executors.wire import (
    media_of,
    output_of_plain,
    outputs_to_plain,
    pack,
    request_from_plain,
    request_to_plain,
    unpack,
)

TEXTS = st.text(st.characters(codec=None), max_size=12) | st.just("\ud800 alone")
MEDIA = st.binary(min_size=1, max_size=8).flatmap(
    lambda data: st.sampled_from([Image(data), Audio(data)])
)
PARTS = (
    st.builds(Text, TEXTS)
    | st.builds(Reasoning, TEXTS)
    | MEDIA
    | st.builds(Json, st.integers() | TEXTS)
)
MESSAGES = st.builds(
    Message,
    st.sampled_from(["user", "Question"]),
    st.none() | st.lists(PARTS).map(tuple),
)
OPTIONS = st.builds(
    GenerateOptions,
    temperature=st.none() | st.floats(0, 2),
    stop=st.lists(TEXTS).map(tuple),
    n=st.integers(1, 3),
    max_tokens=st.none() | st.integers(1, 9),
    seed=st.none() | st.integers(0, 2**70),
)
PROMPTS = st.builds(
    Prompt,
    st.lists(MESSAGES, min_size=1).map(tuple),
    st.sampled_from([("text",), ("image",)]),
    st.none() | st.lists(TEXTS).map(tuple),
    st.booleans(),
)
REQUESTS = st.builds(
    Request, PROMPTS, OPTIONS, st.none() | st.integers(0, 2**70), st.integers(0, 3),
    hints=st.dictionaries(st.sampled_from(["task", "split"]), TEXTS), key=st.just("k"), id=TEXTS,
    draw=TEXTS,
)  # fmt: skip
NUMBERS = st.floats(allow_nan=False)
CANDIDATES = st.builds(
    Candidate, st.lists(PARTS, min_size=1).map(tuple), st.none() | TEXTS,
    st.lists(st.builds(Token, TEXTS, NUMBERS, st.lists(st.tuples(TEXTS, NUMBERS)).map(tuple))).map(tuple),
    st.lists(st.integers(0, 9)).map(tuple),
)  # fmt: skip
OUTPUTS = st.builds(
    Output, st.lists(CANDIDATES).map(tuple), st.lists(st.builds(Likelihood, NUMBERS, st.booleans())).map(tuple),
    st.none() | st.builds(Usage, input_tokens=st.integers(0, 9)),
    details=st.dictionaries(st.sampled_from(["a", "b"]), st.integers() | TEXTS),
)  # fmt: skip


@given(REQUESTS)
def test_a_request_arrives_as_it_was_sent(request: Request):
    blobs: dict = {}
    frame = pack({"requests": [request_to_plain(request, blobs, by_path=False)]}, blobs)

    head, received = unpack(frame)

    assert request_from_plain(head["requests"][0], media_of(received)) == request


@given(OUTPUTS)
def test_an_output_arrives_as_it_was_made(output: Output):
    blobs: dict = {}
    frame = pack({"outputs": outputs_to_plain([output], blobs)}, blobs)

    head, received = unpack(frame)

    assert output_of_plain(head["outputs"][0], media_of(received)) == output


def test_a_failure_arrives_with_the_seconds_the_server_asked_for():
    failed = Output.failed("rate_limit", "slow down", retry_after=7.5)

    head, _ = unpack(pack({"outputs": outputs_to_plain([failed], {})}))

    assert output_of_plain(head["outputs"][0], {}) == failed


def test_a_medium_is_sent_once_a_frame_and_by_path_where_both_see_the_file(
    tmp_path: Path,
):
    file = tmp_path / "a.png"
    file.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(1000))
    requests = [
        Request(Prompt((Message("user", (Image(file), Text(str(n)))),)))
        for n in range(3)
    ]
    by_path: dict = {}
    by_bytes: dict = {}
    for request in requests:
        request_to_plain(request, by_path, by_path=True)
        request_to_plain(request, by_bytes, by_path=False)

    [from_path] = media_of(by_path).values()
    [from_bytes] = media_of(by_bytes).values()
    assert str(from_path.source) == str(file)
    assert from_bytes.source == file.read_bytes()


def test_numbers_that_json_does_not_have_arrive(tmp_path: Path):
    output = Output(likelihoods=(Likelihood(-math.inf), Likelihood(math.inf)))

    head, _ = unpack(pack({"outputs": outputs_to_plain([output], {})}))

    assert output_of_plain(head["outputs"][0], {}) == output


@pytest.mark.parametrize("text", ["plain", "\ud800 alone"])
def test_media_with_a_lone_surrogate_in_their_name_arrive(text):
    request = Request(
        Prompt((Message("user", (Image(b"data", name="\udcff.png"), Text(text))),)),
        key="k",
    )
    blobs: dict = {}
    plain = request_to_plain(request, blobs, by_path=False)

    head, received = unpack(pack({"request": plain}, blobs))

    [image] = request_from_plain(head["request"], media_of(received)).prompt.media
    assert (image.name, image.data()) == ("\udcff.png", b"data")


def test_media_with_an_undecodable_path_arrive(tmp_path: Path):
    path = tmp_path / "\udcff.png"
    path.write_bytes(b"data")
    request = Request(Prompt((Message("user", (Image(path),)),)), key="k")
    blobs: dict = {}
    plain = request_to_plain(request, blobs, by_path=True)

    head, received = unpack(pack({"request": plain}, blobs))

    [image] = request_from_plain(head["request"], media_of(received)).prompt.media
    assert str(image.source) == str(path)
    assert image.data() == b"data"

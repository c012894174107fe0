"""Media in answers: an endpoint sends bytes, and never names what is opened on this machine."""

import asyncio
import base64
import importlib.util
import json

import pytest

import assay
from assay.core import Audio, GenerateOptions, Image, Message, Prompt, Request
from assay.models.inline_media import Malformed, from_base64, from_data_url, playable
from assay.store import RunReader

PNG = b"\x89PNG\r\n\x1a\n...."
needs_litellm = [
    pytest.mark.skipif(
        importlib.util.find_spec("litellm") is None, reason="needs litellm"
    ),
    pytest.mark.xdist_group("litellm"),  # its import takes seconds: once
]


@pytest.fixture(autouse=True)
def environment(no_service, monkeypatch):
    for name in ("OPENAI", "ANTHROPIC", "GEMINI"):
        monkeypatch.setenv(f"{name}_API_KEY", "sk-0123456789")


def chat(**message):
    return {
        "choices": [
            {
                "message": {"role": "assistant", "content": "x", **message},
                "finish_reason": "stop",
            }
        ]
    }


def images(url):
    return chat(images=[{"type": "image_url", "image_url": {"url": url}}])


def pieces(url):
    return chat(content=[{"type": "image_url", "image_url": {"url": url}}])


def response(data):
    return {
        "status": "completed",
        "output": [{"type": "image_generation_call", "result": data}],
    }


def message(source):
    return {"content": [{"type": "image", "source": source}], "stop_reason": "end_turn"}


def parts(part):
    return {"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]}


ANSWERS = {
    "openai images": ("openai/m", {}, images),
    "openai pieces": ("openai/m", {}, pieces),
    "openai audio": ("openai/m", {}, lambda name: chat(audio={"data": name})),
    "responses": ("openai/m", {"api": "responses"}, response),
    "images endpoint": ("openai/m", {"api": "images"}, lambda name: {"data": [{"b64_json": name}]}),
    "anthropic data": ("anthropic/m", {}, lambda name: message({"type": "base64", "data": name})),
    "anthropic url": ("anthropic/m", {}, lambda name: message({"type": "url", "url": name})),
    "gemini data": ("gemini/m", {}, lambda name: parts({"inlineData": {"mimeType": "image/png", "data": name}})),
    "gemini file": ("gemini/m", {}, lambda name: parts({"fileData": {"mimeType": "image/png", "fileUri": name}})),
    "litellm": ("litellm/openai/m", {}, images),
}  # fmt: skip
NAMES = [
    "FILE",
    "file://FILE",
    "https://example.org/x.png",
    "data:image/png;base64,@@@",
    "data:image/png,raw",
    "@@@@x",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "answer",
    [pytest.param(a, marks=needs_litellm if a == "litellm" else ()) for a in ANSWERS],
)
def test_an_answer_that_names_a_file_or_a_place_is_a_bad_response_and_nothing_is_opened(
    service, put_to, tmp_path, answer, name
):
    (tmp_path / "private").write_text("the user's own words")
    model, options, body = ANSWERS[answer]
    asked = Request(Prompt((Message.of("user", "draw"),)), GenerateOptions())

    [output] = put_to(
        service(body(name.replace("FILE", str(tmp_path / "private")))),
        model,
        asked,
        **options,
    )

    assert output.error is not None and output.error.kind == "bad_response", output
    assert "\n" not in output.error.message and not output.candidates


@pytest.mark.parametrize(
    "answer",
    [pytest.param(a, marks=needs_litellm if a == "litellm" else ()) for a in ANSWERS],
)
def test_bytes_that_come_with_an_answer_are_taken(service, put_to, answer):
    model, options, body = ANSWERS[answer]
    url = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"

    [output] = put_to(
        service(body(url)),
        model,
        Request(Prompt((Message.of("user", "draw"),))),
        **options,
    )

    assert [medium.data() for medium in output.media] == [PNG]


def test_base64_may_be_broken_into_lines():
    text = base64.encodebytes(PNG * 20).decode()

    assert from_base64(Image, text) == Image(PNG * 20) and "\n" in text.strip()


@pytest.mark.parametrize("wrong", [None, 3, "", ["x"], {}])
def test_media_must_be_given_as_text(wrong):
    with pytest.raises(Malformed, match="not base64 text"):
        from_base64(Audio, wrong)
    with pytest.raises(Malformed, match="names an audio"):
        from_data_url(Audio, wrong)


@pytest.mark.parametrize(
    "first",
    [b"BM", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2", b"\xff\xd8\xff\x00", b"ID3\x7f"],
)
def test_samples_that_begin_like_a_file_are_samples_where_samples_were_asked_for(first):
    samples = first + b"\x01\x00" * 20

    sound = playable(Audio(samples), "pcm")

    assert sound.format == "wav" and sound.data().endswith(samples)
    assert playable(Audio(samples), "mp3").data() == samples


@pytest.mark.parametrize(
    "file",
    [
        b"RIFF\x00\x00\x00\x00WAVEfmt ",
        b"fLaC\x00\x00\x00\x22",
        b"OggS\x00\x02",
        b"ID3\x04\x00\x00",
    ],
)
def test_a_file_that_came_where_samples_were_asked_for_is_played_as_it_is(file):
    assert playable(Audio(file), "pcm").data() == file


def test_a_file_an_endpoint_names_never_leaves_this_machine(service, tmp_path):
    from aiohttp import web
    from aiohttp.test_utils import TestServer

    (tmp_path / "private").write_text("the user's own words")
    server = service(images(str(tmp_path / "private")))
    rows = [{"id": "a", "question": "draw", "turns": ["again"], "answer": "x"}]
    (tmp_path / "rows.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )

    async def run():
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", server.answer)
        async with TestServer(app) as running:
            url = str(running.make_url("/v1"))
            task = assay.Task(
                "t", dataset=str(tmp_path / "rows.jsonl"), scorers="exact_match"
            )
            settings = {
                "model_args": {"base_url": url},
                "on_error": "continue",
                "output": str(tmp_path / "run"),
            }
            return await asyncio.to_thread(assay.run, task, "openai/m", **settings)

    result = asyncio.run(run())

    assert result[0].outcomes == {"model_error": 1}
    [record] = RunReader(tmp_path / "run").outputs()
    assert (
        "names an image instead of holding it, which is not opened"
        in record.output["error"]["message"]
    )
    assert len(server.asked) == 1
    written = b"".join(
        path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()
    )
    assert b"the user's own words" not in written

"""Every part of a prompt is in the request, or the request is refused before it is sent."""

import asyncio
import base64
import importlib.util
import json
import random
from typing import Any

import pytest

from assay.core import (
    Abilities,
    Audio,
    Image,
    Json,
    Message,
    Output,
    Prompt,
    Request,
    Text,
    ToolCall,
    ToolResult,
    Video,
)
from assay.models import build_model
from assay.models.inline_media import as_wav
from assay.runner.ask.calls import call_async, call_model

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
WAV = as_wav(bytes(range(64)), 16_000)
MP4 = b"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom" + bytes(range(32))
MEDIA = {"image": (Image, PNG), "audio": (Audio, WAV), "video": (Video, MP4)}
ROLES = ("user", "assistant", "system", "developer", "tool", "Question", "")
CHAT_REPLY = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}
REPLIES: dict[str, Any] = {
    "chat": CHAT_REPLY,
    "completions": {"choices": [{"text": "x", "finish_reason": "stop"}]},
    "responses": {
        "status": "completed",
        "output": [
            {"type": "message", "content": [{"type": "output_text", "text": "x"}]}
        ],
    },
    "images": {"data": [{"b64_json": base64.b64encode(PNG).decode()}]},
    "speech": WAV,
    "transcriptions": {"text": "x"},
}
GEMINI_REPLY = {
    "candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "STOP"}]
}
ANTHROPIC_REPLY = {
    "content": [{"type": "text", "text": "x"}],
    "stop_reason": "end_turn",
}
OWN_KINDS = {"accepts": "text,image,audio,video"}
ENDPOINTS = [
    *(("openai/m", {"api": api, **OWN_KINDS}, REPLIES[api]) for api in REPLIES),
    ("openai/m", {"api": "auto", **OWN_KINDS}, {**CHAT_REPLY}),
    ("anthropic/m", OWN_KINDS, ANTHROPIC_REPLY),
    ("gemini/m", OWN_KINDS, GEMINI_REPLY),
]


def a_part(kind: str, number: int) -> tuple[Any, str]:
    """Return a part, and the text by which it is recognised in a request."""
    if kind == "text":
        return Text(f"words{number}"), f"words{number}"
    if kind == "json":
        return Json({"field": f"value{number}"}), f"value{number}"
    cls, data = MEDIA[kind]
    return cls(data), base64.b64encode(data).decode()


def prompts() -> list[tuple[Prompt, list[tuple[str, str]]]]:
    """Return every part in every role alone, and 60 mixed prompts of one to four turns."""
    kinds = ("text", "json", *MEDIA)
    shapes = [[(role, [kind])] for role in ROLES for kind in kinds]
    shapes += [[("user", ["text"]), (role, [kind])] for role in ROLES for kind in kinds]
    draw = random.Random(7)
    for _ in range(60):
        turns = draw.randint(1, 4)
        shapes.append(
            [
                (draw.choice(ROLES), draw.choices(kinds, k=draw.randint(1, 3)))
                for _ in range(turns)
            ]
        )
    made = []
    for shape in shapes:
        number, marks, messages = 0, [], []
        for role, part_kinds in shape:
            parts = []
            for kind in part_kinds:
                number += 1
                part, mark = a_part(kind, number)
                parts.append(part)
                marks.append((kind, mark))
            messages.append(Message(role, tuple(parts)))
        made.append((Prompt(tuple(messages)), marks))
    return made


def sent_text(asked: Any) -> str:
    """Return what a server was sent, files of a form as base64."""
    if isinstance(asked, list):
        values = [
            base64.b64encode(value[2]).decode() if isinstance(value, tuple) else value
            for _, value in asked
        ]
        return " ".join(map(str, values))
    return json.dumps(asked, ensure_ascii=False)


def missing(marks: list[tuple[str, str]], sent: str, output: Output) -> list[str]:
    """Return the kinds of the parts that are neither in the request nor named in the record."""
    left_out = output.details.get("not_sent", [])
    return [
        kind
        for kind, mark in marks
        if mark not in sent
        and mark.replace('"', '\\"') not in sent
        and not ("text" in left_out and kind in ("text", "json"))
    ]


@pytest.mark.parametrize(
    ("name", "options", "reply"),
    ENDPOINTS,
    ids=[f"{name} {options.get('api', '')}" for name, options, _ in ENDPOINTS],
)
def test_endpoints_send_every_part_or_refuse(
    no_service, service, put_to, name, options, reply
):
    server = service(reply)
    cases = prompts()

    outputs = put_to(server, name, *(Request(p) for p, _ in cases), **options)

    sent = iter(server.asked)
    count = 0
    for (prompt, marks), output in zip(cases, outputs, strict=True):
        if output.error is not None and output.error.kind in ("data", "http"):
            continue
        count += 1
        assert missing(marks, sent_text(next(sent)), output) == [], prompt
    assert count
    assert next(sent, None) is None, "a refused request was sent"


@pytest.mark.skipif(
    importlib.util.find_spec("litellm") is None, reason="needs the extra litellm"
)
def test_litellm_sends_every_part_or_refuses(no_service, monkeypatch):
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    sent = []

    async def completion(**arguments):
        sent.append(json.dumps(arguments["messages"], ensure_ascii=False))
        raise ConnectionError("only the request is looked at")

    monkeypatch.setattr(litellm, "acompletion", completion)
    model = build_model("litellm/openai/m", OWN_KINDS)

    for prompt, marks in prompts():
        sent.clear()
        [output] = asyncio.run(model.generate([Request(prompt)]))
        if output.error is not None and output.error.kind == "data":
            assert not sent
        else:
            assert missing(marks, sent[0], output) == [], prompt


FUNCTIONS = {
    "def generate(messages):": "messages",
    "def generate(text: str):": "text",
    "def generate(prompt):": "prompt",
    "def generate(request):": "request.messages",
}


@pytest.mark.parametrize("head", FUNCTIONS)
def test_functions_get_every_part_or_are_not_called(tmp_path, head):
    file = tmp_path / "mine.py"
    file.write_text(
        f"accepts = ('text', 'image')\ncalls = []\n{head}\n"
        f"    calls.append({FUNCTIONS[head]})\n    return 'x'\n"
        "generate.accepts = {'text', 'image', 'audio', 'video'}\n"
        "generate.calls = calls\n",
        "utf-8",
    )
    from assay.code.userfiles import load_attribute

    calls = load_attribute(f"{file}:generate").calls
    model = build_model(f"{file}:generate")

    for prompt, marks in prompts():
        calls.clear()
        [output] = call_model(model, [Request(prompt)])
        if output.error is not None:
            assert output.error.kind == "data"
            assert not calls
        else:
            assert missing(marks, _seen(calls[0]), output) == [], prompt


def _seen(given: Any) -> str:
    """Return what a function was given as text, media as base64."""
    if isinstance(given, str):
        return given
    pieces = []
    for message in given:
        plain = message if isinstance(message, dict) else None
        content = plain["content"] if plain else message.parts
        if isinstance(content, str):
            pieces.append(content)
            continue
        for part in content:
            if isinstance(part, dict):
                part = part[part["type"]]
            if hasattr(part, "data"):
                pieces.append(base64.b64encode(part.data()).decode())
            else:
                pieces.append(str(getattr(part, "text", getattr(part, "value", part))))
    return " ".join(pieces)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_text_model_is_never_called_with_media(is_async):
    class TextModel:
        abilities = Abilities()

        def __init__(self):
            self.identity = {"m": 1}
            self.calls = []

        def generate(self, requests):
            self.calls += requests
            return [Output.of("x") for _ in requests]

    class AsyncModel(TextModel):
        async def generate(self, requests):
            return TextModel.generate(self, requests)

    model = AsyncModel() if is_async else TextModel()

    for prompt, _ in prompts():
        model.calls.clear()
        if is_async:
            output = asyncio.run(call_async(model, Request(prompt)))
        else:
            [output] = call_model(model, [Request(prompt)])
        assert (output.error is not None) == bool(prompt.media)
        assert len(model.calls) == (0 if prompt.media else 1)


def test_structured_parts_are_written_into_a_prompt_of_text():
    prompt = Prompt(
        (Message("Question", (Text("Which? "), Json({"box": [1, 2]}))),),
    )

    assert prompt.text == 'Question: Which? {"box": [1, 2]}\nAssistant:'


WITH_TOOLS = [
    entry
    for entry in ENDPOINTS
    if entry[1].get("api", "auto") in ("auto", "chat", "responses")
]


@pytest.mark.parametrize("kind", MEDIA)
@pytest.mark.parametrize(
    ("name", "options", "reply"),
    WITH_TOOLS,
    ids=[f"{name} {options.get('api', '')}" for name, options, _ in WITH_TOOLS],
)
def test_media_of_tool_results_are_sent_or_refused(
    no_service, service, put_to, name, options, reply, kind
):
    server = service(reply)
    make, data = MEDIA[kind]
    result = ToolResult("call_1", (Text("look"), make(data)))
    messages = (
        Message.of("user", "Take a picture."),
        Message("assistant", (ToolCall("call_1", "camera", {}),)),
        Message("tool", (result,)),
    )

    [output] = put_to(server, name, Request(Prompt(messages)), **options)

    if output.error is None:
        assert base64.b64encode(data).decode() in json.dumps(server.asked)
    else:
        assert (
            output.error.kind == "data"
            and f"cannot carry {kind}" in output.error.message
        )
        assert server.asked == []

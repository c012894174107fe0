"""Tools and media that a server accepts and does not show to its model."""

import pytest

from assay.core import (
    Image,
    Message,
    Prompt,
    Request,
    Text,
    Tool,
)

TOOLS = (Tool("weather", "The weather of a city", {"type": "object"}),)
PIXEL = Image(
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
)
IGNORED_TOOLS = "the server counts no tokens for tools"
IGNORED_MEDIA = "the server counts no tokens for images or sounds"


@pytest.fixture(autouse=True)
def environment(no_service):
    pass


class Counting:
    """A chat server that counts 10 tokens for a prompt, and more for the parts that it shows to its model."""

    def __init__(self, *, tools=0, images=0, calls=False, refuses_bare=False):
        self.tools, self.images, self.calls = tools, images, calls
        self.refuses_bare = refuses_bare
        self.asked = []

    async def answer(self, request):
        from aiohttp import web

        body = await request.json()
        self.asked.append(body)
        if self.refuses_bare and len(self.asked) > 1:
            return web.json_response({"error": {"message": "empty"}}, status=400)
        tokens = 10
        if "tools" in body:
            tokens += self.tools
        if "image" in str(body):
            tokens += self.images
        message = {"role": "assistant", "content": "Sunny."}
        if self.calls and "tools" in body:
            function = {"name": "weather", "arguments": "{}"}
            call = {"id": "a", "type": "function", "function": function}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": tokens, "completion_tokens": 2}
        return web.json_response({"choices": [choice], "usage": usage})


def tool_request(choice=None):
    message = Message.of("user", "How is the weather?")
    return Request(Prompt((message,), tools=TOOLS, tool_choice=choice))


def image_request():
    return Request(Prompt((Message("user", (PIXEL, Text("What is this?"))),)))


def notes_of(output):
    assert output.error is None, output.error
    return list(output.details.get("notes", ()))


def test_tools_that_cost_no_tokens_are_noted(put_to):
    server = Counting()

    first, second = put_to(server, "openai/m", tool_request(), tool_request())

    for output in (first, second):
        [note] = notes_of(output)
        assert note.startswith(IGNORED_TOOLS)
        assert "fix: -a tool_syntax=prompted" in note
    assert ["tools" in body for body in server.asked] == [True, False, True]
    assert server.asked[1]["max_tokens"] == 1


def test_tools_that_cost_tokens_are_not_noted(put_to):
    [output] = put_to(Counting(tools=30), "openai/m", tool_request())

    assert notes_of(output) == []


def test_a_model_that_calls_a_tool_has_seen_it(put_to):
    server = Counting(calls=True)

    [output] = put_to(server, "openai/m", tool_request("required"))

    assert notes_of(output) == []
    assert len(server.asked) == 1


def test_tools_in_the_prompt_are_seen(put_to):
    server = Counting()

    [output] = put_to(server, "openai/m", tool_request(), tool_syntax="prompted")

    assert notes_of(output) == []
    assert len(server.asked) == 1


def test_images_that_cost_no_tokens_are_noted(put_to):
    server = Counting()

    [output] = put_to(server, "openai/m", image_request())

    [note] = notes_of(output)
    assert note.startswith(IGNORED_MEDIA)
    assert server.asked[1]["messages"] == [{"role": "user", "content": "What is this?"}]


def test_images_that_cost_tokens_are_not_noted(put_to):
    [output] = put_to(Counting(images=4), "openai/m", image_request())

    assert notes_of(output) == []


def test_a_server_that_refuses_the_prompt_without_its_image_is_not_noted(put_to):
    server = Counting(refuses_bare=True)

    outputs = put_to(server, "openai/m", image_request(), image_request())

    assert notes_of(outputs[0]) == []
    assert len(server.asked) == 3  # the prompt without its image is sent once


@pytest.mark.parametrize("choice", ["required", "weather"])
def test_an_answer_without_the_required_call_is_noted(put_to, choice):
    [output] = put_to(Counting(tools=30), "openai/m", tool_request(choice))

    assert notes_of(output) == ["the server ignored tool_choice: an answer has no call"]


@pytest.mark.parametrize("choice", [None, "auto", "none"])
def test_an_answer_without_a_call_may_be_right(put_to, choice):
    [output] = put_to(Counting(tools=30), "openai/m", tool_request(choice))

    assert notes_of(output) == []


def test_calls_in_the_text_are_calls(put_to, service):
    text = '<tool_call>{"name": "weather", "arguments": {}}</tool_call>'
    message = {"role": "assistant", "content": text}
    reply = {"choices": [{"message": message, "finish_reason": "stop"}]}

    [output] = put_to(
        service(reply), "openai/m", tool_request("required"), tool_syntax="hermes"
    )

    assert [call.name for call in output.calls] == ["weather"]
    assert notes_of(output) == []

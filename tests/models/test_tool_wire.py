"""Tools, calls and results as each service spells them, through a local server."""

from importlib.util import find_spec

import pytest

from assay.core import (
    Message,
    Prompt,
    Reasoning,
    Request,
    Text,
    Tool,
    ToolCall,
    ToolResult,
)

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
WEATHER = Tool("weather", "Say the weather.", SCHEMA)
CALL = ToolCall("c1", "weather", {"city": "Paris"})
BROKEN = ToolCall("c2", "weather", '{"city": ')
MESSAGES = (
    Message.of("system", "Be brief."),
    Message.of("user", "And?"),
    Message("assistant", (Reasoning("Hm."), Text("Let me see."), CALL, BROKEN)),
    Message("tool", (ToolResult("c1", (Text("sunny"),)),)),
    Message("tool", (ToolResult("c2", (Text("no JSON"),), "bad_arguments"),)),
)


@pytest.fixture(autouse=True)
def environment(no_service):
    pass


def ask(choice=None, parallel=None):
    return Request(
        Prompt(MESSAGES, tools=(WEATHER,), tool_choice=choice, parallel_calls=parallel)
    )


def body_of(service, put_to, name, answer, request, **options):
    server = service(answer)
    [output] = put_to(server, name, request, **options)
    assert output.error is None, output.error
    return server.asked[-1], output


CHAT_ANSWER = {
    "choices": [
        {
            "message": {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "x",
                        "type": "function",
                        "function": {
                            "name": "weather",
                            "arguments": '{"city": "Rome"}',
                        },
                    }
                ],
            },
            "finish_reason": "tool_calls",
        }
    ]
}
ROME = {"city": "Rome"}


@pytest.mark.parametrize("name", ["openai/m", "litellm/openai/m"])
def test_chat_endpoints_get_tools_calls_and_results(service, put_to, name):
    if name.startswith("litellm") and find_spec("litellm") is None:
        pytest.skip("litellm is not installed")
    request = ask("weather", parallel=False)
    body = {"api_key": "k"} if name.startswith("litellm") else {}

    sent, output = body_of(service, put_to, name, CHAT_ANSWER, request, body=body)

    arguments = ['{"city": "Paris"}', '{"city": ']
    calls = [
        {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": "weather", "arguments": text},
        }
        for number, text in enumerate(arguments, start=1)
    ]
    assert sent["messages"][2:] == [
        {"role": "assistant", "content": "Let me see.", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
        {"role": "tool", "tool_call_id": "c2", "content": "no JSON"},
    ]
    function = {
        "name": "weather",
        "description": "Say the weather.",
        "parameters": SCHEMA,
    }
    assert sent["tools"] == [{"type": "function", "function": function}]
    named = {"type": "function", "function": {"name": "weather"}}
    assert sent["tool_choice"] == named
    assert sent["parallel_tool_calls"] is False
    assert output.calls == (ToolCall("x", "weather", ROME),)


def test_the_responses_api_gets_items(service, put_to):
    item = {"type": "function_call", "call_id": "x", "name": "weather"}
    answer = {
        "status": "completed",
        "output": [{**item, "arguments": '{"city": "Rome"}'}],
    }

    sent, output = body_of(
        service, put_to, "openai/m", answer, ask("required"), api="responses"
    )

    assert sent["input"][2:] == [
        {"role": "assistant", "content": "Let me see."},
        {
            "type": "function_call",
            "call_id": "c1",
            "name": "weather",
            "arguments": '{"city": "Paris"}',
        },
        {
            "type": "function_call",
            "call_id": "c2",
            "name": "weather",
            "arguments": '{"city": ',
        },
        {"type": "function_call_output", "call_id": "c1", "output": "sunny"},
        {"type": "function_call_output", "call_id": "c2", "output": "no JSON"},
    ]
    [tool] = sent["tools"]
    assert (tool["type"], tool["name"], tool["parameters"]) == (
        "function",
        "weather",
        SCHEMA,
    )
    assert sent["tool_choice"] == "required"
    assert output.calls == (ToolCall("x", "weather", ROME),)
    assert output.stop_reason == "tool_calls"


def test_the_messages_api_gets_blocks_and_one_turn_of_results(service, put_to):
    call = {"type": "tool_use", "id": "x", "name": "weather", "input": ROME}
    answer = {"content": [call], "stop_reason": "tool_use", "model": "m"}

    sent, output = body_of(
        service, put_to, "anthropic/m", answer, ask("required", parallel=False)
    )

    blocks = [
        {"type": "text", "text": "Let me see."},
        {
            "type": "tool_use",
            "id": "c1",
            "name": "weather",
            "input": {"city": "Paris"},
        },
        {
            "type": "tool_use",
            "id": "c2",
            "name": "weather",
            "input": {"arguments": '{"city": '},
        },
    ]
    results = [
        {"type": "tool_result", "tool_use_id": "c1", "content": "sunny"},
        {
            "type": "tool_result",
            "tool_use_id": "c2",
            "content": "no JSON",
            "is_error": True,
        },
    ]
    assert sent["messages"] == [
        {"role": "user", "content": "And?"},
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": results},
    ]
    assert sent["tools"] == [
        {
            "name": "weather",
            "description": "Say the weather.",
            "input_schema": SCHEMA,
        }
    ]
    assert sent["tool_choice"] == {"type": "any", "disable_parallel_tool_use": True}
    assert output.calls == (ToolCall("x", "weather", ROME),)


def test_gemini_gets_declarations_and_responses(service, put_to):
    part = {"functionCall": {"name": "weather", "args": ROME}, "thoughtSignature": "s"}
    answer = {"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]}

    sent, output = body_of(service, put_to, "gemini/m", answer, ask("weather"))

    assert sent["contents"][1:] == [
        {
            "role": "model",
            "parts": [
                {"text": "Let me see."},
                {"functionCall": {"name": "weather", "args": {"city": "Paris"}}},
                {
                    "functionCall": {
                        "name": "weather",
                        "args": {"arguments": '{"city": '},
                    }
                },
            ],
        },
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "name": "weather",
                        "response": {"result": "sunny"},
                    }
                },
                {
                    "functionResponse": {
                        "name": "weather",
                        "response": {"error": "no JSON"},
                    }
                },
            ],
        },
    ]
    [declaration] = sent["tools"][0]["functionDeclarations"]
    assert declaration["parametersJsonSchema"] == SCHEMA
    assert sent["toolConfig"]["functionCallingConfig"] == {
        "mode": "ANY",
        "allowedFunctionNames": ["weather"],
    }
    assert output.calls == (ToolCall("", "weather", ROME, "s"),)
    assert output.stop_reason == "tool_calls"


@pytest.mark.parametrize("name", ["openai/m", "anthropic/m", "gemini/m"])
def test_a_prompt_without_tools_sends_none(service, put_to, name):
    answers = {
        "openai/m": {"choices": [{"message": {"content": "4"}}]},
        "anthropic/m": {"content": [{"type": "text", "text": "4"}]},
        "gemini/m": {"candidates": [{"content": {"parts": [{"text": "4"}]}}]},
    }
    request = Request(Prompt((Message.of("user", "2+2?"),)))

    sent, _ = body_of(service, put_to, name, answers[name], request)

    assert not {"tools", "tool_choice", "toolConfig", "parallel_tool_calls"} & set(sent)

"""Tools, calls and results: spellings of data sets, keys, and the journal."""

import json

import pytest

from assay.core import (
    Json,
    KeyMaker,
    Message,
    Prompt,
    Request,
    Text,
    Tool,
    ToolCall,
    ToolResult,
    as_message,
    as_messages,
    as_output,
)
from assay.core.message import plain_turns, to_plain
from assay.core.tools import read_tool_choice, read_tools

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
WEATHER = Tool("weather", "Say the weather.", SCHEMA)
PLAIN = {"name": "weather", "description": "Say the weather."}


@pytest.mark.parametrize(
    "value",
    [
        [{"type": "function", "function": {**PLAIN, "parameters": SCHEMA}}],
        [{"type": "function", **PLAIN, "parameters": SCHEMA}],
        [{**PLAIN, "parameters": SCHEMA}],
        [{**PLAIN, "input_schema": SCHEMA}],
        [{"functionDeclarations": [{**PLAIN, "parameters": SCHEMA}]}],
        {"function_declarations": [{**PLAIN, "parametersJsonSchema": SCHEMA}]},
        json.dumps([{**PLAIN, "parameters": SCHEMA}]),
        [json.dumps({**PLAIN, "parameters": json.dumps(SCHEMA)})],
        [
            {
                **PLAIN,
                "parameters": {
                    "type": "OBJECT",
                    "properties": {"city": {"type": "STRING"}},
                },
            }
        ],
    ],
)
def test_every_spelling_of_a_tool_is_read(value):
    assert read_tools(value) == (WEATHER,)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([{"description": "no name"}], "a tool without a name"),
        ([{**PLAIN, "parameters": [1]}], "not a JSON schema"),
        ([PLAIN, PLAIN], "'weather' is defined twice"),
        ("a hammer", "tools are not JSON"),
        (3, "tools are a list"),
    ],
)
def test_unreadable_tools_raise(value, message):
    with pytest.raises(ValueError, match=message):
        read_tools(value)


def test_tool_choices_of_all_services():
    function = {"type": "function", "function": {"name": "f"}}
    assert read_tool_choice(function) == "f"
    assert read_tool_choice({"type": "tool", "name": "f"}) == "f"
    assert read_tool_choice({"type": "any"}) == "required"
    assert read_tool_choice("auto") == "auto"
    assert read_tool_choice(None) is None


QUESTION = {"role": "user", "content": "And?"}
OPENAI = [
    QUESTION,
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "weather", "arguments": '{"city": "Paris"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "sunny"},
]
LEGACY = [
    QUESTION,
    {
        "role": "assistant",
        "content": None,
        "function_call": {"name": "weather", "arguments": '{"city": "Paris"}'},
    },
    {"role": "function", "name": "weather", "content": "sunny"},
]
GEMINI = [
    {"role": "user", "parts": [{"text": "And?"}]},
    {
        "role": "model",
        "parts": [{"functionCall": {"name": "weather", "args": {"city": "Paris"}}}],
    },
    {
        "role": "user",
        "parts": [
            {
                "functionResponse": {
                    "name": "weather",
                    "response": {"result": "sunny"},
                }
            }
        ],
    },
]
HERMES = [
    {"from": "human", "value": "And?"},
    {
        "from": "gpt",
        "value": '<tool_call>\n{"name": "weather", "arguments": {"city": "Paris"}}\n</tool_call>',
    },
    {"from": "tool", "value": "<tool_response>\nsunny\n</tool_response>"},
]
SHAREGPT = [
    {"from": "human", "value": "And?"},
    {
        "from": "function_call",
        "value": '{"name": "weather", "arguments": {"city": "Paris"}}',
    },
    {"from": "observation", "value": "sunny"},
]


@pytest.mark.parametrize("turns", [OPENAI, LEGACY, GEMINI, HERMES, SHAREGPT])
def test_every_spelling_of_calls_and_results_is_read(turns):
    assert as_messages(turns) == (
        Message.of("user", "And?"),
        Message("assistant", (ToolCall("call_1", "weather", {"city": "Paris"}),)),
        Message("tool", (ToolResult("call_1", (Text("sunny"),)),)),
    )


def test_blocks_of_anthropic_are_read():
    turns = [
        QUESTION,
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "t", "name": "weather", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t",
                    "content": [{"type": "text", "text": "sunny"}],
                    "is_error": True,
                },
                {"type": "text", "text": "And now?"},
            ],
        },
    ]

    _, calling, answering = as_messages(turns)

    assert calling.parts == (Text("Let me see."), ToolCall("t", "weather", {}))
    result = ToolResult("t", (Text("sunny"),), "raised")
    assert answering.parts == (result, Text("And now?"))


def test_results_are_joined_to_calls_by_the_name_of_their_tool():
    parts = [{"functionCall": {"name": name, "args": {}}} for name in "ab"]
    results = [
        {"functionResponse": {"name": name, "response": {"x": name}}} for name in "ba"
    ]
    turns = [
        {"role": "model", "parts": parts},
        {"role": "user", "parts": results},
    ]

    _, message = as_messages(turns)

    assert [result.call_id for result in message.results] == ["call_2", "call_1"]
    assert message.results[0].parts == (Json({"x": "b"}),)


def test_a_result_without_its_call_raises():
    with pytest.raises(
        ValueError, match="names the call 'z', which is in no earlier turn"
    ):
        as_messages([QUESTION, {"role": "tool", "tool_call_id": "z", "content": "1"}])


def test_messages_come_back_from_the_journal():
    parts = (
        Text("x"),
        ToolCall("a", "f", {"n": [1, {"m": None}]}),
        ToolCall("b", "g", "{broken", "signature"),
        ToolResult("a", (Text("1"), Json({"k": 2})), "raised"),
    )
    message = Message("assistant", parts)

    assert as_message(to_plain(message)) == message
    [(_, text)] = plain_turns([to_plain(message)])
    assert 'f({"n": [1, {"m": null}]})' in text and "g({broken)" in text


def test_models_may_return_calls_in_several_ways():
    call = ToolCall("", "add", {"x": 1})
    plain = {"name": "add", "arguments": {"x": 1}}

    for value in (call, [call], {"calls": [plain]}, {"calls": [call]}):
        assert as_output(value).calls == (call,)
    function = {"function": {"name": "add", "arguments": '{"x": 1}'}}
    assert as_output({"content": "hm", "tool_calls": [function]}).calls == (call,)
    both = as_output({"text": "hm", "calls": [call, call]})
    assert (both.text, len(both.calls)) == ("hm", 2)


def test_tools_are_part_of_the_key_only_if_there_are_any():
    keys = KeyMaker({"model": "m"})
    messages = (Message.of("user", "2+2?"),)

    def key(**settings):
        return keys.key(Request(Prompt(messages, **settings)))

    plain = key()
    # The key that version 0.2 made for this request: runs of it must still be found.
    assert plain == "0a6e797e55b063439e1abc94fe902bf6"
    other = Tool("weather", "Say it.", SCHEMA)
    several = {
        plain,
        key(tools=(WEATHER,)),
        key(tools=(other,)),
        key(tools=(WEATHER,), tool_choice="required"),
        key(tools=(WEATHER,), tool_choice="weather"),
        key(tools=(WEATHER,), parallel_calls=False),
        key(tools=(WEATHER, other)),
    }
    assert len(several) == 7
    assert key(tools=(WEATHER,)) == key(
        tools=(Tool("weather", "Say the weather.", dict(SCHEMA)),)
    )


def test_a_tool_turn_of_result_blocks_is_those_results():
    call = {"type": "tool_call", "id": "c1", "name": "f", "arguments": {}}
    result = {"type": "tool_result", "call_id": "c1", "content": ["done"]}

    [_, _, answered] = as_messages(
        [
            QUESTION,
            {"role": "assistant", "content": [call]},
            {"role": "tool", "content": [result]},
        ]
    )

    assert answered.parts == (ToolResult("c1", (Text("done"),)),)

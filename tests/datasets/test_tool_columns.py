"""Rows with tools: what a conversation with calls is asked as, and rows that cannot be asked."""

import json

import pytest

import assay
from assay.cli.main import main

FUNCTION = {"name": "weather", "arguments": '{"city": "Paris"}'}
ROW = {
    "messages": [
        {"role": "user", "content": "And in Paris?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": FUNCTION}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
    ],
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "weather",
                "description": "Say the weather.",
                "parameters": {
                    "type": "object",
                    "properties": {"city": {"type": "string"}},
                },
            },
        }
    ],
    "tool_choice": "auto",
    "answer": "sunny",
}


@pytest.fixture
def served():
    """A loopback server of chat completions that remembers what it was asked."""
    from http.server import BaseHTTPRequestHandler

    from tests.shared.http_thread import in_a_thread

    bodies = []

    class Handler(BaseHTTPRequestHandler):
        answer = None

        def do_POST(self):
            size = int(self.headers["Content-Length"])
            bodies.append(json.loads(self.rfile.read(size)))
            message = self.answer or {"content": "It is sunny."}
            reply = {"choices": [{"message": message, "finish_reason": "stop"}]}
            body = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with in_a_thread(Handler) as server:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", bodies, Handler


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_a_conversation_with_calls_is_sent_as_it_is(tmp_path, served):
    url, bodies, _ = served
    data = write(tmp_path / "m.jsonl", ROW)

    result = assay.run(
        data,
        "openai/m",
        scorer="includes",
        model_args={"base_url": url},
        output=str(tmp_path / "run"),
    )

    assert bodies[0]["messages"] == ROW["messages"]
    assert bodies[0]["tools"] == ROW["tools"]
    assert bodies[0]["tool_choice"] == "auto"
    assert result.results[0].value == 1.0


def test_a_call_without_tools_is_unparsed_and_shown(tmp_path, served):
    url, _, handler = served
    handler.answer = {"tool_calls": [{"id": "x", "function": FUNCTION}]}
    data = write(tmp_path / "q.jsonl", {"question": "And?", "answer": "sunny"})
    folder = tmp_path / "run"

    result = assay.run(
        data,
        "openai/m",
        scorer="includes",
        model_args={"base_url": url},
        output=str(folder),
    )

    assert result.results[0].outcomes == {"unparsed": 1}
    assert "called a tool" in (folder / "records.jsonl").read_text()
    assert (
        'weather({\\"city\\": \\"Paris\\"})' in (folder / "records.jsonl").read_text()
    )


@pytest.mark.parametrize("content", [None, ""])
def test_an_empty_assistant_turn_in_the_middle_names_the_row(tmp_path, capsys, content):
    turns = [
        {"role": "user", "content": "And?"},
        {"role": "assistant", "content": content},
        {"role": "user", "content": "Well?"},
    ]
    data = write(tmp_path / "m.jsonl", {"messages": turns, "answer": "x"})

    code = main(["check", data])

    said = capsys.readouterr()
    assert code != 0
    assert "turn 2 (assistant) has no content" in said.out + said.err
    assert "m.jsonl" in said.out + said.err and "m.jsonl:1" in said.out + said.err


def test_a_reference_may_be_a_call(tmp_path):
    from assay.datasets import open_dataset

    row = {"messages": ROW["messages"][:2], "tools": ROW["tools"]}
    [sample] = open_dataset(write(tmp_path / "m.jsonl", row))

    assert len(sample.input) == 1
    call = {"name": "weather", "arguments": {"city": "Paris"}}
    assert sample.target == {"calls": [call]}
    assert sample.tools[0].name == "weather"


def test_sharegpt_rows_are_conversations(tmp_path):
    from assay.datasets import open_dataset

    turns = [{"from": "human", "value": "2+2?"}, {"from": "gpt", "value": "4"}]
    [sample] = open_dataset(write(tmp_path / "m.jsonl", {"conversations": turns}))

    assert sample.input[0].role == "user" and sample.target == "4"


def test_a_tools_column_of_other_things_is_not_tools(tmp_path):
    from assay.datasets import open_dataset

    row = {"question": "What for?", "tools": "hammer, saw", "answer": "wood"}
    [sample] = open_dataset(write(tmp_path / "m.jsonl", row))

    assert sample.tools == ()


def test_unreadable_tools_of_a_conversation_are_a_fault_of_the_row(tmp_path):
    from assay.core import BadSample
    from assay.datasets import open_dataset

    rows = [ROW, {**ROW, "tools": [{"description": "nameless"}]}]
    _, bad = open_dataset(write(tmp_path / "m.jsonl", *rows))

    assert isinstance(bad, BadSample)
    assert "a tool without a name" in str(bad.error)


def test_gemini_contents_are_a_conversation(tmp_path, served):
    url, bodies, _ = served
    call = {"functionCall": {"name": "weather", "args": {"city": "Paris"}}}
    result = {"functionResponse": {"name": "weather", "response": {"result": "sunny"}}}
    row = {
        "contents": [
            {"role": "user", "parts": [{"text": "And in Paris?"}]},
            {"role": "model", "parts": [call]},
            {"role": "user", "parts": [result]},
        ],
        "tools": ROW["tools"],
        "answer": "sunny",
    }

    assay.run(
        write(tmp_path / "m.jsonl", row),
        "openai/m",
        model_args={"base_url": url},
        scorers=["includes"],
        output=str(tmp_path / "run"),
    )

    [_, asked, answered] = bodies[0]["messages"]
    assert asked["tool_calls"][0]["function"]["name"] == "weather"
    assert answered["content"] == "sunny"


def test_a_result_that_names_no_call_belongs_to_the_first_open_one(tmp_path, served):
    url, bodies, _ = served
    question, asked, _ = ROW["messages"]
    nameless = {"role": "tool", "content": {"sky": "clear"}}
    row = {**ROW, "messages": [question, asked, nameless]}

    assay.run(
        write(tmp_path / "m.jsonl", row),
        "openai/m",
        model_args={"base_url": url},
        scorers=["includes"],
        output=str(tmp_path / "run"),
    )

    sent = bodies[0]["messages"][2]
    assert sent["tool_call_id"] == "c1"
    assert json.loads(sent["content"]) == {"sky": "clear"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"messages": [{"role": "tool", "content": "x"}, ROW["messages"][0]]}, "a tool result has no open call"),
        ({"tool_choice": "wether"}, "the tool choice 'wether' is not one of the tools"),
        ({"tools": [{"name": "f", "parameters": {"type": "array"}}]}, "not the schema of an object"),
        ({"tools": [{"name": "f", "parameters": {"city": {"type": "str"}}}]}, "not the schema of an object"),
    ],
)  # fmt: skip
def test_rows_that_no_service_takes_are_named(tmp_path, capsys, change, words):
    data = write(tmp_path / "m.jsonl", {**ROW, "id": "row7", **change})

    assert main(["check", data]) == 1

    assert words in capsys.readouterr().err


def test_check_counts_the_columns_of_tools_as_used(tmp_path, capsys):
    data = write(tmp_path / "m.jsonl", ROW)

    assert main(["check", data]) == 0

    assert "nothing uses" not in capsys.readouterr().out

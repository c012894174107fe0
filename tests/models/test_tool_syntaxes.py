"""Tool calls that models write as text, and tools shown to models by their chat template or in the prompt."""

import json
from pathlib import Path
from typing import ClassVar

import pytest

import assay
from assay.core import (
    Abilities,
    GenerateOptions,
    Message,
    Output,
    Prompt,
    Request,
    Text,
    UsageError,
)
from assay.core.tools import Tool, ToolCall, ToolResult
from assay.models.openai import OpenAI
from assay.models.tool_prompting import choose_writing, written_prompt
from assay.models.tool_syntaxes import SYNTAXES, syntax_of, takes_tools

CORPUS = Path(__file__).parent / "corpus" / "tool_syntaxes.jsonl"
ADD = Tool(
    "add",
    "Add two numbers.",
    {
        "type": "object",
        "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
        "required": ["x", "y"],
    },
)
CALL = ToolCall("", "add", {"x": 17, "y": 25})
HERMES_ANSWER = (
    '<tool_call>\n{"name": "add", "arguments": {"x": 17, "y": 25}}\n</tool_call>'
)
EXAMPLES = {
    "hermes": HERMES_ANSWER,
    "llama3_json": '<|python_tag|>{"name": "add", "parameters": {"x": 17, "y": 25}}',
    "pythonic": "[add(x=17, y=25)]",
    "mistral": '[TOOL_CALLS]add[CALL_ID]a1b2c3d4e[ARGS]{"x": 17, "y": 25}',
    "phi": 'functools[{"name": "add", "arguments": {"x": 17, "y": 25}}]',
    "granite": '<tool_call>[{"name": "add", "arguments": {"x": 17, "y": 25}}]',
    "deepseek": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n"
        '```json\n{"x": 17, "y": 25}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
    ),
}


def calls_in(syntax, text):
    return SYNTAXES[syntax].read(text).calls


@pytest.mark.parametrize("syntax", EXAMPLES)
def test_reader_reads_the_calls_of_its_syntax(syntax):
    assert calls_in(syntax, EXAMPLES[syntax]) == (CALL,)


@pytest.mark.parametrize("syntax", SYNTAXES)
def test_what_a_syntax_writes_it_reads_back(syntax):
    calls = (CALL, ToolCall("", "add", {"x": -1, "y": [1.5, {"z": "it's"}]}))

    assert calls_in(syntax, SYNTAXES[syntax].write(calls)) == calls


def test_readers_agree_with_bfcl_eval_or_read_more():
    """`bench/tool_syntaxes.py` wrote the rows and says for each difference why it is meant."""
    rows = [json.loads(line) for line in CORPUS.read_text("utf-8").splitlines()]
    alike = 0
    for row in rows:
        text = row["text"].split("</think>")[-1].lstrip("\n")
        calls = calls_in(row["syntax"], text)
        is_readable = bool(calls) and all(call.is_readable for call in calls)
        read = [{c.name: c.arguments} for c in calls] if is_readable else None
        assert read == row["assay"], row
        alike += read == row["bfcl_eval"]
    assert len(rows) == 360
    assert alike > 320


@pytest.mark.parametrize(
    ("syntax", "text"),
    [
        ("hermes", '<tool_call>\n{"name": "add", "arguments": {"x": 1\n</tool_call>'),
        ("hermes", '<tool_call>{"name": "add", "args": {"x": 1}}</tool_call>'),
        ("llama3_json", '{"answer": 42}'),
        ("llama3_json", '{"name": "Ann"}'),
        ("pythonic", "The answer is 42."),
        ("pythonic", "[add(x=__import__('os').getpid() + 1)]"),
        ("pythonic", "[add(x=9**9**9)]"),
        ("pythonic", "[" * 5000),
        ("mistral", "[TOOL_CALLS]nothing here"),
        ("granite", '<|tool_call|>[{"name": "no_function", "arguments": {}}]'),
        ("phi", "<|tool_call|>[<|/tool_call|>"),
    ],
)
def test_text_that_is_not_a_call_stays_text(syntax, text):
    reading = SYNTAXES[syntax].read(text)

    assert (reading.calls, reading.words) == ((), text)


def test_arguments_by_position_are_kept_as_written():
    [call] = calls_in("pythonic", "add(17, y=25)")

    assert (call.name, call.arguments) == ("add", "17, y=25")
    assert not call.is_readable


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("{{ tools }} <tool_call>{json}</tool_call>", "hermes"),
        ("{% if tools %}[TOOL_CALLS]{% endif %}", "mistral"),
        ("{{ tools }}<|start_of_role|><|tool_call|>", "granite"),
        ("{{ tools }}<|tool|><|/tool|>", "phi"),
        ("{{ tools }}<|start_header_id|><|python_tag|>", "llama3_json"),
        ("{{ tools }}<｜tool▁calls▁begin｜>", "deepseek"),
        ("{{ tools }}<|tool_list_start|>", "pythonic"),
    ],
)
def test_chat_template_chooses_the_syntax(template, name):
    writing = choose_writing(None, template, "model")

    assert takes_tools(template)
    assert writing.syntax == syntax_of(template) == SYNTAXES[name]
    assert not writing.is_prompted


def test_template_of_an_unknown_syntax_is_refused_with_what_to_do():
    writing = choose_writing(None, "{{ tools }}<tool_call><function=", "model")
    fault = writing.fault(Prompt((Message.of("user", "?"),), tools=(ADD,)))

    assert "tool_syntax=NAME" in str(fault)
    assert choose_writing("hermes", "{{ tools }}", "model").syntax == SYNTAXES["hermes"]


def test_syntax_for_a_template_without_tools_is_an_error():
    with pytest.raises(UsageError, match="tool_syntax=prompted"):
        choose_writing("mistral", "{{ messages }}", "model")


def test_unknown_tool_syntax_names_the_nearest():
    with pytest.raises(UsageError, match="hermes"):
        OpenAI("m", base_url="http://127.0.0.1:9/v1", tool_syntax="hermess")


def test_template_cannot_enforce_a_tool_choice():
    prompt = Prompt((Message.of("user", "?"),), tools=(ADD,), tool_choice="required")
    native = choose_writing(None, "{{ tools }}<tool_call>", "model")
    prompted = choose_writing("prompted", None, "model")

    assert "tool_choice=required" in str(native.fault(prompt))
    assert prompted.fault(prompt) is None
    assert "must call a function" in written_prompt(prompt).messages[0].text


def test_prompted_conversation_holds_tools_calls_and_results_as_text():
    call = ToolCall("c1", "add", {"x": 17, "y": 25})
    messages = (
        Message.of("system", "Be brief."),
        Message.of("user", "17 + 25?"),
        Message("assistant", (call,)),
        Message("tool", (ToolResult("c1", (Text("42"),)),)),
    )

    written = written_prompt(Prompt(messages, tools=(ADD,)))

    system, _, assistant, result = written.messages
    assert system.text.startswith("You can call functions")
    assert system.text.endswith("Be brief.")
    assert '{"name": "add", "arguments": {"x": 17, "y": 25}}' in assistant.text
    assert (result.role, result.text) == (
        "user",
        "<tool_response>\n42\n</tool_response>\n",
    )
    assert written.tools == ()


def gguf_answer(monkeypatch, text):
    """Return the output of SmolLM2, whose engine gives a fixed text."""
    from assay.models import gguf

    answer = {"choices": [{"text": text, "finish_reason": "stop"}]}
    bodies = []

    def ask(self, chat, body):
        bodies.append((chat, body))
        return answer

    monkeypatch.setattr(gguf.Gguf, "_ask", ask)
    model = assay.models.build_model("smollm2")
    prompt = Prompt((Message.of("user", "17 + 25?"),), tools=(ADD,))
    [output] = model.generate([Request(prompt, GenerateOptions(temperature=0))])
    [(chat, body)] = bodies
    shown = model.shown(prompt)
    model.close()
    return output, chat, body, shown


@pytest.mark.embedded
def test_gguf_model_without_tools_in_its_template_is_prompted(monkeypatch):
    thought = f"<think>\n17 and 25\n</think>\n\n{HERMES_ANSWER}"

    output, chat, body, shown = gguf_answer(monkeypatch, thought)

    assert output.calls == (CALL,)
    assert (output.text, output.reasoning) == ("", "17 and 25")
    assert output.stop_reason == "tool_calls"
    assert not chat
    assert "<tool_call>" in body["preserved_tokens"]
    assert shown.startswith("<|im_start|>system\nYou can call functions")


@pytest.mark.embedded
def test_protocol_says_that_tools_were_prompted(tmp_path, monkeypatch):
    from assay.models import gguf

    answer = {"choices": [{"text": HERMES_ANSWER, "finish_reason": "stop"}]}
    monkeypatch.setattr(gguf.Gguf, "_ask", lambda self, chat, body: answer)
    row = {"question": "17 + 25?", "answer": "42", "tools": [ADD.to_plain()]}
    data = tmp_path / "sums.jsonl"
    data.write_text(json.dumps(row) + "\n", encoding="utf-8")

    done = assay.run(
        str(data),
        model="smollm2",
        scorers="includes",
        output_path=str(tmp_path / "run"),
    )

    assert "@prompted" in done.results[0].protocol
    again = assay.score(done.folder)
    assert again.results[0].protocol == done.results[0].protocol


def chat_answer(text):
    message = {"role": "assistant", "content": text}
    return {"choices": [{"message": message, "finish_reason": "stop"}]}


@pytest.mark.parametrize("syntax", ["prompted", "hermes"])
def test_endpoint_without_a_tool_parser_is_read_here(
    service, put_to, no_service, syntax
):
    server = service(chat_answer(HERMES_ANSWER))
    request = Request(Prompt((Message.of("user", "17 + 25?"),), tools=(ADD,)))

    [output] = put_to(server, "openai/m", request, tool_syntax=syntax)

    [body] = server.asked
    assert output.calls == (CALL,)
    assert ("tools" in body) == (syntax == "hermes")
    is_prompted = body["messages"][0]["role"] == "system"
    assert is_prompted == (syntax == "prompted")


class Plain:
    """A model that takes no tools."""

    abilities = Abilities()
    identity: ClassVar = {"plain": 1}

    def generate(self, requests):
        return [Output.of("42") for _ in requests]


def test_model_without_tools_is_refused_before_work(tmp_path):
    row = {"question": "17 + 25?", "answer": "42", "tools": [ADD.to_plain()]}
    data = tmp_path / "sums.jsonl"
    data.write_text(json.dumps(row) + "\n", encoding="utf-8")

    with pytest.raises(UsageError, match="the model takes none"):
        assay.run(str(data), model=Plain(), output_path=str(tmp_path / "run"))


def test_function_gets_tools_calls_and_results_as_dictionaries(tmp_path):
    seen = []

    def model(messages, tools):
        seen.append((messages, tools))
        if messages[-1]["role"] == "tool":
            return messages[-1]["content"]
        return {"calls": [{"name": "add", "arguments": {"x": 17, "y": 25}}]}

    file = tmp_path / "sums.py"
    file.write_text(
        'dataset = [{"question": "17 + 25?", "answer": "42"}]\n'
        "def add(x: int, y: int) -> int:\n"
        '    """Add two numbers."""\n'
        "    return x + y\n"
        "tools = [add]\n"
        'scorers = "includes"\n',
        encoding="utf-8",
    )

    done = assay.run(
        str(file), model=model, floors="off", output_path=str(tmp_path / "run")
    )

    assert done.results[0].value == 1.0
    messages, tools = seen[-1]
    assert tools[0]["function"]["name"] == "add"
    assert messages[1]["tool_calls"][0]["function"]["name"] == "add"
    assert messages[2] == {
        "role": "tool",
        "tool_call_id": messages[1]["tool_calls"][0]["id"],
        "content": "42",
    }

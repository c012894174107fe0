"""Tasks with tools: the calls of an answer are run, and the model is asked again with their results."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from virtual_time import VirtualLoop

import assay
from assay.core import Output, PlanError, Request, UsageError
from assay.models.scripted import Scripted
from assay.store import RunReader

SUMS = '''"""Sums by a tool."""
dataset = [{"question": "What is 17 + 25?", "answer": "42"}]
def add(x: int, y: int) -> int:
    """Add two numbers."""
    return x + y
tools = [add]
def score(sample, output):
    return sample.target in output.text and output.calls[0].name == "add"
'''
COUNTER = '''"""A counter that calls change."""
dataset = [{"id": f"s{n}", "question": "count", "start": n, "answer": "x"} for n in range(3)]
def state(sample):
    return {"total": sample.fields["start"], "log": []}
def bump(by: int, state) -> int:
    """Add to the counter."""
    state["total"] += by
    state["log"].append(by)
    return state["total"]
tools = [bump]
def score(sample, output):
    return output.state["total"] == sample.fields["start"] + sum(output.state["log"])
'''


def task_file(folder: Path, text: str, name: str = "sums.py") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": arguments}]}


def results_of(request: Request) -> list[str]:
    """Return the texts of the tool results in a request."""
    return [m.text for m in request.messages if m.role == "tool"]


def run_rounds(task: Path, *answers: Any, **settings: Any) -> tuple[Any, Scripted]:
    """Run a task with a model that gives the n-th answer in the n-th round of each sample, the last one ever after."""

    def answer(request: Request) -> Any:
        rounds = sum(1 for m in request.messages if m.role == "assistant" and m.parts)
        return answers[min(rounds, len(answers) - 1)]

    model = Scripted(answer)
    settings.setdefault("output", str(task.parent / "run"))
    settings.setdefault("floors", "off")
    return assay.run(str(task), model, **settings), model


def test_the_example_of_twelve_lines_runs(tmp_path: Path):
    result, model = run_rounds(
        task_file(tmp_path, SUMS), call("add", x=17, y=25), "It is 42."
    )

    assert result.results[0].value == 1.0
    assert results_of(model.calls[1]) == ["42"]
    assert [tool.name for tool in model.calls[0].prompt.tools] == ["add"]


def test_a_rerun_asks_nothing_again(tmp_path: Path):
    task = task_file(tmp_path, SUMS)
    run_rounds(task, call("add", x=17, y=25), "It is 42.")

    again, model = run_rounds(task, call("add", x=17, y=25), "It is 42.")

    assert again.results[0].value == 1.0 and model.calls == []


def test_scorers_read_the_state_and_every_call(tmp_path: Path):
    result, _ = run_rounds(
        task_file(tmp_path, COUNTER), call("bump", by=2), call("bump", by=3), "done"
    )

    assert result.results[0].value == 1.0
    rescored = assay.score(tmp_path / "run")
    assert rescored.results[0].value == 1.0


def test_the_model_sees_unknown_tools_wrong_arguments_and_errors(
    tmp_path: Path,
):
    text = SUMS.replace("return x + y", "return x // y")
    calls = [
        {"name": "sub", "arguments": {}},
        {"name": "add", "arguments": "not json"},
        {"name": "add", "arguments": {"x": "one", "z": 2}},
        {"name": "add", "arguments": {"x": 1, "y": 0}},
    ]

    _, model = run_rounds(task_file(tmp_path, text), {"calls": calls}, "42")

    unknown, unreadable, wrong, raised = results_of(model.calls[1])
    assert unknown == "there is no tool 'sub'; the tools are: add"
    assert "not a JSON object" in unreadable
    assert "`y` is missing" in wrong and "`x` must be an integer" in wrong
    assert raised.startswith("ZeroDivisionError")


def test_a_tool_that_hangs_is_ended_and_named(tmp_path: Path):
    text = SUMS.replace("return x + y", "\n    while True: pass")

    result, model = run_rounds(
        task_file(tmp_path, text), call("add", x=1, y=2), "42", tool_seconds=0.2
    )

    assert results_of(model.calls[1]) == ["add took more than 0.2 s and was ended"]
    assert any("the tool 'add' was ended" in note for note in result.notes)


@pytest.mark.parametrize(
    "body",
    [
        "while True: pass",
        "await asyncio.sleep(100)",
        "while True:\n        try: await asyncio.sleep(1)\n        except BaseException: pass",
    ],
    ids=["blocks", "waits", "will not be cancelled"],
)
def test_an_async_tool_that_hangs_is_ended_and_named(tmp_path: Path, body: str):
    text = SUMS.replace("def add", "import asyncio\nasync def add", 1)
    text = text.replace("return x + y", body)
    text = text.replace("tools = [add]", WAVE)
    task = task_file(tmp_path, text)

    result, model = run_rounds(
        task, call("add", x=1, y=2), call("wave"), "42", tool_seconds=0.2
    )

    assert results_of(model.calls[1]) == ["add took more than 0.2 s and was ended"]
    assert any("the tool 'add' was ended" in note for note in result.notes)
    assert result.results[0].n == 1


WAVE = '''async def wave():
    """Wave."""
tools = [add, wave]'''


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise KeyboardInterrupt", "RuntimeError: KeyboardInterrupt()"),
        ("raise SystemExit(3)", "SystemExit"),
        ("raise asyncio.CancelledError", "RuntimeError: CancelledError()"),
        ("raise Unreadable", "Unreadable (its message cannot be read)"),
    ],
)
@pytest.mark.parametrize("kind", ["def", "async def"])
def test_whatever_a_tool_raises_is_a_result(
    tmp_path: Path, body: str, words: str, kind: str
):
    header = """import asyncio
class Unreadable(Exception):
    def __str__(self): raise RuntimeError
"""
    text = SUMS.replace("def add", f"{header}{kind} add", 1)
    text = text.replace("return x + y", body)

    result, model = run_rounds(task_file(tmp_path, text), call("add", x=1, y=2), "42")

    [heard] = results_of(model.calls[1])
    assert words in heard
    assert result.results[0].value == 1.0


def test_what_a_generator_yields_is_collected_up_to_the_largest_result(tmp_path: Path):
    text = SUMS.replace("return x + y", "\n    while True: yield 'abcd' * 100")

    result, model = run_rounds(task_file(tmp_path, text), call("add", x=1, y=2), "42")

    [heard] = results_of(model.calls[1])
    assert heard.startswith("abcdabcd") and heard.endswith("more bytes]")
    assert list(result.notes) == [
        "sums: 1 result of the tool 'add' cut to 1,000,000 bytes"
    ]


def test_a_limit_that_answers_do_not_let_be_checked_is_noted(tmp_path: Path):
    result, _ = run_rounds(
        task_file(tmp_path, SUMS),
        call("add", x=1, y=2),
        "42",
        sample_tokens=50,
        sample_cost=1.0,
    )

    tokens, cost = result.notes
    assert "--sample_tokens could not be checked: 2 answers" in tokens
    assert "--sample_cost could not be checked" in cost and "price_input" in cost


def test_a_long_result_is_cut_and_control_characters_are_spelled_out(tmp_path: Path):
    text = SUMS.replace("-> int:", "-> str:", 1)
    text = text.replace("return x + y", 'return "\\x1b[0m\\x00" + "ä" * 1_000_000')

    _, model = run_rounds(task_file(tmp_path, text), call("add", x=1, y=2), "42")

    [words] = results_of(model.calls[1])
    assert words.startswith("\\x1b[0m\\x00ä")
    assert words.endswith(" more bytes]") and len(words.encode()) < 1_000_100


def test_a_thousand_calls_in_one_answer_are_answered_and_the_first_hundred_run(
    tmp_path: Path,
):
    calls = [{"name": "add", "arguments": {"x": n, "y": 0}} for n in range(1000)]

    _, model = run_rounds(task_file(tmp_path, SUMS), {"calls": calls}, "42")

    words = results_of(model.calls[1])
    assert len(words) == 1000 and words[99] == "99"
    assert words[100] == "not run: an answer may hold at most 100 calls"


@pytest.mark.parametrize(
    ("settings", "outcome", "asked"),
    [
        ({"max_turns": 4}, "limit:turns", 4),
        ({"max_calls": 3}, "limit:calls", 3),
    ],
)
def test_a_limit_is_an_outcome_and_what_is_there_is_scored(
    tmp_path: Path, settings: dict[str, Any], outcome: str, asked: int
):
    task = task_file(tmp_path, COUNTER)

    result, model = run_rounds(task, call("bump", by=2), limit=1, **settings)

    assert result.results[0].outcomes == {outcome: 1}
    assert result.results[0].value == 1.0
    assert len(model.calls) == asked


def test_tokens_and_cost_of_a_sample_are_limited(tmp_path: Path):
    task = task_file(tmp_path, COUNTER)

    def answer(request: Request) -> Output:
        output = assay.core.output.as_output(call("bump", by=1))
        usage = assay.core.output.Usage(input_tokens=60, output_tokens=40)
        return assay.core.output.replace(output, usage=usage)

    tokens = assay.run(
        str(task),
        Scripted(answer),
        limit=1,
        sample_tokens=250,
        floors="off",
        output=str(tmp_path / "tokens"),
    )

    assert tokens.results[0].outcomes == {"limit:tokens": 1}


def test_a_higher_limit_continues_the_sample(tmp_path: Path):
    task = task_file(tmp_path, COUNTER)
    run_rounds(task, call("bump", by=2), limit=1, max_turns=3)

    result, model = run_rounds(task, call("bump", by=2), limit=1, max_turns=5)

    assert len(model.calls) == 2 and result.results[0].outcomes == {"limit:turns": 1}


def test_async_tools_and_scripted_user_turns_work_together(tmp_path: Path):
    text = '''
dataset = [{"turns": ["one", "two"], "answer": "x"}]
async def look(name: str) -> dict:
    """Look something up."""
    return {"name": name}
tools = [look]
def score(sample, output):
    return len(output.rounds) == 4 and len(output.calls) == 2
'''
    task = task_file(tmp_path, text)

    result, model = run_rounds(
        task, call("look", name="a"), "first", call("look", name="b"), "second"
    )

    assert result.results[0].value == 1.0
    assert [m.role for m in model.calls[-1].messages if m.parts] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
        "assistant",
        "tool",
    ]


def test_calls_without_ids_get_one_that_no_other_call_has(tmp_path: Path):
    task = task_file(tmp_path, COUNTER)

    _, model = run_rounds(task, call("bump", by=1), call("bump", by=1), "done", limit=1)

    messages = model.calls[-1].messages
    made = [entry.id for message in messages for entry in message.calls]
    answered = [entry.call_id for message in messages for entry in message.results]
    assert made == answered and len(set(made)) == 2


def test_journal_has_the_results_before_the_next_request(tmp_path: Path):
    task = task_file(tmp_path, COUNTER)
    seen: list[list[str]] = []

    def answer(request: Request) -> Any:
        lines = (tmp_path / "run" / "records.jsonl").read_text().splitlines()
        seen.append([json.loads(line)["task"] for line in lines])
        return "done" if results_of(request) else call("bump", by=1)

    assay.run(
        str(task), Scripted(answer), limit=1, output=str(tmp_path / "run"), floors="off"
    )

    assert seen[1] == ["sums", "sums#tools"]


def test_a_changed_tool_runs_its_calls_again(tmp_path: Path):
    task = task_file(tmp_path, SUMS)
    run_rounds(task, call("add", x=17, y=25), "It is 42.")
    task.write_text(SUMS.replace("return x + y", "return x + y + 1"))

    _, model = run_rounds(task, call("add", x=17, y=25), "It is 42.")

    assert [results_of(request) for request in model.calls] == [["43"]]


def test_a_call_that_cannot_be_repeated_is_reported_and_the_sample_continues_from_there(
    tmp_path: Path,
):
    text = COUNTER.replace(
        "return state", "import os; return os.environ['TODAY'], state"
    )
    task = task_file(tmp_path, text)
    patch = pytest.MonkeyPatch()
    patch.setenv("TODAY", "monday")
    run_rounds(
        task, call("bump", by=1), call("bump", by=2), "done", limit=1, max_turns=2
    )
    patch.setenv("TODAY", "tuesday")

    result, model = run_rounds(
        task, call("bump", by=1), call("bump", by=2), "done", limit=1, max_turns=5
    )
    patch.undo()

    assert any("gave another result than before" in note for note in result.notes)
    assert len(model.calls) == 2 and "tuesday" in results_of(model.calls[0])[0]
    assert result.results[0].value == 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("y: int", "y"), "the parameter 'y' of the tool 'add' has no type"),
        (('    """Add two numbers."""\n', ""), "the tool 'add' has no docstring"),
        (("[add]", "[add, add]"), "the tool 'add' is defined twice"),
        (("[add]", '["nope"]'), "unknown tool 'nope'"),
        (("y: int", "*y: int"), "takes any number of arguments"),
        (("y: int", "y: int, state"), "the tool 'add' takes `state`"),
        (
            ("tools = [add]", "tools = [add]; limits = {'rounds': 3}"),
            "no limit 'rounds'",
        ),
    ],
)
def test_a_tool_that_cannot_be_offered_is_refused_before_work(
    tmp_path: Path, change: tuple[str, str], message: str
):
    task = task_file(tmp_path, SUMS.replace(*change))

    with pytest.raises((UsageError, PlanError), match=message):
        run_rounds(task, "42")

    assert not (tmp_path / "run").exists()


def test_a_call_in_a_task_without_tools_is_unparsed_and_shown(tmp_path: Path):
    text = SUMS.replace("tools = [add]\n", "").replace(
        'sample.target in output.text and output.calls[0].name == "add"', "1"
    )

    result, _ = run_rounds(task_file(tmp_path, text), call("add", x=1, y=2))

    assert result.results[0].outcomes == {"unparsed": 1}
    [score] = RunReader(tmp_path / "run").scores("sums", "Scripted", "score")
    assert "add(" in score.details["reason"]


def test_a_toolbox_with_its_own_end_and_replies_is_served(tmp_path: Path):
    text = """
from assay.tooling import text_result
from assay import Message, Tool
class Shop:
    replies = True
    def tools(self, sample, turn=0):
        return (Tool("submit", "End it."),) if turn else (Tool("look", "Look."),)
    async def open(self, context):
        return ShopSession()
class ShopSession:
    is_over = False
    def __init__(self):
        self.state = []
    async def call(self, call):
        self.state.append(call.name)
        self.is_over = call.name == "submit"
        return text_result(call, "ok")
    async def reply(self, messages, output):
        return [Message.of("user", "go on")]
    async def close(self):
        self.state.append("closed")
dataset = [{"question": "one", "answer": "x"}]
tools = [Shop()]
def score(sample, output):
    return output.state == ["look", "submit"]
"""
    task = task_file(tmp_path, text)

    result, model = run_rounds(task, call("look"), "words", call("submit"))

    assert result.results[0].value == 1.0 and len(model.calls) == 3
    assert [tool.name for tool in model.calls[2].prompt.tools] == ["submit"]


def test_a_run_with_tools_can_be_replayed(tmp_path: Path):
    task = task_file(tmp_path, COUNTER)
    run_rounds(task, call("bump", by=1), call("bump", by=1), "done")

    again = assay.run(
        str(task),
        f"replay/{tmp_path / 'run'}",
        output=str(tmp_path / "again"),
        floors="off",
    )

    assert again.results[0].value == 1.0 and again.results[0].outcomes == {"scored": 3}


def test_tools_that_cannot_work_leave_the_sample_for_the_next_run(tmp_path: Path):
    text = """
import os
from assay import Tool
from assay.core import AssayError
from assay.tooling import text_result
class Flaky:
    def tools(self, sample, turn=0):
        return (Tool("look", "Look."),)
    async def open(self, context):
        if os.environ.get("DOWN"):
            raise AssayError("the server is down", fix="start it")
        return self
    async def call(self, call):
        return text_result(call, "ok")
    async def close(self):
        pass
dataset = [{"question": "one", "answer": "x"}]
tools = [Flaky()]
scorers = ["includes"]
"""
    task = task_file(tmp_path, text)
    patch = pytest.MonkeyPatch()
    patch.setenv("DOWN", "1")
    down, _ = run_rounds(task, call("look"), "x", on_error="continue")
    patch.undo()

    up, model = run_rounds(task, call("look"), "x", on_error="continue")

    assert down.results[0].outcomes == {"judge_error": 1}
    assert any("the server is down" in note for note in down.notes)
    assert up.results[0].value == 1.0 and len(model.calls) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"generation": {"n": 2}}, "one answer in each round"),
        ({"max_turns": 0}, "--max_turns"),
        ({"tool_seconds": 0}, "--tool_seconds must be above 0"),
    ],
)
def test_settings_that_tools_cannot_serve_are_refused_before_work(
    tmp_path: Path, settings: dict[str, Any], message: str
):
    with pytest.raises((UsageError, PlanError), match=message):
        run_rounds(task_file(tmp_path, SUMS), "42", **settings)

    assert not (tmp_path / "run").exists()


def test_a_judge_reads_calls_and_results(tmp_path: Path):
    task = task_file(
        tmp_path, SUMS[: SUMS.index("def score")] + "scorers = ['judge']\n"
    )
    run_rounds(task, call("add", x=17, y=25), "It is 42.", judges={"judge": "scripted"})

    reader = RunReader(tmp_path / "run")
    lines = (reader.layout.journal).read_text().splitlines()
    prompts = [line for line in lines if '"task":"sums#judge"' in line]
    assert len(prompts) == 1 and "[tool_call] add(" in prompts[0]
    assert "[tool_result] 42" in prompts[0]


def test_an_endpoint_is_kept_busy_by_as_many_samples_as_may_be_in_flight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # In virtual time nothing but the latency of the endpoint passes, so that the load of the machine does not count.
    monkeypatch.setattr(asyncio.events, "new_event_loop", VirtualLoop)
    # Functions run in threads, which virtual time does not wait for. A toolbox runs in the loop.
    text = """
from assay import Tool
from assay.tooling import text_result
dataset = [{"id": f"s{n}", "question": "go", "answer": "done"} for n in range(256)]
class Steps:
    def tools(self, sample, turn=0):
        return (Tool("step", "Take a step."),)
    async def open(self, context):
        return self
    async def call(self, call):
        return text_result(call, "ok")
    async def close(self):
        pass
tools = [Steps()]
scorers = ["includes"]
"""
    latency, rounds, agents = 0.2, 11, 64
    starts: list[float] = []
    ends: list[float] = []

    class Endpoint:
        async def generate(self, requests: Any) -> Any:
            starts.append(asyncio.get_running_loop().time())
            await asyncio.sleep(latency)
            ends.append(asyncio.get_running_loop().time())
            is_last = len(results_of(requests[0])) == rounds - 1
            return ["done" if is_last else call("step")]

    result = assay.run(
        str(task_file(tmp_path, text)),
        Endpoint(),
        output=str(tmp_path / "run"),
        concurrency=agents,
        floors="off",
    )

    assert result.results[0].value == 1.0 and len(ends) == 256 * rounds
    ideal = latency * len(ends) / agents
    assert ideal / (max(ends) - min(starts)) >= 0.9

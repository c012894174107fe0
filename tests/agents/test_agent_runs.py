"""Tests of agent programs: what they are given, what is kept of them, and how runs go on after a kill."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from agent_runs import AgentFolder

from assay.cli.main import main
from assay.sandbox import choose

pytestmark = pytest.mark.skipif(
    choose("bubblewrap").tier is None, reason="bubblewrap does not run"
)
LOOP = "python loop.py"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    return AgentFolder(tmp_path, monkeypatch)


@pytest.mark.parametrize("api", ["chat", "responses", "messages"])
@pytest.mark.parametrize("stream", ["", "--stream "])
def test_a_program_is_answered_in_its_api(folder, api, stream):
    assert folder.run(f"{LOOP} {api} {stream}{{instruction}}") == 0

    answer = folder.answer()
    assert answer["output"]["candidates"][0]["text"] == "finished"
    assert answer["output"]["details"]["turns"] == len(folder.asked) == 4
    prompt, last = folder.exchanges()[-1]
    roles = [turn["role"] for turn in prompt]
    assert roles == ["system", "user", *["assistant", "tool"] * 3]
    assert prompt[1]["content"] == "Do 0; $HOME 'x'", (
        "the instruction is not seen by a shell"
    )
    assert prompt[-1]["content"][0]["content"] == [{"type": "text", "text": "step 2\n"}]
    assert last.follows, "only new messages are written"


def test_the_model_sees_the_messages_of_the_program(folder):
    folder.run(f"{LOOP} chat {{instruction}}")

    files = folder.answer()["output"]["details"]["files"]
    seen = [text for text in json.loads(files["seen.json"]) if text]
    prompt, _ = folder.exchanges()[-1]
    texts = [
        turn["content"] if isinstance(turn["content"], str) else turn["content"][0]
        for turn in prompt
    ]
    results = [
        part["content"][0]["text"]
        for part in texts
        if isinstance(part, dict) and part["type"] == "tool_result"
    ]
    assert results == ["step 0\n", "step 1\n", "step 2\n"]
    assert seen == ["Be brief.", "Do 0; $HOME 'x'", *results, "finished"]


def test_files_output_and_exit_code_are_kept(folder):
    (folder.path / "agent.sh").write_text(
        "cat; echo hi > new.txt; head -c 100 /dev/urandom > random.bin; echo oops >&2; exit 3"
    )

    folder.run("bash agent.sh")

    output = folder.answer()["output"]
    details = output["details"]
    assert output["candidates"][0]["text"] == "Do 0; $HOME 'x'", (
        "without a placeholder, the instruction is the input"
    )
    assert details["exit_code"] == 3
    assert details["stderr"] == "oops\n"
    assert details["files"]["new.txt"] == "hi\n"
    assert details["files"]["random.bin"]["bytes"] == 100


def test_show_says_how_a_program_ended_and_what_it_left(folder, capsys):
    (folder.path / "agent.sh").write_text("echo hi > new.txt; echo oops >&2; exit 3")
    folder.run("bash agent.sh")
    assert "said nothing" not in capsys.readouterr().out

    main(["show", "out", "--sample", "s0"])

    shown_lines = capsys.readouterr().out
    assert "agent: 0 exchanges, exit code 3" in shown_lines
    assert "files: new.txt" in shown_lines
    assert "errors: oops" in shown_lines


def test_changes_of_a_repository_are_exported_as_a_patch(folder):
    settings = "git config user.email a@b && git config user.name n"
    commit = f"git init -q . && {settings} && git commit -qm first --allow-empty"
    (folder.path / "agent.sh").write_text(f"{commit} && echo new > file.txt")
    folder.run("bash agent.sh")

    assert main(["export", "out", "--to", "swe-bench"]) == 0

    [line] = (folder.path / "out/predictions.jsonl").read_text().splitlines()
    prediction = json.loads(line)
    assert prediction["instance_id"] == "s0"
    assert prediction["model_patch"].startswith("diff --git a/file.txt b/file.txt\n")
    assert prediction["model_patch"].endswith("+new\n")


def test_a_python_function_is_called_with_the_instruction(folder):
    (folder.path / "words.py").write_text("GREETING = 'said'\n")
    (folder.path / "agent.py").write_text(
        "import words\nasync def run(instruction, model):\n    return f'{words.GREETING} {instruction} to {model}'\n"
    )

    folder.run("agent.py:run")

    text = folder.answer()["output"]["candidates"][0]["text"]
    assert text == "said Do 0; $HOME 'x' to model.py:generate"


@pytest.mark.skipif(
    importlib.util.find_spec("openai") is None, reason="pip install openai"
)
def test_a_loop_with_the_openai_sdk_runs(folder):
    (folder.path / "agent.py").write_text(
        "import openai\n"
        "def run(instruction):\n"
        "    turns = [{'role': 'user', 'content': instruction}]\n"
        "    reply = openai.OpenAI().chat.completions.create(model='any', messages=turns)\n"
        "    return reply.choices[0].message.tool_calls[0].function.arguments\n"
    )

    folder.run("agent.py:run")

    assert (
        folder.answer()["output"]["candidates"][0]["text"]
        == '{"command": "echo step 0"}'
    )


def test_a_limit_of_turns_is_an_outcome_and_what_is_there_counts(folder):
    folder.run(f"{LOOP} chat {{instruction}}", "--max_turns", "2")

    assert folder.answer()["output"]["details"]["limit"] == "limit:turns"
    assert folder.score().outcome == "limit:turns"
    assert len(folder.asked) == 2


def test_a_program_that_does_not_end_is_ended_at_its_limit(folder):
    (folder.path / "agent.sh").write_text(
        "echo finished; echo text > kept.txt; sleep 100 & yes > /dev/null"
    )

    folder.run("bash agent.sh", "--sample_seconds", "1")

    output = folder.answer()["output"]
    assert output["details"]["limit"] == "limit:seconds"
    assert output["details"]["files"] == {"kept.txt": "text\n"}
    assert folder.score().value == 1.0, "what was printed is scored"


def test_an_endless_stream_of_output_is_cut(folder):
    (folder.path / "agent.sh").write_text("head -c 3000000 /dev/zero | tr '\\0' x")

    folder.run("bash agent.sh")

    output = folder.answer()["output"]
    assert output["details"]["output_cut"] is True
    assert len(output["candidates"][0]["text"]) == 1 << 20


REQUESTS = """
import json, os, sys, urllib.request, urllib.error
def status(path, body, key=os.environ["OPENAI_API_KEY"]):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + path, data, {"authorization": f"Bearer {key}"})
    try:
        return urllib.request.urlopen(request).status
    except urllib.error.HTTPError as error:
        assert "message" in json.load(error)["error"]
        return error.code
turn = {"role": "user", "content": "hi"}
image = {"type": "image_url", "image_url": {"url": "http://127.0.0.1/x.png"}}
print([
    status("/chat/completions", {"messages": [turn]}, key="other"),
    status("/chat/completions", b"{"),
    status("/chat/completions", {"messages": []}),
    status("/chat/completions", {"messages": [turn], "top_p": 9}),
    status("/chat/completions", {"messages": [{"role": "user", "content": [image]}]}),
    status("/chat/completions", {"messages": [{"role": "tool", "tool_call_id": "c", "content": "x"}]}),
    status("/responses", {"input": "hi", "previous_response_id": "unknown"}),
    status("/messages", {"messages": [turn], "system": 3}),
    status("/embeddings", {}),
    status("/chat/completions", {"messages": [turn], "logit_bias": {}}),
])
"""


def test_requests_that_cannot_be_asked_are_refused_with_a_reason(folder):
    (folder.path / "agent.py").write_text(REQUESTS)

    folder.run("python agent.py")

    output = folder.answer()["output"]
    assert (
        output["candidates"][0]["text"]
        == "[401, 400, 400, 400, 400, 400, 400, 400, 404, 200]"
    )
    assert output["details"]["not_passed_on"] == ["logit_bias"]
    assert len(folder.asked) == 1


def test_identical_requests_are_exchanges_of_their_own(folder):
    (folder.path / "agent.py").write_text(
        "import loop\n"
        "body = {'messages': [{'role': 'user', 'content': 'hi'}]}\n"
        "def run(instruction):\n"
        "    return str(len({loop.post('chat/completions', body) for _ in range(3)}))\n"
    )

    folder.run("agent.py:run")

    assert len(folder.exchanges()) == len(folder.asked) == 3


def test_a_finished_run_starts_no_program_again(folder):
    folder.run(f"{LOOP} chat {{instruction}}")
    journal = (folder.path / "out/records.jsonl").read_bytes()

    folder.run(f"{LOOP} chat {{instruction}}")

    assert len(folder.asked) == 4
    assert (folder.path / "out/records.jsonl").read_bytes() == journal


def test_a_killed_run_asks_no_exchange_twice(tmp_path, monkeypatch):
    folder = AgentFolder(tmp_path, monkeypatch, samples=3)
    command = [
        sys.executable,
        "-m",
        "assay",
        "run",
        "rows.jsonl",
        "--model",
        "model.py:generate",
        "-o",
        "out",
    ]
    command += [
        "--agent",
        f"{LOOP} chat {{instruction}}",
        "--scorer",
        "exact_match",
        "--concurrency",
        "2",
    ]
    for count in (2, 7):
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while process.poll() is None and len(folder.asked) < count:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()

    assert folder.run(f"{LOOP} chat {{instruction}}", "--concurrency", "2") == 0

    most_lost = (
        2 * 2
    )  # a kill loses what is in flight: at most one request of each sample at work
    assert len(folder.asked) <= 3 * 4 + most_lost
    assert [len(folder.exchanges(f"s{n}")) for n in range(3)] == [4, 4, 4]
    for n in range(3):
        assert folder.answer(f"s{n}")["output"]["candidates"][0]["text"] == "finished"


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("no-such-program {instruction}", "there is no such program on this machine"),
        ("orcale", "did you mean 'oracle'?"),
        ("missing.py:run", "there is no file missing.py"),
        ("model.py:run", "has no function 'run'"),
        ("bash 'x", "close the quotation marks"),
        ("oracle", "this task has none"),
    ],
)
def test_an_agent_that_cannot_run_is_refused_before_work(folder, capsys, agent, words):
    assert folder.run(agent) == 2

    assert words in capsys.readouterr().err
    assert not os.path.exists("out")


def test_unknown_options_of_an_agent_are_refused(folder, capsys):
    assert folder.run("bash x", "--agent_args", "network=yes") == 2

    assert "unknown option 'network' of the agent" in capsys.readouterr().err


def test_the_agent_null_does_nothing(folder):
    assert folder.run("null") == 0

    assert folder.asked == []
    assert folder.score().value == 0.0


def test_another_agent_is_another_protocol_and_asked_again(folder):
    folder.run("null")

    folder.run(f"{LOOP} chat {{instruction}}")

    assert folder.score().value == 1.0
    assert len(folder.asked) == 4

"""Tests of the tools of a workspace and of MCP servers, called by a scripted model."""

import json
from pathlib import Path

import pytest

from assay.cli.main import main
from assay.sandbox import choose

pytestmark = pytest.mark.skipif(
    choose("bubblewrap").tier is None, reason="bubblewrap does not run"
)
TASK = '''"""Work in a workspace."""
dataset = [{"id": "one", "question": "Work.", "answer": "42"}]
tools = ["bash", "python", "read_file", "write_file", "edit_file", "submit"]
mcp = %s
def score(sample, output):
    return sample.target == str(output.state)
'''
MODEL = """
import json
from pathlib import Path
from assay import ToolCall

def generate(messages):
    done = sum((m["role"] if isinstance(m, dict) else m.role) == "assistant" for m in messages)
    name, arguments = json.loads(Path("calls.json").read_text())[done]
    return ToolCall(f"c{done}", name, arguments)
"""
SERVER = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    add = {"name": "add", "inputSchema": {"type": "object", "properties": {"x": {"type": "integer"}}}}
    if method == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {}, "serverInfo": {}}
    elif method == "tools/list" and not message["params"]:
        result = {"tools": [], "nextCursor": "more"}
    elif method == "tools/list":
        result = {"tools": [add]}
    elif method == "tools/call":
        print("not a message", flush=True)
        is_bad = message["params"]["arguments"]["x"] < 0
        open("served.txt", "a").write("served ")
        result = {"content": [{"type": "text", "text": "below 0" if is_bad else "fine"}], "isError": is_bad}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.fixture
def work(tmp_path, monkeypatch):
    """Return a function that runs calls, and returns text and error of each result."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "server.py").write_text(SERVER)

    def results_of(*calls, servers=()):
        (tmp_path / "task.py").write_text(TASK % list(servers))
        (tmp_path / "calls.json").write_text(
            json.dumps([*calls, ["submit", {"answer": "42"}]])
        )
        assert (
            main(
                [
                    "run",
                    "task.py",
                    "--model",
                    "model.py:generate",
                    "-o",
                    "out",
                    "--floors",
                    "off",
                ]
            )
            == 0
        )
        results = {}
        for line in Path("out/records.jsonl").read_text().splitlines():
            record = json.loads(line)
            for turn in record.get("prompt", ()):
                parts = turn.get("content", "")
                for part in parts if isinstance(parts, list) else ():
                    if part["type"] == "tool_result":
                        text = "".join(piece["text"] for piece in part["content"])
                        results[part["call_id"]] = (text, part.get("error", ""))
        return list(results.values())

    return results_of


def test_bash_keeps_lists_lines_and_constants(work):
    results = work(
        [
            "bash",
            {
                "command": "readonly R=5; x=$'a\nb'; list=(1 '2 3'); declare -A m=([k]=v)"
            },
        ],
        ["bash", {"command": 'echo $R "$x" "${list[1]}" ${m[k]}'}],
    )

    assert results[1][0] == "5 a\nb 2 3 v\n"


def test_bash_keeps_folder_variables_and_functions(work):
    results = work(
        ["bash", {"command": "mkdir d; cd d; X=5; export Y=6; f() { echo f$1; }"}],
        ["bash", {"command": "basename $PWD; echo $X $Y; f 1; false"}],
        ["bash", {"command": "exit 3"}],
        ["bash", {"command": "echo $X"}],
    )

    assert [text for text, _ in results] == [
        "[no output]",
        "d\n5 6\nf1\n\n[exit code 1]",
        "\n[exit code 3]",
        "5\n",
    ]


def test_files_are_written_edited_and_read(work):
    results = work(
        ["write_file", {"path": "a/b.txt", "content": "one\ntwo\nthree\n"}],
        ["edit_file", {"path": "a/b.txt", "old": "two", "new": "2"}],
        ["edit_file", {"path": "a/b.txt", "old": "four", "new": "4"}],
        ["read_file", {"path": "a/b.txt", "first_line": 2, "lines": 1}],
        ["read_file", {"path": "missing"}],
        ["python", {"code": "print(open('a/b.txt').read()[:3], 6 * 7)"}],
    )

    assert results[1] == ("changed a/b.txt", "")
    assert results[2] == (
        "the text to replace occurs 0 times in a/b.txt, not once",
        "raised",
    )
    assert results[3] == ("2\n", "")
    assert results[4][1] == "raised"
    assert results[5] == ("one 42\n", "")


def test_the_model_learns_that_a_command_ended_the_workspace(work):
    results = work(
        ["bash", {"command": "kill -9 -1"}], ["bash", {"command": "echo more"}]
    )

    assert results[1][1] == "workspace_ended" or results[0][1] == "workspace_ended"


def test_tools_of_an_mcp_server_run_in_the_workspace(work):
    results = work(
        ["add", {"x": 1}],
        ["add", {"x": -1}],
        ["bash", {"command": "cat served.txt"}],
        servers=["python server.py"],
    )

    assert results == [("fine", ""), ("below 0", "raised"), ("served served ", "")]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (
            "no-such-server --x",
            "mcp no-such-server: there is no such program on this machine",
        ),
        ("python missing.py", "it has ended"),
        ("", "the command is empty"),
    ],
)
def test_a_server_that_does_not_start_is_refused_before_work(
    work, capsys, command, words
):
    Path("task.py").write_text(TASK % [command])

    assert main(["run", "task.py", "--model", "model.py:generate", "-o", "out"]) == 2

    assert words in capsys.readouterr().err
    assert not Path("out").exists()

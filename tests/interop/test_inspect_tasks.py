"""Tasks of inspect_ai run by assay, and models of assay run by inspect_ai. `make interop` installs it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.cli.main import main
from assay.store.imported import open_run

pytest.importorskip("inspect_ai", reason="pip install inspect_ai")

TASKS = '''
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import includes, match
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import tool


@tool
def add():
    async def execute(x: int, y: int):
        """Add two numbers.

        Args:
            x: First.
            y: Second.
        """
        return str(x + y)

    return execute


ROWS = [Sample(f"{n}+{n}?", target=str(2 * n), id=f"q{n}") for n in range(20)]


@task
def sums():
    return Task(dataset=MemoryDataset(ROWS), solver=generate(), scorer=[match(), includes()])


@task
def with_tools():
    return Task(
        dataset=MemoryDataset(ROWS[:3]),
        solver=[use_tools(add()), generate()],
        scorer=includes(),
    )
'''
MODELS = '''
import time
from assay.core import Output, ToolCall
from assay.core.output import Candidate
from assay.core.tools import ToolCall


def note(text):
    with open("calls.txt", "a") as file:
        file.write(text + "\\n")


def answer(messages):
    """Right for even numbers; the last one fails."""
    text = messages[-1]["content"]
    note(text)
    n = int(text.split("+")[0])
    if n == 19:
        raise ValueError("no answer for this")
    return str(2 * n) if n % 2 == 0 else "no"


def slow(messages):
    time.sleep(0.3)
    return answer(messages)


def with_tools(request):
    last = request.messages[-1]
    if last.role == "tool":
        note(last.results[0].text)
        return "It is " + last.results[0].text
    n = int(last.text.split("+")[0])
    assert request.prompt.tools[0].name == "add"
    note("call")
    call = ToolCall(f"c{n}", "add", {"x": n, "y": n})
    return Output((Candidate((call,), "tool_calls"),))
'''


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("my_tasks.py").write_text(TASKS)
    Path("models.py").write_text(MODELS)
    return tmp_path


def calls() -> list[str]:
    return Path("calls.txt").read_text().splitlines()


def test_a_task_runs_with_intervals_and_failures(capsys):
    words = "run my_tasks.py@sums --model models.py:answer -o out --on_error continue"

    main(words.split())

    rows = {row.metric: row for row in open_run("out").results}
    assert rows["match"].value == pytest.approx(10 / 19)
    assert rows["match"].n == 19 and rows["match"].n_expected == 20
    assert rows["match"].ci[0] < 10 / 19 < rows["match"].ci[1]
    assert rows["includes"].outcomes["model_error"] == 1
    assert len(calls()) == 20
    reader = open_run("out")
    scores = {s.id: s for s in reader.scores(*reader.cells[0], "match")}
    assert scores["q4"].values == {"match": 1.0} and scores["q3"].values["match"] == 0.0


def test_tools_of_a_task_are_called():
    main(
        [
            "run",
            "my_tasks.py@with_tools",
            "--model",
            "models.py:with_tools",
            "-o",
            "out",
        ]
    )

    (row,) = open_run("out").results
    assert row.value == 1.0 and row.n == 3
    assert sorted(calls()) == ["0", "2", "4", "call", "call", "call"]


def test_a_killed_run_repeats_no_finished_call():
    words = [sys.executable, "-m", "assay", "run", "my_tasks.py@sums", "-o", "out"]
    words += ["--on_error", "continue", "--model", "models.py:slow"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, env=os.environ)
    while not Path("calls.txt").exists() or len(calls()) < 6:
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = calls()

    main(words[3:])

    repeated = [call for call in before if calls().count(call) > 1]
    assert len(repeated) <= 1, "only the call that was under way may be asked again"
    assert len(set(calls())) == 20
    assert open_run("out").results[0].value == pytest.approx(10 / 19)


def test_limit_and_sample_ids_choose_samples():
    words = "run my_tasks.py:sums --model models.py:answer -o out"

    main([*words.split(), "--limit", "3"])

    assert len(calls()) == 3
    assert open_run("out").results[0].n == 3


def test_inspect_runs_models_of_assay():
    command = "import sys; from inspect_ai._cli.main import main; main()"
    words = "eval my_tasks.py@sums --model assay/models.py:answer --log-dir logs"
    arguments = [*words.split(), "--no-fail-on-error", "--display", "none"]

    subprocess.run([sys.executable, "-c", command, *arguments], check=True)

    (log,) = Path("logs").glob("*.eval")
    rows = {row.metric: row for row in open_run(log).results}
    assert rows["match"].value == pytest.approx(10 / 19)
    assert open_run(log).cells[0][1] == "assay/models.py:answer"


def fault(capsys, *words: str) -> str:
    """Return the one line of a run that is refused."""
    assert main(["run", *words, "--model", "models.py:answer", "-o", "out"]) == 2
    line = capsys.readouterr().err.strip().splitlines()[-1]
    return line


def test_an_unknown_task_names_the_others(capsys):
    line = fault(capsys, "my_tasks.py@sumz")

    assert "no task 'sumz'" in line and "sums, with_tools" in line


def test_options_that_the_task_would_ignore_are_refused(capsys):
    line = fault(capsys, "my_tasks.py@sums", "--num_fewshot", "5")

    assert "--num_fewshot does not apply to tasks of inspect_ai" in line


def test_a_task_whose_data_needs_the_hub_says_so(capsys, monkeypatch):
    pytest.importorskip("inspect_evals", reason="pip install inspect_evals")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    line = fault(capsys, "inspect_evals/gsm8k")

    assert "data cannot be fetched" in line or "cannot be loaded" in line
    assert "fix:" in line


def test_an_unknown_name_of_inspect_evals_suggests_the_nearest(capsys):
    pytest.importorskip("inspect_evals", reason="pip install inspect_evals")

    line = fault(capsys, "inspect_evals/gsmk")

    assert "did you mean 'gsm8k'?" in line

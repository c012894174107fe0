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
def some_sums(first: int = 0, numbers: list[int] | None = None, scale: str = "plain"):
    rows = [ROWS[int(n)] for n in numbers] if numbers else ROWS[first:]
    return Task(dataset=MemoryDataset(rows), solver=generate(), scorer=match())


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


def reader(request):
    """Look one key up, then repeat what the tool returned. A finished call is noted."""
    last = request.messages[-1]
    time.sleep(0.2)
    if last.role == "tool":
        note("read " + str(len(request.messages)) + request.messages[1].text)
        return last.results[0].text
    note("ask " + last.text)
    call = ToolCall("c1", request.prompt.tools[0].name, {"key": "vacation_policy"})
    return Output((Candidate((call,), "tool_calls"),))


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


THREATS = "run inspect_evals/agent_threat_bench_memory_poison --model models.py:reader"


def test_a_task_of_inspect_evals_runs_with_its_tools_and_survives_a_kill():
    """Its ten samples are in the package; each asks a tool, so that there are two calls."""
    pytest.importorskip("inspect_evals", reason="pip install inspect_evals")
    words = [*THREATS.split(), "-o", "out"]
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", *words], stdout=subprocess.DEVNULL
    )
    while not Path("calls.txt").exists() or len(calls()) < 7:
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = calls()

    main(words)

    repeated = [call for call in before if calls().count(call) > 1]
    assert len(repeated) <= 1, "only the call that was under way may be asked again"
    assert len(set(calls())) == 20
    rows = {row.metric: row for row in open_run("out").results}
    scorer = "agent_threat_bench_scorer"
    assert sorted(rows) == [f"{scorer}.security", f"{scorer}.utility"]
    # One of ten questions is about vacations, and its record holds the attack.
    assert rows[f"{scorer}.utility"].value == pytest.approx(0.1)
    assert rows[f"{scorer}.security"].value == pytest.approx(0.9)


def test_arguments_choose_samples_of_inspect_evals():
    pytest.importorskip("inspect_evals", reason="pip install inspect_evals")

    main([*THREATS.split(), "-o", "out", "-T", "difficulty=easy"])

    assert open_run("out").results[0].n == 4


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

    assert "no task 'sumz'" in line and "sums, some_sums, with_tools" in line


def test_arguments_reach_the_task_and_its_protocol():
    words = "run my_tasks.py@some_sums --model models.py:answer -T first=15,scale=big"

    main([*words.split(), "-o", "out", "--on_error", "continue"])

    (row,) = open_run("out").results
    assert row.n_expected == 5
    assert row.protocol.endswith("+first=15+scale=big")
    assert sorted(calls()) == ["15+15?", "16+16?", "17+17?", "18+18?", "19+19?"]


def test_an_argument_with_commas_is_a_list_as_in_inspect():
    words = "run my_tasks.py@some_sums --model models.py:answer -o out -T numbers=2,4"

    main(words.split())

    assert sorted(calls()) == ["2+2?", "4+4?"]


def test_other_arguments_are_another_run(capsys):
    words = ["run", "my_tasks.py@some_sums", "--model", "models.py:answer", "-o", "out"]
    main([*words, "-T", "first=16", "--on_error", "continue"])

    main([*words, "-T", "first=14", "--on_error", "continue"])

    (row,) = open_run("out").results
    assert row.n_expected == 6
    assert len(calls()) == 4 + 2 + 1, "the failed call is asked again"


def test_an_unknown_argument_names_those_of_the_task(capsys):
    line = fault(capsys, "my_tasks.py@some_sums", "-T", "frist=3")

    assert "my_tasks.py@some_sums" in line and "unknown argument 'frist'" in line
    assert "did you mean 'first'? the task takes first, numbers, scale" in line


def test_arguments_of_a_task_without_any_are_refused(capsys):
    line = fault(capsys, "my_tasks.py@sums", "-T", "first=3")

    assert "the task takes no arguments" in line


def test_options_that_the_task_would_ignore_are_refused(capsys):
    line = fault(capsys, "my_tasks.py@sums", "--num_fewshot", "5")

    assert "--num_fewshot does not apply to tasks of inspect_ai" in line


def test_a_task_whose_data_needs_the_hub_says_so(capsys, monkeypatch):
    pytest.importorskip("inspect_evals", reason="pip install inspect_evals")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    line = fault(capsys, "inspect_evals/gsm8k")

    assert "data cannot be fetched" in line or "cannot be loaded" in line
    assert "fix:" in line


def test_an_unknown_argument_of_inspect_evals_names_the_known(capsys):
    pytest.importorskip("inspect_evals", reason="pip install inspect_evals")

    line = fault(capsys, "inspect_evals/gsm8k", "-T", "fewshots=3")

    assert "did you mean 'fewshot'?" in line
    assert "the task takes fewshot, fewshot_seed, shuffle_fewshot" in line


def test_an_unknown_name_of_inspect_evals_suggests_the_nearest(capsys):
    pytest.importorskip("inspect_evals", reason="pip install inspect_evals")

    line = fault(capsys, "inspect_evals/gsmk")

    assert "did you mean 'gsm8k'?" in line

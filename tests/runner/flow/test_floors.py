"""Floors: what agents that do nothing get, shown beside the numbers of a task with tools."""

from pathlib import Path
from typing import Any

import pytest

import assay
from assay.cli.main import main
from assay.comparison.gate import judge_run
from assay.comparison.policy import read_policy
from assay.models.scripted import Scripted
from assay.report import plain_table
from assay.sandbox import choose

HALF = '''"""Half of the samples are right for an agent that does nothing."""
dataset = [{"id": f"s{n}", "question": "open?", "answer": "yes" if n %% 2 else "no"} for n in range(%d)]
def state(sample):
    return {"open": False}
def unlock(state) -> str:
    """Open the door."""
    state["open"] = True
    return "open"
tools = [unlock]
def score(sample, output):
    return output.state["open"] == (sample.target == "yes")
'''


def task_file(folder: Path, count: int = 8) -> str:
    path = folder / "half.py"
    path.write_text(HALF % count)
    return str(path)


def right(request: Any) -> Any:
    """Open the door where it must be open."""
    is_first = not any(message.role == "tool" for message in request.messages)
    number = int(request.id[1:])
    return {"calls": [{"name": "unlock"}]} if is_first and number % 2 else "done"


def run(folder: Path, answer: Any = right, **settings: Any) -> Any:
    settings.setdefault("output", str(folder / "run"))
    return assay.run(task_file(folder), Scripted(answer), **settings)


def test_the_table_shows_the_floor_and_which_agent_reaches_it(tmp_path: Path):
    result = run(tmp_path)

    [row] = result.results
    assert row.value == 1.0
    assert row.details["floor"] == {
        "value": 0.5,
        "agent": "null",
        "null": 0.5,
        "spam": 0.5,
    }
    assert "0.500 (null)" in plain_table(result.results)
    assert row.flags == ()


def test_a_value_whose_interval_reaches_the_floor_is_flagged(tmp_path: Path):
    result = run(tmp_path, "done")

    [row] = result.results
    assert row.value == 0.5 and row.flags == ("not above the floor",)


def test_floors_can_be_turned_off_and_are_measured_once(tmp_path: Path):
    off = run(tmp_path, floors="off", output=str(tmp_path / "off"))
    first = run(tmp_path)
    journal = tmp_path / "run" / "floors" / "records.jsonl"
    written = journal.stat().st_mtime_ns
    again = run(tmp_path)

    assert "floor" not in off.results[0].details
    assert not (tmp_path / "off" / "floors").exists()
    assert again.results == first.results
    assert journal.stat().st_mtime_ns == written


def test_a_rescored_run_keeps_its_floor(tmp_path: Path):
    run(tmp_path)

    rescored = assay.score(tmp_path / "run")

    assert rescored.results[0].details["floor"]["value"] == 0.5


def test_a_floor_that_costs_something_is_left_out_and_the_run_says_so(tmp_path: Path):
    file = tmp_path / "judged.py"
    text = HALF % 2
    begin = text.index("def score")
    file.write_text(text[:begin] + "scorers = ['judge']\n")

    result = assay.run(
        str(file),
        Scripted("done"),
        output=str(tmp_path / "run"),
        judges={"judge": "scripted"},
        judge_args={"answers": "GRADE: C"},
    )

    assert any(
        "no floor was measured, because it asks a judge" in n for n in result.notes
    )


def test_a_simulated_user_of_a_floor_costs_nothing(tmp_path: Path):
    file = tmp_path / "talk.py"
    text = HALF % 4
    file.write_text(text + "user = 'You want {{ answer }}.'\n")
    (tmp_path / "customer.py").write_text(
        "def customer(messages):\n    return 'Bye. ###STOP###'\n"
    )
    result = assay.run(
        str(file),
        Scripted("done"),
        output=str(tmp_path / "run"),
        judges={"user": f"{tmp_path}/customer.py:customer"},
    )

    assert result.results[0].details["floor"]["value"] == 0.5
    floors = assay.RunReader(tmp_path / "run" / "floors")
    assert ("talk#user", "brief_user") in floors.index.cells
    assert {name for _, name in floors.index.cells} == {"null", "spam", "brief_user"}


def test_a_gate_can_require_a_distance_from_the_floor(tmp_path: Path):
    file = tmp_path / "policy.yaml"
    file.write_text("min_above_floor: 0.3\n")
    good = assay.run(
        task_file(tmp_path, 60), Scripted(right), output=str(tmp_path / "g")
    )
    bad = assay.run(task_file(tmp_path, 60), Scripted("no"), output=str(tmp_path / "b"))

    decisions = [
        judge_run(read_policy(file), result.folder).decision for result in (good, bad)
    ]

    assert decisions == ["pass", "fail"]


def test_epochs_of_a_task_with_tools_report_pass_at_k_and_pass_hat_k(tmp_path: Path):
    def sometimes(request: Any) -> Any:
        return right(request) if request.repeat else "done"

    result = run(tmp_path, sometimes, epochs=2, floors="off")

    values = {row.metric: row.value for row in result.results}
    assert values == {"score": 0.75, "score.pass@2": 1.0, "score.pass^2": 0.5}


def test_multiple_choice_shows_the_chance_level(tmp_path: Path):
    rows = [
        {
            "id": str(n),
            "question": "?",
            "choices": list("wxyz")[: 2 + n % 2 * 2],
            "answer": "A",
        }
        for n in range(4)
    ]

    result = assay.run(
        assay.Task("mine", rows, scorers=("choice",)),
        Scripted("A"),
        output=str(tmp_path / "run"),
    )

    assert result.results[0].details["floor"] == {"value": 0.375, "agent": "chance"}


@pytest.mark.skipif(choose("bubblewrap").tier is None, reason="bubblewrap does not run")
def test_an_agent_program_is_compared_with_one_that_ends_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"s{n}", "question": "?", "answer": "no"} for n in range(4)]
    (tmp_path / "agent.py").write_text("def run(instruction):\n    return 'no'\n")
    task = assay.Task("mine", rows, scorers=(says_nothing_or_no,))

    result = assay.run(task, "scripted", agent="agent.py:run", output="run")
    off = assay.run(task, "scripted", agent="agent.py:run", output="off", floors="off")
    null = assay.run(task, "scripted", agent="null", output="null")

    [row] = result.results
    assert row.value == 1.0
    assert row.details["floor"] == {"value": 1.0, "agent": "null", "null": 1.0}
    assert row.flags == ("not above the floor",)
    assert "floor" not in off.results[0].details and not Path("off/floors").exists()
    assert "floor" not in null.results[0].details


def says_nothing_or_no(sample: Any, output: Any) -> bool:
    return output.text in ("", "no")


def test_null_and_spam_are_models_of_their_own(tmp_path: Path, capsys: Any):
    task = task_file(tmp_path)

    assert main(["run", task, "--model", "spam", "-o", str(tmp_path / "spam")]) == 0

    reader = assay.RunReader(tmp_path / "spam")
    assert {result.model for result in reader.results} == {"spam"}
    [row] = reader.results
    assert row.value == 0.5 and "floor" not in row.details

"""Kills in the middle of samples with tools: no answer is asked again, none is lost, and no state is wrong."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fault_counts import COUNTS

from assay.cli.main import main
from assay.core.record import whole_prompts
from assay.store import RunReader

pytestmark = pytest.mark.faults
TASK = '''"""Counters that calls change."""
import os
dataset = [{"id": f"s{n}", "question": f"count from {n}", "answer": "x"} for n in range(%d)]
def state(sample):
    return {"total": int(sample.id[1:]), "calls": 0}
def bump(by: int, state) -> int:
    """Add to the counter."""
    state["total"] = (state["total"] * 31 + by) %% 1_000_003
    state["calls"] += 1
    return state["total"]
tools = [bump]
limits = {"turns": 1000}
def score(sample, output):
    return {"total": output.state["total"], "calls": output.state["calls"], "rounds": len(output.rounds)}
'''
MODEL = """
import os
from assay import ToolCall

def answer(request):
    spoken = [m for m in request.messages if m.parts]
    results = [m.text for m in spoken if m.role == "tool"]
    with open(os.environ["CALL_LOG"], "ab", buffering=0) as log:
        log.write(f"{spoken[0].text.split()[-1]} {len(results)}\\n".encode())
    if len(results) >= %d:
        return "done: " + results[-1]
    return ToolCall(f"c{len(results)}", "bump", {"by": int(results[-1] if results else 0) %% 97})
"""


class ToolRun:
    """A task with tools, a model that logs what it is asked, and the command that runs one on the other."""

    def __init__(self, folder: Path, samples: int, rounds: int) -> None:
        folder.mkdir()
        self.run = folder / "run"
        self.log = folder / "calls.log"
        (folder / "task.py").write_text(TASK % samples)
        (folder / "model.py").write_text(MODEL % rounds)
        self.arguments = [
            "run",
            str(folder / "task.py"),
            "--model",
            f"{folder / 'model.py'}:answer",
            "-o",
            str(self.run),
            "--floors",
            "off",
        ]

    def kill_often(self, kills: int) -> dict[str, Any]:
        """Run the command so many times, killed in the middle of a write to its journal. Return what was repeated."""
        script = str(Path(__file__).with_name("killed_often.py"))
        done = subprocess.run(
            [sys.executable, script, str(kills), str(self.log), "--", *self.arguments],
            env={**os.environ, "CALL_LOG": str(self.log)},
            capture_output=True,
            check=True,
            text=True,
        )
        report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return report

    def finish(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CALL_LOG", str(self.log))
        assert main(self.arguments) == 0

    def records(self) -> dict[str, Any]:
        """Return the answers with their whole prompts, and the scores, by sample."""
        reader = RunReader(self.run)
        [[task, model]] = [cell for cell in reader.index.cells if "#" not in cell[0]]
        cell = reader.index.cell(task, model)
        plain: dict[str, Any] = {}
        for place in cell.answers:
            records = [reader.index.output(answer) for answer in cell.answers[place]]
            outputs = [record.output["candidates"] for record in records]
            plain[place[0]] = [outputs, whole_prompts(records)]
        for score in reader.scores(task, model, "score"):
            plain[score.id].append(score.values)
        return plain


def test_kills_in_the_middle_of_samples_repeat_nothing_and_keep_every_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    samples, rounds = COUNTS.samples_with_tools, COUNTS.rounds_with_tools
    killed = ToolRun(tmp_path / "killed", samples, rounds)
    clean = ToolRun(tmp_path / "clean", samples, rounds)
    report = killed.kill_often(COUNTS.kills_with_tools)
    killed.finish(monkeypatch)
    clean.finish(monkeypatch)

    assert report == {"killed": COUNTS.kills_with_tools, "repeated": []}
    records = killed.records()
    assert records == clean.records()
    assert len(records) == samples
    assert all(len(outputs) == rounds + 1 for outputs, _, _ in records.values())

"""A run of its own process that takes a while, and what can be known of it from outside: for kills and signals.

The model logs each question when it is asked, and answers after a delay that depends on the question alone.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from assay.cli.main import main
from assay.store import RunReader

MODEL = """
import asyncio, os, random, time

def asked(messages):
    question = messages[-1]["content"]
    with open(os.environ["CALL_LOG"], "ab", buffering=0) as log:
        log.write(question.encode() + b"\\n")
    return question.split()[-1], random.Random(question).uniform(0.002, 0.05) * float(os.environ.get("PACE", "1"))

async def one_by_one(messages):
    answer, seconds = asked(messages)
    await asyncio.sleep(seconds)
    return answer * int(os.environ.get("LENGTH", "1"))

def in_batches(messages):
    answer, seconds = asked(messages)
    time.sleep(seconds / 25)
    return answer
"""


class LongRun:
    """A folder with rows and a model, and the command that runs one on the other."""

    def __init__(
        self, folder: Path, count: int, way: str = "one_by_one", *more: str
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "calls.log"
        self.run = folder / "run"
        rows = (
            {"id": f"s{n}", "question": f"say {n}", "answer": str(n if n % 3 else -1)}
            for n in range(count)
        )
        (folder / "rows.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in rows)
        )
        (folder / "model.py").write_text(MODEL)
        model = f"{folder / 'model.py'}:{way}"
        self.arguments = [
            "run",
            str(folder / "rows.jsonl"),
            "--model",
            model,
            "-o",
            str(self.run),
            *more,
        ]
        self.command = [sys.executable, "-m", "assay.cli.main", *self.arguments]

    def environment(self, **more: str) -> dict[str, str]:
        return {**os.environ, "CALL_LOG": str(self.log), **more}

    def start(self) -> subprocess.Popen[str]:
        """The command in a process of its own, its last words kept."""
        return subprocess.Popen(
            self.command,
            env=self.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def started_until(self, point: int) -> subprocess.Popen[str]:
        """The same, once so many different questions have ever been asked."""
        process = self.start()
        while process.poll() is None and len(set(self.calls())) < point:
            time.sleep(0.005)
        return process

    def finish(self) -> list[tuple[str, float, int]]:
        """The same command to its end, in the process of the tests and without delays; the results that it leaves."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("CALL_LOG", str(self.log))
            patch.setenv("PACE", "0")
            assert main(self.arguments) == 0
        results = json.loads((self.run / "summary.json").read_text())["results"]
        return [(result["metric"], result["value"], result["n"]) for result in results]

    def calls(self) -> list[str]:
        """Every question that was asked, by any process."""
        return self.log.read_text().split("\n")[:-1] if self.log.exists() else []

    def kept(self) -> set[str]:
        """The questions whose answers are in the journal."""
        if not (self.run / "records.jsonl").exists():
            return set()
        return {f"say {record.id[1:]}" for record in RunReader(self.run).outputs()}

    def records(self) -> list[str]:
        """What the journal holds, without the times: equal for equal runs."""
        reader = RunReader(self.run)
        outputs = [
            (r.id, r.key, r.prompt, _timeless(r.output), r.target)
            for r in reader.outputs()
        ]
        scores = [
            (r.id, r.scorer, r.digest, dict(r.values), r.outcome, r.answer, r.order)
            for (task, model) in reader.index.cells
            for scorer in reader.scorers(task, model)
            for r in reader.scores(task, model, scorer)
        ]
        return sorted(json.dumps(entry) for entry in (*outputs, *scores))


def _timeless(output: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in output.items() if name != "seconds"}

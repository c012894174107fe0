"""Exit codes and interrupts: how a run ends, seen from outside."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fault_counts import COUNTS, drawn
from long_runs import LongRun

from assay.store import RunReader, RunWriter
from assay.store.journal import read_lines

MODEL = """
import os, time
LOG = os.environ.get("CALL_LOG")
def generate(messages):
    question = messages[-1]["content"]
    if LOG:
        with open(LOG, "a") as log:
            log.write(question + "\\n")
    time.sleep(float(os.environ.get("CALL_DELAY", "0")))
    if question == os.environ.get("FAIL_ON"):
        raise ValueError("no")
    return question.split()[-1]
"""


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    path = tmp_path / "rows.jsonl"
    path.write_text(
        "".join(json.dumps({"id": f"s{n}", "question": f"say {n}", "answer": str(n)}) + "\n" for n in range(60))
    )
    return path


def command(rows: Path, *more: str) -> list[str]:
    model = f"{rows.parent / 'model.py'}:generate"
    out = str(rows.parent / "run")
    return [sys.executable, "-m", "assay.cli.main", "run", str(rows), "--model", model, "-o", out, *more]


def run(rows: Path, *more: str, **settings) -> subprocess.CompletedProcess:
    env = {**os.environ, **settings.pop("env", {})}
    return subprocess.run(
        command(rows, *more), env=env, capture_output=True, text=True, check=False, timeout=60, **settings
    )


def one_line(done: subprocess.CompletedProcess) -> str:
    lines = [line for line in done.stderr.splitlines() if line.startswith("assay: ")]
    assert "Traceback" not in done.stderr
    assert len(lines) == 1, done.stderr
    return lines[0]


def test_a_complete_run_leaves_with_0_and_a_partial_one_with_3(rows):
    partial = run(rows, env={"FAIL_ON": "say 7"})
    complete = run(rows)

    assert (partial.returncode, complete.returncode) == (3, 0)


def test_a_run_that_was_stopped_by_its_errors_leaves_with_1(rows):
    done = run(rows, "--on_error", "stop", env={"FAIL_ON": "say 7"})

    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_a_wrong_setting_leaves_with_2_and_writes_nothing(rows):
    done = run(rows, "--on_error", "sometimes")

    assert done.returncode == 2 and "--on_error takes" in one_line(done)
    assert not (rows.parent / "run").exists()


def test_a_folder_in_use_leaves_with_75_and_is_left_alone_even_by_fresh(rows):
    run(rows)
    journal = rows.parent / "run" / "records.jsonl"
    before = journal.read_bytes()
    with RunWriter(rows.parent / "run"):
        refused = run(rows)
        fresh = run(rows, "--fresh")

    assert (refused.returncode, fresh.returncode) == (75, 75)
    assert f"process {os.getpid()} on" in one_line(refused)
    assert journal.read_bytes() == before


@pytest.mark.parametrize("size", [300, 4_000, 12_000])
def test_a_full_disk_leaves_with_74_a_whole_journal_and_a_run_that_can_go_on(rows, size):
    def fill() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    full = run(rows, preexec_fn=fill, env={"PYTHONDONTWRITEBYTECODE": "1"})
    journal = rows.parent / "run" / "records.jsonl"
    lines = [line for _, line in read_lines(journal)] if journal.exists() else []
    resumed = run(rows, "--json")

    assert full.returncode == 74, full.stderr
    assert "free some space" in one_line(full)
    assert all(line is not None for line in lines)
    assert resumed.returncode == 0 and json.loads(resumed.stdout)["results"][0]["n"] == 60


BROKEN = """
from assay.core import Abilities
class Broken:
    abilities = Abilities()
    identity = {"broken": 1}
    def generate(self, requests):
        return []
class Built(Broken):
    def __init__(self):
        raise ValueError("no weights")
class Loaded(Broken):
    def load(self):
        raise ValueError("no weights")
"""


@pytest.mark.parametrize(("name", "line"), [("Built", 10), ("Loaded", 13)])
def test_a_model_that_cannot_be_built_or_loaded_is_one_line_that_blames_it(rows, name, line):
    model = rows.parent / "broken.py"
    model.write_text(BROKEN)

    done = run(rows, "--model", f"{model}:{name}")

    assert done.returncode == 1
    said = f"model '{model}:{name}' could not be {name.lower()}: ValueError: no weights (broken.py:{line})"
    assert said in one_line(done)
    manifest = rows.parent / "run" / "run.json"
    assert not manifest.exists() or json.loads(manifest.read_text())["status"] == "failed"


def test_a_folder_that_may_not_be_written_is_one_line_that_says_what_to_do(rows):
    closed = rows.parent / "closed"
    closed.mkdir(mode=0o555)
    if os.geteuid() == 0:
        closed = Path("/sys")  # root may write everywhere, but nobody makes folders here
    done = run(rows, "-o", str(closed / "run"))

    assert done.returncode == 1, done.stderr
    said = one_line(done)
    assert "cannot write: " in said and "fix: choose another folder with -o" in said


def interrupted(rows: Path, signals: list[int], delay: str, started: int) -> tuple[int, str, float]:
    log = rows.parent / "calls.log"
    env = {**os.environ, "CALL_LOG": str(log), "CALL_DELAY": delay}
    process = subprocess.Popen(
        command(rows), env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while process.poll() is None and (not log.exists() or log.read_text().count("\n") < started):
        time.sleep(0.01)
    begun = time.monotonic()
    for number in signals:
        process.send_signal(number)
        time.sleep(0.3)
    _, stderr = process.communicate(timeout=50)
    return process.returncode, stderr, time.monotonic() - begun


def test_a_run_under_nohup_does_not_end_at_a_hang_up(rows):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        code, stderr, _ = interrupted(rows, [signal.SIGHUP], "0.01", 3)
    finally:
        signal.signal(signal.SIGHUP, before)

    assert code == 0, stderr


@pytest.mark.faults
@pytest.mark.parametrize("point", drawn("signals", range(1, 41), COUNTS.interruptions))
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_one_signal_drains_writes_the_summary_and_leaves_with_130(rows, number, point, heeded_hangup):
    code, stderr, seconds = interrupted(rows, [number], "0.05", point)

    assert code == 130 and "Traceback" not in stderr
    assert seconds < 10  # a call takes 0.05
    lines = [line for _, line in read_lines(rows.parent / "run" / "records.jsonl")]
    assert all(line is not None for line in lines)
    summary = json.loads((rows.parent / "run" / "summary.json").read_text())
    assert summary["status"] == "interrupted"
    assert 0 < summary["results"][0]["n"] < summary["results"][0]["n_expected"] == 60
    assert run(rows).returncode == 0


def test_a_second_signal_does_not_wait_for_a_model_that_hangs(rows):
    code, stderr, seconds = interrupted(rows, [signal.SIGINT, signal.SIGINT], "45", 1)

    assert code == 130 and "Traceback" not in stderr
    assert seconds < 20  # the model would take 45
    assert RunReader(rows.parent / "run").manifest["status"] == "interrupted"


@pytest.mark.faults
def test_a_run_that_was_put_to_sleep_goes_on_when_it_wakes(tmp_path):
    points = drawn("sleepers", range(5, 45), COUNTS.sleepers)
    sleepers = {point: LongRun(tmp_path / str(point), 60, "in_batches") for point in points}
    asleep = {}
    for point, run in sleepers.items():
        asleep[point] = run.started_until(point)
        asleep[point].send_signal(signal.SIGSTOP)
    time.sleep(COUNTS.sleep_seconds)
    for process in asleep.values():
        process.send_signal(signal.SIGCONT)

    for point, process in asleep.items():
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == 0 and "Traceback" not in stderr, (point, stderr)
        summary = json.loads((sleepers[point].run / "summary.json").read_text())
        assert (summary["status"], summary["results"][0]["n"]) == ("complete", 60)
        assert len(sleepers[point].calls()) == 60

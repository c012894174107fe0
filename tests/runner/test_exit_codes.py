"""Exit codes and interrupts: how a run ends, seen from outside."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from fault_counts import COUNTS, drawn
from long_runs import LongRun

from assay.cli.main import main
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
    if question == os.environ.get("SIGNAL_AT"):
        os.kill(os.getpid(), int(os.environ["SIGNAL"]))
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
        "".join(
            json.dumps({"id": f"s{n}", "question": f"say {n}", "answer": str(n)}) + "\n"
            for n in range(60)
        )
    )
    return path


def command(rows: Path, *more: str) -> list[str]:
    model = f"{rows.parent / 'model.py'}:generate"
    return ["run", str(rows), "--model", model, "-o", str(rows.parent / "run"), *more]


def started(rows: Path, **settings) -> subprocess.Popen:
    """The command in a process of its own, its last words kept."""
    env = {**os.environ, **settings.pop("env", {})}
    program = [sys.executable, "-m", "assay.cli.main", *command(rows)]
    return subprocess.Popen(
        program,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        **settings,
    )


def summary(rows: Path) -> dict[str, Any]:
    return json.loads((rows.parent / "run" / "summary.json").read_text())


def one_line(stderr: str) -> str:
    lines = [line for line in stderr.splitlines() if line.startswith("assay: ")]
    assert "Traceback" not in stderr
    assert len(lines) == 1, stderr
    return lines[0]


def test_the_exit_code_is_what_the_command_returns(rows):
    partial = started(rows, env={"FAIL_ON": "say 7"})
    _, stderr = partial.communicate(timeout=60)

    assert partial.returncode == 3 and "Traceback" not in stderr


def test_a_complete_run_leaves_with_0_and_a_partial_one_with_3(rows, monkeypatch):
    monkeypatch.setenv("FAIL_ON", "say 7")
    partial = main(command(rows))
    monkeypatch.delenv("FAIL_ON")
    complete = main(command(rows))

    assert (partial, complete) == (3, 0)


def test_a_run_that_was_stopped_by_its_errors_leaves_with_1(rows, monkeypatch, capfd):
    monkeypatch.setenv("FAIL_ON", "say 7")

    assert main(command(rows, "--on_error", "stop")) == 1
    assert "Traceback" not in capfd.readouterr().err


def test_a_wrong_setting_leaves_with_2_and_writes_nothing(rows, capfd):
    assert main(command(rows, "--on_error", "sometimes")) == 2

    assert "--on_error takes" in one_line(capfd.readouterr().err)
    assert not (rows.parent / "run").exists()


def test_a_folder_in_use_leaves_with_75_and_is_left_alone_even_by_fresh(rows, capfd):
    main(command(rows))
    journal = rows.parent / "run" / "records.jsonl"
    before = journal.read_bytes()
    capfd.readouterr()
    with RunWriter(rows.parent / "run"):
        refused = main(command(rows))
        said = one_line(capfd.readouterr().err)
        fresh = main(command(rows, "--fresh"))

    assert (refused, fresh) == (75, 75)
    assert f"process {os.getpid()} on" in said
    assert journal.read_bytes() == before


@pytest.mark.parametrize("size", [300, 4_000, 12_000])
def test_a_full_disk_leaves_with_74_a_whole_journal_and_a_run_that_can_go_on(
    rows, size
):
    def fill() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    full = started(rows, preexec_fn=fill, env={"PYTHONDONTWRITEBYTECODE": "1"})
    _, stderr = full.communicate(timeout=60)
    journal = rows.parent / "run" / "records.jsonl"
    lines = [line for _, line in read_lines(journal)] if journal.exists() else []
    resumed = main(command(rows))

    assert full.returncode == 74, stderr
    assert "free some space" in one_line(stderr)
    assert all(line is not None for line in lines)
    assert resumed == 0 and summary(rows)["results"][0]["n"] == 60


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
def test_a_model_that_cannot_be_built_or_loaded_is_one_line_that_blames_it(
    rows, name, line, capfd
):
    model = rows.parent / "broken.py"
    model.write_text(BROKEN)

    assert main(command(rows, "--model", f"{model}:{name}")) == 1

    said = f"model '{model}:{name}' could not be {name.lower()}: ValueError: no weights (broken.py:{line})"
    assert said in one_line(capfd.readouterr().err)
    manifest = rows.parent / "run" / "run.json"
    assert (
        not manifest.exists() or json.loads(manifest.read_text())["status"] == "failed"
    )


def test_a_folder_that_may_not_be_written_is_one_line_that_says_what_to_do(rows, capfd):
    closed = rows.parent / "closed"
    closed.mkdir(mode=0o555)
    if os.geteuid() == 0:
        closed = Path(
            "/sys"
        )  # root may write everywhere, but nobody makes folders here

    assert main(command(rows, "-o", str(closed / "run"))) == 2

    said = one_line(capfd.readouterr().err)
    assert "cannot write: " in said and "fix: choose another folder with -o" in said


def interrupted(rows: Path, number: int, point: int, delay: str) -> tuple[int, str]:
    """How a run ends that gets a signal at one of its questions, and what it says."""
    env = {"CALL_DELAY": delay, "SIGNAL": str(int(number)), "SIGNAL_AT": f"say {point}"}
    process = started(rows, env=env, start_new_session=True)
    _, stderr = process.communicate(timeout=50)
    return process.returncode, stderr


def test_a_run_under_nohup_does_not_end_at_a_hang_up(rows):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        code, stderr = interrupted(rows, signal.SIGHUP, 3, "0")
    finally:
        signal.signal(signal.SIGHUP, before)

    assert code == 0, stderr


@pytest.mark.faults
@pytest.mark.parametrize("point", drawn("signals", range(1, 41), COUNTS.interruptions))
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_one_signal_drains_writes_the_summary_and_leaves_with_130(
    rows, number, point, heeded_hangup
):
    code, stderr = interrupted(rows, number, point, "0.02")

    assert code == 130 and "Traceback" not in stderr
    lines = [line for _, line in read_lines(rows.parent / "run" / "records.jsonl")]
    assert all(line is not None for line in lines)
    assert summary(rows)["status"] == "interrupted"
    assert (
        0
        < summary(rows)["results"][0]["n"]
        < summary(rows)["results"][0]["n_expected"]
        == 60
    )
    assert main(command(rows)) == 0 and summary(rows)["results"][0]["n"] == 60


def test_a_second_signal_does_not_wait_for_a_model_that_hangs(rows):
    log = rows.parent / "calls.log"
    process = started(
        rows, env={"CALL_LOG": str(log), "CALL_DELAY": "45"}, start_new_session=True
    )
    while process.poll() is None and not log.exists():
        time.sleep(0.01)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=50)

    assert process.returncode == 130 and "Traceback" not in stderr
    assert time.monotonic() - begun < 20  # the model would take 45
    assert RunReader(rows.parent / "run").manifest["status"] == "interrupted"


SLEEPS = """
import time
def score(sample, output):
    open("began", "w").close()
    time.sleep(45)
    return 1.0
"""


@pytest.mark.parametrize("verb", ["run", "score"])
def test_a_second_signal_does_not_wait_for_a_scorer_that_hangs(verb, rows):
    folder = rows.parent
    (folder / "sleeps.py").write_text(SLEEPS)
    words = command(rows, "--scorer", "sleeps.py")
    if verb == "score":
        assert main(command(rows)) == 0
        words = ["score", str(folder / "run"), "--scorer", "sleeps.py"]
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", *words],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and not (folder / "began").exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=40)  # the scorer would take 45

    assert process.returncode == 130 and "Traceback" not in stderr
    assert RunReader(folder / "run").manifest["status"] == "interrupted"


def test_an_interruption_while_assay_is_imported_is_one_line(tmp_path):
    source = "import _thread; _thread.interrupt_main(); import time; time.sleep(9)"
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, *more):\n"
        "        if name == 'assay.core.errors':\n"
        f"            {source}\n"
        "sys.meta_path.insert(0, Interrupt())\n"
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])

    done = subprocess.run(
        [sys.executable, "-m", "assay", "ls"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (130, "assay: interrupted\n")


@pytest.mark.faults
def test_a_suspended_run_continues_when_it_wakes(tmp_path):
    points = drawn("sleepers", range(5, 45), COUNTS.sleepers)
    sleepers = {
        point: LongRun(tmp_path / str(point), 60, "in_batches") for point in points
    }
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

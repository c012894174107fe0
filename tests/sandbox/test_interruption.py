"""Ctrl-C and SIGTERM end a sandboxed program at once, and no signal prints a traceback."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from assay.sandbox import (
    FunctionTests,
    Limits,
    Sandbox,
    StoppedError,
    Stopper,
    choose,
    judge_functions,
)

pytestmark = [
    pytest.mark.skipif(
        choose().tier is None, reason=f"no sandbox holds here: {choose().reasons}"
    ),
    pytest.mark.xdist_group("sandbox"),
]
MODEL = """
def generate(text: str) -> str:
    return '''open("/proc/self/comm", "w").write("{name}")
import time
time.sleep(3000)'''
"""


def is_running(name: str) -> bool:
    """Whether a process has this name, which the program gave itself."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            called, _, rest = path.read_text().rpartition(") ")
        except OSError:
            continue
        if called.endswith(f"({name}") and rest[0] not in "ZX":
            return True
    return False


def wait_for(condition, process: "subprocess.Popen[str] | None" = None) -> bool:
    for _ in range(1200):
        if condition():
            return True
        if process is not None and process.poll() is not None:
            return False
        time.sleep(0.05)
    return False


@pytest.mark.parametrize(
    "signals", [(signal.SIGINT,), (signal.SIGTERM,), (signal.SIGINT,) * 6]
)
def test_a_signal_ends_the_program_at_once_without_a_verdict_or_a_traceback(
    tmp_path, signals
):
    name = f"as{os.getpid()}-{len(signals)}{int(signals[0])}"
    (tmp_path / "model.py").write_text(MODEL.format(name=name))
    row = {"question": "Write f.", "tests": "assert f() == 1"}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    task = "dataset: rows.jsonl\nscorer: {name: runs, timeout: 3000}\n"
    (tmp_path / "task.yaml").write_text(task)
    words = ["run", "task.yaml", "--model", "model.py:generate", "-o", "run"]
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert wait_for(lambda: is_running(name), process), process.stdout.read()

    for number in signals:
        process.send_signal(number)
        time.sleep(0.05)
    output, _ = process.communicate(timeout=600)

    assert process.returncode == 130 and "Traceback" not in output, output
    assert not is_running(name)
    written = "".join(path.read_text() for path in (tmp_path / "run").rglob("*.json*"))
    assert "judge_error" not in written


@pytest.mark.parametrize("kind", ["verdict", "execution"])
def test_a_stopper_ends_what_runs_and_what_is_started_later(kind):
    stopper = Stopper()
    tier, limits = choose().tier, Limits(wall_seconds=3000, cpu_seconds=3000)
    raised: list[StoppedError] = []

    def run() -> None:
        try:
            if kind == "verdict":
                tests = FunctionTests("assert f()")
                sleeps = "import time\ntime.sleep(3000)"
                judge_functions(tier, sleeps, tests, limits, stopper)
            else:
                with Sandbox(tier, limits, stopper) as box:
                    box.exec(["sleep", "3000"])
        except StoppedError as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert wait_for(lambda: bool(stopper._running))
    stopper.stop()
    thread.join(600)
    run()

    assert not thread.is_alive() and len(raised) == 2

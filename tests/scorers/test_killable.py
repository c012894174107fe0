"""A helper process that may be killed."""

import os

import pytest

from assay.scorers.math.math_equivalence import KillableWorker, WorkerUnready


def write_worker(tmp_path, body):
    script = tmp_path / "worker.py"
    script.write_text(
        "import json, os, sys, time\n"
        "def say(message): print(json.dumps(message), flush=True)\n"
        "setup = json.loads(sys.stdin.readline())\n"
        f"{body}"
    )
    return script


ECHO = """
say({"ready": True})
for number, line in enumerate(sys.stdin):
    request = json.loads(line)
    if request.get("do") == "hang": time.sleep(60)
    if request.get("do") == "die": os._exit(3)
    if request.get("do") == "fill" and number: say({"error": "memory"})
    else: say({"pid": os.getpid(), "number": number, **request})
"""


def test_a_worker_that_hangs_or_dies_is_replaced(tmp_path):
    worker = KillableWorker(
        write_worker(tmp_path, ECHO), seconds=0.5, memory_bytes=1 << 30
    )

    first, hung, second = (
        worker.ask({"x": 1}),
        worker.ask({"do": "hang"}),
        worker.ask({"x": 2}),
    )
    died = worker.ask({"do": "die"})
    third = worker.ask({"x": 3})
    worker.close()

    assert (hung, died) == ({"error": "timeout"}, {"error": "died"})
    assert (first["x"], second["x"], third["x"]) == (1, 2, 3)
    assert len({first["pid"], second["pid"], third["pid"]}) == 3
    assert worker.kills == 2


def test_memory_used_by_an_earlier_request_does_not_fail_the_next(tmp_path):
    worker = KillableWorker(
        write_worker(tmp_path, ECHO), seconds=5.0, memory_bytes=1 << 30
    )
    worker.ask({"x": 1})

    reply = worker.ask({"do": "fill"})
    worker.close()

    assert reply["do"] == "fill"
    assert worker.kills == 0


def test_a_killed_worker_leaves_no_process_behind(tmp_path):
    worker = KillableWorker(
        write_worker(tmp_path, ECHO), seconds=1.0, memory_bytes=1 << 30
    )
    pid = worker.ask({"x": 1})["pid"]

    worker.close()

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_worker_that_cannot_load_its_libraries_says_so(tmp_path):
    worker = KillableWorker(
        write_worker(tmp_path, 'say({"ready": False})\n'),
        seconds=1.0,
        memory_bytes=1 << 30,
    )

    with pytest.raises(WorkerUnready):
        worker.ask({})


def test_a_worker_that_dies_at_once_differs_from_one_that_lacks_a_library(tmp_path):
    worker = KillableWorker(
        write_worker(tmp_path, "os._exit(1)\n"), seconds=1.0, memory_bytes=1 << 30
    )

    with pytest.raises(RuntimeError, match="ended or hung while it started"):
        worker.ask({})


def test_a_process_is_replaced_before_its_caches_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.scorers.math.math_equivalence._REQUESTS_PER_PROCESS", 2)
    worker = KillableWorker(
        write_worker(tmp_path, ECHO), seconds=5.0, memory_bytes=1 << 30
    )

    pids = [worker.ask({"x": number})["pid"] for number in range(4)]
    worker.close()

    assert pids[0] == pids[1] != pids[2] == pids[3]

"""Judges through the runner: asked once, kept like any other answer, asked again only where they failed."""

import json
import re

import pytest

import assay
from assay.core import ErrorInfo, UsageError
from assay.runner.counts.budget import ErrorBudget
from assay.runner.events import Silent
from assay.scorers.judge.judge_canaries import ORDERS
from assay.store import RunReader

MODEL = "def generate(messages):\n    return 'answer to ' + messages[-1]['content']\n"
JUDGE = """
import os
from assay.core import Output
def generate(requests):
    outputs = []
    for request in requests:
        with open(os.environ["JUDGE_LOG"], "a") as log:
            log.write("asked\\n")
        down = os.environ.get("JUDGE_DOWN", "never")
        if f"q{down}\\n" in request.prompt.messages[-1].text + "\\n":
            outputs.append(Output.failed("exception", "the judge is down", retryable=False))
        else:
            outputs.append(Output.of('{"reason": "fine", "score": 4}'))
    return outputs
"""


@pytest.fixture
def judged(tmp_path, monkeypatch):
    rows = [{"id": str(n), "question": f"q{n}", "answer": "x"} for n in range(5)]
    (tmp_path / "rows.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "judge.py").write_text(JUDGE)
    monkeypatch.setenv("JUDGE_LOG", str(tmp_path / "judge.log"))

    def run(**settings):
        (tmp_path / "judge.log").write_text("")
        result = assay.run(
            str(tmp_path / "rows.jsonl"),
            f"{tmp_path / 'model.py'}:generate",
            scorers=["judge"],
            judge=f"{tmp_path / 'judge.py'}:generate",
            output=str(tmp_path / "run"),
            **settings,
        )
        return result, (tmp_path / "judge.log").read_text().count("asked")

    return run


def test_a_judge_gives_the_score_and_is_asked_once_a_sample(judged, tmp_path):
    result, asked = judged()

    assert (
        result.status == "complete"
        and result.value("judge") == 4.0
        and asked == 5 + len(ORDERS)
    )
    assert any("answers that only beg for them" in note for note in result.notes)
    calls = [
        record
        for record in RunReader(tmp_path / "run").outputs()
        if record.task.endswith("#judge")
    ]
    assert len(calls) == 5


def test_the_same_run_again_does_not_ask_the_judge(judged):
    judged()

    result, asked = judged()

    assert asked == 0 and result.value("judge") == 4.0


def test_verdicts_lost_by_a_kill_are_rebuilt_from_what_the_judge_said(judged, tmp_path):
    judged()
    journal = tmp_path / "run" / "records.jsonl"
    kept = [
        line
        for line in journal.read_bytes().splitlines(keepends=True)
        if b'"kind":"score"' not in line
    ]
    journal.write_bytes(b"".join(kept))

    result, asked = judged()

    assert asked == 0 and result.status == "complete" and result[0].n == 5


def test_a_judge_that_failed_is_an_error_and_is_asked_again_on_the_next_run(
    judged, monkeypatch
):
    monkeypatch.setenv("JUDGE_DOWN", "3")
    first, asked_first = judged()
    monkeypatch.delenv("JUDGE_DOWN")

    second, asked_second = judged()

    assert (
        first.status == "partial"
        and first[0].outcomes["judge_error"] == 1
        and first[0].n == 4
    )
    assert any("the judge is down" in note for note in first.notes)
    assert second.status == "complete" and second[0].n == 5
    assert (asked_first, asked_second) == (5 + len(ORDERS), 1)


def test_a_judge_is_demanded_before_anything_starts(tmp_path):
    task = assay.Task(
        "t", dataset=[{"id": "1", "question": "q", "answer": "x"}], scorers="judge"
    )

    with pytest.raises(
        UsageError, match="needs a model as 'judge'; fix: --judge MODEL"
    ):
        assay.run(task, lambda messages: "x", output=str(tmp_path / "run"))

    assert not (tmp_path / "run").exists()


def test_no_more_verdicts_are_awaited_at_once_than_the_backlog_allows(tmp_path):
    import asyncio

    waiting, most = 0, 0

    async def slow(sample, output):
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        await asyncio.sleep(0)
        waiting -= 1
        return 1.0

    rows = [{"id": str(n), "question": f"q{n}", "answer": "x"} for n in range(2000)]
    task = assay.Task("t", dataset=rows, scorers=slow)

    fresh = assay.run(task, lambda messages: "x", output=str(tmp_path / "run"))
    most_fresh, most = most, 0
    (tmp_path / "run" / "run.json").unlink()
    journal = tmp_path / "run" / "records.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(
        b"".join(line for line in lines if b'"kind":"score"' not in line)
    )
    again = assay.run(task, lambda messages: "x", output=str(tmp_path / "run"))

    assert fresh[0].n == again[0].n == 2000
    # One hand-over of an instant model may come on top.
    assert most_fresh <= 64 + 2 * 256 and most <= 64


def test_a_scorer_that_blocks_works_beside_the_run(tmp_path):
    import threading

    threads = set()

    class Blocking:
        blocking = True

        def __call__(self, sample, output):
            threads.add(threading.current_thread().name)
            return 1.0

    rows = [{"id": str(n), "question": f"q{n}", "answer": "x"} for n in range(20)]

    result = assay.run(
        assay.Task("t", dataset=rows, scorers=Blocking()),
        lambda m: "x",
        output=str(tmp_path / "run"),
    )

    assert result[0].n == 20 and all(name.startswith("scorer") for name in threads)


def test_with_replicas_a_judge_says_once_where_it_runs(judged):
    watcher = Silent()

    result, asked = judged(replicas=2, watcher=watcher)

    assert (
        result.status == "complete"
        and result.value("judge") == 4.0
        and asked == 5 + len(ORDERS)
    )
    (line,) = [line for line in watcher.lines if "copies of the model" in line]
    assert line.startswith("judge '") and line.endswith(
        "runs once, where this command runs: --replicas are copies of the model only"
    )


FAILING = """
import os
from assay.core import Output
def note(requests):
    with open(os.environ["JUDGE_LOG"], "a") as log:
        log.write("".join(str(hash(request.prompt.messages[-1].text)) + "\\n" for request in requests))
async def refused(requests):
    note(requests)
    return [Output.failed("auth", "HTTP 401: bad key", retryable=False)]
class Refused:
    concurrency = 4
    generate = staticmethod(refused)
class Raising:
    batch_size = 4
    def generate(self, requests):
        note(requests)
        raise RuntimeError("the judge is down")
"""


@pytest.mark.parametrize(
    ("judge", "line", "most"),
    [
        (
            "Refused",
            r"stopped: the server of the judge refused the key 3 times in a row \(HTTP 401: bad key\)",
            8,
        ),
        (
            "Raising",
            r"stopped: the first 3 calls of the judge failed: RuntimeError: the judge is down",
            24,
        ),
    ],
)
def test_a_failing_judge_spends_the_error_budget_of_its_task_and_stops_it(
    tmp_path, monkeypatch, judge, line, most
):
    (tmp_path / "judge.py").write_text(FAILING)
    (tmp_path / "log").write_text("")
    monkeypatch.setenv("JUDGE_LOG", str(tmp_path / "log"))
    rows = [{"id": str(n), "question": f"q{n}", "answer": "x"} for n in range(60)]
    task = assay.Task("t", dataset=rows, scorers="judge")
    settings = {
        "judge": f"{tmp_path / 'judge.py'}:{judge}",
        "output": str(tmp_path / "run"),
    }

    result = assay.run(task, lambda messages: "x", **settings)

    assert result.status == "failed" and any(
        re.search(line, note) for note in result.notes
    ), result.notes
    assert len(set((tmp_path / "log").read_text().split())) <= most


def test_a_sample_that_a_judge_fails_ten_times_is_one_error_of_the_budget():
    budget = ErrorBudget("0.05")
    failed = ErrorInfo("exception", "down", retryable=False)

    for _ in range(10):
        budget.note(failed, "judge", ("3", 0))
    budget.note(
        ErrorInfo("data", "a picture it does not take", retryable=False),
        "judge",
        ("3", 0),
    )
    assert budget.errors == 1

    budget.note(failed, "judge", ("4", 0))
    assert budget.errors == 2


BATCHED = """
import os, time
class Judge:
    batch_size = 16
    def generate(self, requests):
        with open(os.environ["JUDGE_LOG"], "a") as log:
            log.write(f"{len(requests)}\\n")
        time.sleep(0.02)
        return ['{"reason": "fine", "score": 4}'] * len(requests)
"""


def test_a_judge_that_works_in_batches_is_asked_in_batches(tmp_path, monkeypatch):
    (tmp_path / "judge.py").write_text(BATCHED)
    monkeypatch.setenv("JUDGE_LOG", str(tmp_path / "log"))
    rows = [{"id": str(n), "question": f"q{n}", "answer": "x"} for n in range(60)]
    task = assay.Task("t", dataset=rows, scorers="judge")
    settings = {
        "judge": f"{tmp_path / 'judge.py'}:Judge",
        "output": str(tmp_path / "run"),
    }

    result = assay.run(task, lambda messages: "x", **settings)

    sizes = [int(line) for line in (tmp_path / "log").read_text().split()]
    assert result.status == "complete" and result.value("judge") == 4.0
    assert sum(sizes) == 60 + len(ORDERS) and max(sizes) == 16 and len(sizes) <= 12


COUNTED = """
import os
class Judge:
    def __init__(self):
        self.said = 0
    def generate(self, messages):
        self.said += 1
        return '{"reason": "fine", "score": 4}'
    def close(self):
        with open(os.environ["JUDGE_LOG"], "a") as log:
            log.write(f"{self.said}\\n")
"""


def test_a_judge_of_several_tasks_is_loaded_once_and_closed_at_the_end(
    tmp_path, monkeypatch
):
    (tmp_path / "judge.py").write_text(COUNTED)
    monkeypatch.setenv("JUDGE_LOG", str(tmp_path / "log"))
    rows = [{"id": str(n), "question": f"q{n}", "answer": "x"} for n in range(3)]
    judged = [
        assay.Task(name, dataset=rows, scorers="judge") for name in ("one", "two")
    ]
    plain = assay.Task("three", dataset=rows, scorers="exact_match")
    settings = {
        "judge": f"{tmp_path / 'judge.py'}:Judge",
        "output": str(tmp_path / "run"),
    }

    result = assay.run([*judged, plain], lambda messages: "x", **settings)

    assert result.status == "complete"
    assert (tmp_path / "log").read_text().split() == [str(2 * (3 + len(ORDERS)))]

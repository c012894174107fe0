"""Whole runs against a server that fails in every way, in virtual time: nothing is lost and nothing is made up."""

import asyncio
import json
import resource
import signal
import sys
from pathlib import Path
from typing import ClassVar

import pytest
from faulty_server import ASKED_FOR, FINAL, FaultyServer
from virtual_time import VirtualLoop

import assay
from assay.core import Abilities
from assay.runner.events import Silent

COUNT = 2000


@pytest.fixture
def run(monkeypatch, tmp_path):
    """`run(server, count=…, concurrency=…)`: a run against that server."""
    monkeypatch.setattr(asyncio.events, "new_event_loop", VirtualLoop)
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-the-test")
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)

    def go(server: FaultyServer, count: int = COUNT, **settings):
        server.install(monkeypatch)
        rows = [
            {"id": str(n), "question": f"say {n}", "answer": str(n)}
            for n in range(count)
        ]
        task = assay.Task("t", dataset=rows, scorers="exact_match")
        settings = {"on_error": "continue", "watcher": Silent(), **settings}
        model = {
            "model": "openai/m",
            "model_args": {"base_url": "https://server.test/v1"},
        }
        return assay.run(task, output=str(tmp_path / "run"), **model, **settings)

    return go


def scores(run: Path) -> dict[str, tuple[str, float | None]]:
    lines = (
        json.loads(line) for line in (run / "records.jsonl").read_bytes().splitlines()
    )
    return {
        line["id"]: (line["outcome"], line["values"].get("exact_match"))
        for line in lines
        if line["kind"] == "score"
    }


def expected(number: str, fault: str) -> tuple[str, float | None]:
    """What must become of a sample after the last thing the server said of it."""
    if fault in FINAL:
        return "model_error", None
    if fault == "null_cut_by_length":
        return "truncated", 0.0
    return (
        "scored",
        0.0 if fault == "empty_text" else 1.0,
    )  # silence that the model chose is its answer


def test_two_thousand_requests_through_all_faults(run, tmp_path):
    server = FaultyServer(ASKED_FOR, without_tls=(10.0, 40.0), gone=(20.0, 140.0))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    result = run(server)

    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / (
        1024 if sys.platform == "linux" else 2**20
    )
    assert set(ASKED_FOR) <= set(server.faults), "a fault never happened"
    found = scores(tmp_path / "run")
    assert found == {
        number: expected(number, fault) for number, fault in server.last.items()
    }
    assert len(found) == COUNT and result.status == "partial"
    answered = sum(outcome != "model_error" for outcome, _ in found.values())
    assert server.attempts / answered <= 1.5
    assert answered == COUNT - sum(fault in FINAL for fault in server.last.values())
    assert grown < 200  # MiB
    said = "\n".join(result.notes)
    assert "another's" not in said and "a-key-of-the-test" not in said


def test_an_outage_of_two_minutes_loses_no_answer_and_is_reported(run):
    server = FaultyServer(gone=(5.0, 125.0))
    watcher = Silent()

    result = run(server, 400, concurrency=32, watcher=watcher)

    assert result.status == "complete" and result[0].value == 1.0
    assert (
        server.attempts == 400 + 32
    )  # those that were in flight; nobody else knocked at a closed door for long
    assert sum("the server seems to be gone" in line for line in watcher.lines) == 1
    assert not any("seems to be gone" in note for note in result.notes)


def test_a_server_that_stays_away_ends_the_run_which_continues_when_it_is_back(run):
    gone = FaultyServer(gone=(5.0, 1e9))
    first = run(gone, 400, concurrency=32, on_error="0.05")
    back = FaultyServer()

    second = run(back, 400, concurrency=32)

    assert first.status == "failed" and "Connection refused" in first.notes[0]
    assert len(gone.served) + back.attempts == 400
    assert second.status == "complete" and second[0].value == 1.0


@pytest.mark.parametrize("room", [7, 37])
def test_the_rate_settles_within_a_tenth_of_what_the_server_serves(run, room):
    server = FaultyServer(seconds=(1.0, 3.0), room=room)

    result = run(server, room * 50, concurrency=128)

    assert result.status == "complete" and result[0].value == 1.0
    rate = sum(60 <= when < 90 for when in server.served) / 30
    assert 0.9 * room / 2 <= rate <= 1.1 * room / 2


def test_a_revoked_key_stops_the_run_at_once_and_nothing_is_lost(run):
    revoked = FaultyServer(revoked_after=COUNT * 8 // 10)
    stopped = run(revoked)
    renewed = FaultyServer()

    completed = run(renewed)

    assert (
        stopped.status == "failed"
        and "refused the key 3 times in a row" in stopped.notes[0]
    )
    assert revoked.after_refusal <= 5
    assert completed.status == "complete" and completed[0].value == 1.0
    assert len(revoked.served) + renewed.attempts == COUNT


@pytest.mark.parametrize("seconds", [60.0, 1200.0])
@pytest.mark.parametrize("point", [1, 150, 399])
def test_a_client_that_was_put_to_sleep_in_the_middle_asks_again_only_what_it_missed(
    run, point, seconds
):
    server = FaultyServer(freeze=(point, seconds))

    result = run(server, 400, concurrency=32)

    assert result.status == "complete" and result[0].value == 1.0
    assert (
        server.attempts <= 400 + 32
    )  # at worst every answer that was on its way when it fell asleep


class Silence:
    """Never answers; the first question is the signal that ends the run."""

    abilities = Abilities()
    identity: ClassVar = {"silence": 1}

    def __init__(self, *numbers: int) -> None:
        self.numbers, self.seconds = numbers, 0.0

    async def generate(self, requests):
        loop = asyncio.get_running_loop()
        begun = loop.time()
        if requests[0].id == "0":
            for number in self.numbers:
                signal.raise_signal(number)
        try:
            await asyncio.sleep(3600)
        finally:
            self.seconds = loop.time() - begun


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_waits_ten_seconds_for_answers_that_do_not_come(
    monkeypatch, tmp_path, number, heeded_hangup
):
    monkeypatch.setattr(asyncio.events, "new_event_loop", VirtualLoop)
    rows = [{"id": str(n), "question": f"say {n}", "answer": str(n)} for n in range(20)]
    model = Silence(number)

    result = assay.run(
        assay.Task("t", dataset=rows, scorers="exact_match"),
        model,
        output=str(tmp_path / "run"),
    )

    assert result.status == "interrupted" and result.exit_code == 130
    assert 9.9 <= model.seconds <= 10.1
    assert (
        json.loads((tmp_path / "run" / "summary.json").read_text())["status"]
        == "interrupted"
    )

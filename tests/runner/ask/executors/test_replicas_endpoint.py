"""An endpoint asked by replicas, in virtual time: what it goes through costs no more than it does without them."""

import asyncio

import pytest
from faulty_server import FaultyServer
from virtual_time import VirtualLoop

import assay
from assay.runner.ask.executors import check
from assay.runner.ask.executors.replica import ReplicaLost
from assay.runner.ask.executors.server import Server
from assay.runner.events import Silent

COUNT = 400


class Here:
    """Replicas on the loop of the run: everything above the processes is real."""

    def __init__(self, replicas: int, gpus_per_replica: float | None = None) -> None:
        pass

    async def start(self, number: int) -> "Channel":
        return Channel()

    async def watch(self) -> None:
        await asyncio.get_running_loop().create_future()

    async def close(self) -> None:
        pass


class Channel:
    by_path = True

    def __init__(self) -> None:
        self.server, self.calls, self.is_dead = Server(), set(), False

    async def ask(self, frame: bytes) -> bytes:
        if self.is_dead:
            raise ReplicaLost("killed by SIGKILL")
        call = asyncio.ensure_future(self.server.handle(frame))
        self.calls.add(call)
        try:
            return await call
        except asyncio.CancelledError:
            if self.is_dead:
                raise ReplicaLost("killed by SIGKILL") from None
            raise
        finally:
            self.calls.discard(call)

    def die(self) -> None:
        self.is_dead = True
        for call in self.calls:
            call.cancel()

    async def close(self) -> None:
        self.calls.clear()


@pytest.fixture
def run(monkeypatch, tmp_path):
    """`run(server)`: a run of two replicas against that server, each with sixteen requests at a time."""
    monkeypatch.setattr(asyncio.events, "new_event_loop", VirtualLoop)
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-the-test")
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)

    def go(server: FaultyServer, count: int = COUNT, executor=Here, **settings):
        monkeypatch.setattr(check, "Processes", executor)
        server.install(monkeypatch)
        rows = [
            {"id": str(n), "question": f"say {n}", "answer": str(n)}
            for n in range(count)
        ]
        task = assay.Task("t", dataset=rows, scorers="exact_match")
        settings = {
            "on_error": "continue",
            "watcher": Silent(),
            "concurrency": 16,
            "replicas": 2,
            **settings,
        }
        model = {
            "model": "openai/m",
            "model_args": {"base_url": "https://server.test/v1"},
        }
        return assay.run(task, output=str(tmp_path / "run"), **model, **settings)

    return go


def test_an_outage_of_two_minutes_loses_no_answer_and_is_reported_once(run):
    server = FaultyServer(gone=(5.0, 125.0))
    watcher = Silent()

    result = run(server, watcher=watcher)

    assert result.status == "complete" and result[0].value == 1.0
    assert server.attempts == COUNT + 32  # those that were in flight, of both replicas
    assert sum("the server seems to be gone" in line for line in watcher.lines) == 1
    assert not any("seems to be gone" in note for note in result.notes)


def test_a_server_that_stays_away_ends_the_run_which_continues_when_it_is_back(run):
    gone = FaultyServer(gone=(5.0, 1e9))
    first = run(gone, on_error="0.05")
    back = FaultyServer()

    second = run(back)

    assert first.status == "failed" and "Connection refused" in first.notes[0]
    assert len(gone.served) + back.attempts == COUNT
    assert second.status == "complete" and second[0].value == 1.0


def test_a_revoked_key_stops_all_replicas_within_five_requests(run):
    revoked = FaultyServer(revoked_after=500)
    stopped = run(
        revoked, 1500, concurrency=64
    )  # good answers still come between the refusals
    renewed = FaultyServer()

    completed = run(renewed, 1500)

    assert (
        stopped.status == "failed"
        and "refused the key 3 times in a row" in stopped.notes[0]
    )
    assert revoked.after_refusal <= 5
    assert (
        completed.status == "complete"
        and len(revoked.served) + renewed.attempts == 1500
    )


def test_the_rate_of_all_replicas_together_settles_within_a_tenth_of_what_the_server_serves(
    run,
):
    server = FaultyServer(seconds=(1.0, 3.0), room=37)

    result = run(server, 37 * 50, concurrency=64)

    assert result.status == "complete" and result[0].value == 1.0
    rate = sum(60 <= when < 90 for when in server.served) / 30
    assert 0.9 * 37 / 2 <= rate <= 1.1 * 37 / 2


def test_a_replica_that_dies_during_an_outage_is_replaced_in_it_and_no_request_of_it_is_lost(
    run,
):
    made = []

    class Dying(Here):
        async def start(self, number: int) -> Channel:
            made.append(asyncio.get_running_loop().time())
            channel = await super().start(number)
            if len(made) == 1:
                asyncio.get_running_loop().call_at(
                    60.0, channel.die
                )  # in the middle of it
            return channel

    server = FaultyServer(gone=(5.0, 125.0))

    result = run(server, executor=Dying)

    assert result.status == "complete" and result[0].value == 1.0
    assert server.attempts == COUNT + 32
    assert any("replica 1 died (killed by SIGKILL)" in note for note in result.notes)
    assert (
        len(made) == 3 and 60.0 < made[2] < 125.0
    )  # those that only wait do not hold it up

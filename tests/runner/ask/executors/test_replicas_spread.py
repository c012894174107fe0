"""The spread over simulated replicas: which of them is waited for when the work ends."""

import asyncio
from typing import ClassVar

import pytest
from virtual_time import run_virtually

from assay.core import (
    Abilities,
    Message,
    Output,
    Prompt,
    Request,
    Sample,
    Text,
    digest_of,
)
from assay.runner.ask.executors.replica import ModelSource, ReplicaLost
from assay.runner.ask.executors.shared_work import SharedWork
from assay.runner.ask.executors.spread import Spread
from assay.runner.ask.executors.wire import outputs_to_plain, pack, unpack
from assay.runner.ask.work import Job

IDENTITY = {"played": 1}


class Model:
    abilities = Abilities()
    identity: ClassVar = IDENTITY

    def generate(self, requests):
        raise AssertionError("replicas answer in its place")


class Played:
    """A replica: `seconds` to load, and to answer a batch; `None` to die of it instead."""

    by_path = True

    def __init__(self, load: float, answer: float | None) -> None:
        self.load, self.answer = load, answer

    async def ask(self, frame: bytes) -> bytes:
        head, _ = unpack(frame)
        if head["call"] == "load":
            await asyncio.sleep(self.load)
            return pack({"identity": digest_of(IDENTITY), "pid": 1})
        await asyncio.sleep(self.answer or 1.0)
        if self.answer is None:
            raise ReplicaLost("killed by SIGKILL")
        outputs = [Output.of("yes") for _ in head["requests"]]
        return pack(
            {
                "outputs": outputs_to_plain(outputs, {}),
                "fits": 0,
                "seconds": self.answer,
            }
        )

    async def close(self) -> None:
        pass


class Executor:
    def __init__(self, *replicas: Played) -> None:
        self.replicas, self.started = replicas, []

    async def start(self, number: int) -> Played:
        self.started.append(number)
        return self.replicas[number - 1]

    async def watch(self) -> None:
        await asyncio.get_running_loop().create_future()

    async def close(self) -> None:
        pass


class Desk:
    def __init__(self) -> None:
        self.kept: list[str] = []

    def keep(self, answers) -> None:
        self.kept += [job.sample.id for job, _ in answers]

    def judge(self, answers) -> None:
        pass


def play(
    *replicas: Played, stop_after: float | None = None, count: int = 100
) -> tuple[list[str], list[int], float]:
    """What was kept, which replicas were started, and the seconds it took."""
    desk, executor = Desk(), Executor(*replicas)
    jobs = [
        Job(
            Sample(str(n)),
            Request(Prompt((Message("user", (Text(str(n)),)),))),
            order=n,
        )
        for n in range(count)
    ]

    async def main() -> float:
        work = SharedWork(iter(jobs), begin_again=lambda job: job)
        spread = Spread(
            Model(),
            ModelSource("m", {}, IDENTITY, 1),
            executor,
            len(replicas),
            batch_size=2,
        )
        if stop_after is not None:
            asyncio.get_running_loop().call_later(stop_after, work.stop)
        await spread.run(work, desk)
        return asyncio.get_running_loop().time()

    seconds = run_virtually(main())
    return desk.kept, executor.started, seconds


def test_a_stop_waits_for_every_batch_in_flight_and_not_only_for_the_first_to_come_back():
    kept, _, seconds = play(Played(0, 1.0), Played(0, 7.0), stop_after=1.5)

    assert sorted(kept, key=int) == ["0", "1", "2", "3", "4", "5"]
    assert seconds == 7.0


def test_a_stop_does_not_wait_for_a_replica_that_still_loads():
    kept, _, seconds = play(Played(0, 1.0), Played(60, 1.0), stop_after=1.5)

    assert kept == ["0", "1", "2", "3"] and seconds == 2.0


def test_a_stop_before_any_replica_is_loaded_ends_at_once():
    kept, _, seconds = play(Played(60, 1.0), Played(60, 1.0), stop_after=3.0)

    assert kept == [] and seconds == 3.0


def test_a_replica_that_dies_after_the_stop_is_not_started_again():
    kept, started, seconds = play(Played(0, 1.0), Played(0, None), stop_after=0.5)

    assert kept == ["0", "1"] and sorted(started) == [1, 2] and seconds == 1.0


@pytest.mark.parametrize("count", [1, 4, 9])
def test_the_end_of_the_rows_does_not_wait_for_a_replica_that_still_starts(count):
    kept, _, seconds = play(Played(0, 1.0), Played(60, 1.0), count=count)

    assert kept == [str(n) for n in range(count)] and seconds == (count + 1) // 2

"""Standing work: requests as a driver makes them, for replicas that stay at work between its calls.

What one call asks for is few, where rows of data are many: it is split evenly, and a replica that is busy takes no more
while another is idle.
"""

import asyncio
import math
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from ....core import Output
from ..work import Answers, Desk, Job
from .shared_work import SharedWork
from .spread import Spread


class StandingWork(SharedWork):
    """Jobs that come as they are asked for, until it is stopped."""

    def __init__(self) -> None:
        self._queue: deque[Job] = deque()
        super().__init__(self._rows(), begin_again=lambda job: job, is_behind=lambda: not self._queue)

    def _rows(self) -> Iterator[Job]:
        while True:
            yield self._queue.popleft()

    def add(self, jobs: Sequence[Job]) -> None:
        """More to do."""
        self._queue.extend(jobs)
        self._changed.set()

    def take_for(self, replica: int, most: int, with_media: int | None = None) -> list[Job]:
        """As of any shared work; an idle replica leaves the other idle ones their part."""
        idle = sum(not busy for busy in self._open.values())
        taken = super().take_for(replica, min(most, math.ceil(len(self._queue) / max(1, idle)) or 1), with_media)
        if taken:
            self._changed.set()  # it is idle no more: whoever left the rest to it may take of it
        return taken

    def _may_take(self, replica: int) -> bool:
        others_idle = any(not busy for number, busy in self._open.items() if number != replica)
        return super()._may_take(replica) and not (self._open[replica] and others_idle)


class Standing:
    """A spread at work for a driver: each of its calls waits for its own answers, all share the replicas."""

    def __init__(self, spread: Spread) -> None:
        self.work = StandingWork()
        self._spread = spread
        self._calls: dict[str, _Call] = {}
        """By the keys of what is asked for."""
        self._running: asyncio.Future[None] | None = None

    async def ask(self, jobs: Sequence[Job], desk: Desk) -> None:
        """Returns when all are answered, or the work was stopped; raises what no replica can go on with."""
        call = _Call(desk, len(jobs), asyncio.get_running_loop().create_future())
        self._calls.update((job.request.key, call) for job in jobs)
        self._running = self._running or asyncio.ensure_future(self._spread.run(self.work, self))
        self.work.add(jobs)
        either: set[asyncio.Future[Any]] = {call.done, self._running}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not call.done.done():
            self._running.result()

    def keep(self, answers: Answers) -> None:
        """Makes them durable, each where its call wants it."""
        for call, own in self._by_call(answers):
            call.desk.keep(own)

    def judge(self, answers: Answers) -> None:
        """Tells the calls whose last answer this was."""
        for call, own in self._by_call(answers):
            call.desk.judge(own)
            for job, _ in own:
                del self._calls[job.request.key]
            call.lacking -= len(own)
            if not call.lacking and not call.done.done():
                call.done.set_result(None)

    def _by_call(self, answers: Answers) -> "list[tuple[_Call, list[tuple[Job, Output]]]]":
        found: dict[int, tuple[_Call, list[tuple[Job, Output]]]] = {}
        for job, output in answers:
            call = self._calls[job.request.key]
            found.setdefault(id(call), (call, []))[1].append((job, output))
        return list(found.values())

    async def close(self) -> None:
        """Lets the replicas rest; nobody waits for what is still in flight."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)


class _Call:
    """One call of a driver."""

    def __init__(self, desk: Desk, lacking: int, done: "asyncio.Future[None]") -> None:
        self.desk = desk
        self.lacking = lacking
        self.done = done

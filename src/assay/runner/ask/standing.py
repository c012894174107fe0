"""Standing questions: a model that is asked by calls, as drivers and judges make them, rather than by rows.

A server is asked by each call for itself; all calls share its patience. A model that works in batches stays at work
between calls: what came while it worked goes together, since a local judge is as fast as it is because it is asked many
at once. Replicas share out what one call asks for evenly.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from ...core import ErrorBudgetExceeded, Output
from .executors.shared_work import StandingShares
from .retry import Stopped
from .work import Answers, Asker, Desk, Job, JobQueue, Work


class Standing:
    """Each call waits for its own answers."""

    def __init__(self, asker: Asker, *, is_spread: bool = False) -> None:
        self._asker = asker
        self._is_spread = is_spread
        self._queue = JobQueue()
        self._work: Work | None = None
        """What the asker that stays at work takes its jobs from."""
        self._running: asyncio.Task[None] | None = None
        self._open: set[Work] = set()
        """Calls that are under way."""
        self._calls: dict[int, _Call] = {}
        """By job: who waits for it."""
        self.stopped = False

    async def ask(self, jobs: Sequence[Job], desk: Desk) -> list[Output]:
        """The answers in the order of the jobs, made durable by `desk`; raises `Stopped` where some will not come."""
        if self.stopped:
            raise Stopped
        call = _Call(desk)
        if self._asker.is_async and not self._is_spread:
            await self._ask_alone(jobs, call)
        else:
            await self._ask_together(jobs, call)
        try:
            return [call.outputs[id(job)] for job in jobs]
        except KeyError:
            raise Stopped from None

    def stop(self) -> None:
        """What is in flight comes back; nothing else is asked."""
        self.stopped = True
        for work in (*self._open, self._work):
            if work is not None:
                work.stop()

    async def close(self) -> None:
        """Asks nothing more; nobody waits for what is still in flight."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    def keep(self, answers: Answers) -> None:
        """Makes them durable, each where its call wants it."""
        for call, answers_of_call in self._by_call(answers):
            call.keep(answers_of_call)

    def judge(self, answers: Answers) -> None:
        """Tells the calls whose last answer this was."""
        for call, answers_of_call in self._by_call(answers):
            call.judge(answers_of_call)
            for job, _ in answers_of_call:
                del self._calls[id(job)]
            call.lacking -= len(answers_of_call)
            if not call.lacking and not call.done.done():
                call.done.set_result(None)

    async def _ask_alone(self, jobs: Sequence[Job], call: "_Call") -> None:
        work = Work(iter(jobs))
        work.most = len(jobs)
        self._open.add(work)
        try:
            await self._asker.run(work, call)
        except ErrorBudgetExceeded:
            self.stop()  # nor is anything else asked that waits for its turn
            raise
        finally:
            self._open.discard(work)

    async def _ask_together(self, jobs: Sequence[Job], call: "_Call") -> None:
        running, work = self._at_work()
        call.lacking, call.done = len(jobs), asyncio.get_running_loop().create_future()
        self._calls.update((id(job), call) for job in jobs)
        self._queue.extend(jobs)
        work.look_again()
        either: set[asyncio.Future[Any]] = {call.done, running}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not call.done.done():
            running.result()  # raises what it cannot go on with

    def _at_work(self) -> tuple["asyncio.Task[None]", Work]:
        """The asker at work; one that ended, as by wrong settings or with its loop, begins anew."""
        if self._work is None or self._running is None or self._running.done():
            self._queue = JobQueue()
            self._calls.clear()
            kind = StandingShares if self._is_spread else Work
            self._work = kind(self._queue, is_behind=self._queue.is_empty)
            self._running = asyncio.ensure_future(self._asker.run(self._work, self))
            self._running.add_done_callback(_heard)
        return self._running, self._work

    def _by_call(
        self, answers: Answers
    ) -> "list[tuple[_Call, list[tuple[Job, Output]]]]":
        found: dict[int, tuple[_Call, list[tuple[Job, Output]]]] = {}
        for job, output in answers:
            call = self._calls[id(job)]
            found.setdefault(id(call), (call, []))[1].append((job, output))
        return list(found.values())


class Unkept:
    """A desk for answers that nobody keeps, as outside a run."""

    def keep(self, answers: Answers) -> None:
        """Nothing to write to."""

    def judge(self, answers: Answers) -> None:
        """Nothing to judge."""


def _heard(running: "asyncio.Task[None]") -> None:
    """What ended it is raised for whoever waits; that nobody does is no news."""
    if not running.cancelled():
        running.exception()


class _Call:
    """One call: a desk that hands on, and notes what came."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.outputs: dict[int, Output] = {}
        """By job."""
        self.lacking = 0
        self.done: asyncio.Future[None]

    def keep(self, answers: Answers) -> None:
        """Makes them durable."""
        self._desk.keep(answers)
        self.outputs.update((id(job), output) for job, output in answers)

    def judge(self, answers: Answers) -> None:
        """As the desk does."""
        self._desk.judge(answers)

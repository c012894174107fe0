"""Send requests from callers such as drivers and judges, as opposed to the rows of a task.

To a server, the requests of each call are sent separately, and all calls share one
queue. For a model that works in batches, requests that arrive while it works form the
next batch, which makes a local judge fast. Replicas split the requests of one call
evenly.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from ...core import ErrorBudgetExceeded, Output
from .executors.shared_work import StandingShares
from .retry import Stopped
from .work import Answers, Asker, Job, JobQueue, Sink, Work


class Standing:
    """Collects requests from many concurrent callers and sends them to one model.

    Each caller gets its own answers.
    """

    def __init__(
        self,
        asker: Asker,
        *,
        is_spread: bool = False,
    ) -> None:
        self._asker = asker
        self._is_spread = is_spread
        self._queue = JobQueue()
        self._work: Work | None = None
        """The jobs that the running asker works on."""
        self._running: asyncio.Task[None] | None = None
        self._open: set[Work] = set()
        """The jobs of each call in progress, when the model has servers or replicas."""
        self._calls: dict[int, _Call] = {}
        """The call that waits for each job, by id of the job object."""
        self.stopped = False

    async def ask(
        self,
        jobs: Sequence[Job],
        sink: Sink,
    ) -> list[Output]:
        """Return the answers in the order of the jobs, after `sink` has stored them.

        Raise `Stopped` if an answer will not arrive.
        """
        if self.stopped:
            raise Stopped
        call = _Call(sink)
        if self._asker.is_async and not self._is_spread:
            await self._ask_alone(jobs, call)
        else:
            await self._ask_together(jobs, call)
        try:
            return [call.outputs[id(job)] for job in jobs]
        except KeyError:
            raise Stopped from None

    def stop(self) -> None:
        """Send no more requests. Those in flight are finished."""
        self.stopped = True
        for work in (*self._open, self._work):
            if work is not None:
                work.stop()

    async def close(self) -> None:
        """Send no more requests, and do not wait for those in flight."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    def keep(self, answers: Answers) -> None:
        """Let each caller write the answers to its own requests to disk."""
        for call, answers_of_call in self._by_call(answers):
            call.keep(answers_of_call)

    def judge(self, answers: Answers) -> None:
        """Let each caller score the answers to its own requests, and finish the calls that now have all answers."""
        for call, answers_of_call in self._by_call(answers):
            call.judge(answers_of_call)
            for job, _ in answers_of_call:
                del self._calls[id(job)]
            call.lacking -= len(answers_of_call)
            if not call.lacking and not call.done.done():
                call.done.set_result(None)

    async def _ask_alone(
        self,
        jobs: Sequence[Job],
        call: "_Call",
    ) -> None:
        work = Work(iter(jobs))
        work.most = len(jobs)
        self._open.add(work)
        try:
            await self._asker.run(work, call)
        except ErrorBudgetExceeded:
            self.stop()  # waiting requests are not sent either
            raise
        finally:
            self._open.discard(work)

    async def _ask_together(
        self,
        jobs: Sequence[Job],
        call: "_Call",
    ) -> None:
        """Add jobs to the batches of the running asker. Wait until they are answered, or until the asker ends."""
        running, work = self._start()
        call.lacking = len(jobs)
        call.done = asyncio.get_running_loop().create_future()
        for job in jobs:
            self._calls[id(job)] = call
        self._queue.extend(jobs)
        work.look_again()
        either: set[asyncio.Future[Any]] = {call.done, running}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not call.done.done():
            running.result()  # raises the error that ended it

    def _start(self) -> tuple["asyncio.Task[None]", Work]:
        """Return the running asyncio task that sends jobs, and its work.

        If the task has ended, for example with its event loop, start a new one.
        """
        running = self._running
        work = self._work
        if work is None or running is None or running.done():
            self._queue = JobQueue()
            self._calls.clear()
            kind = StandingShares if self._is_spread else Work
            work = kind(self._queue, is_behind=self._queue.is_empty)
            running = asyncio.ensure_future(self._asker.run(work, self))
            running.add_done_callback(_retrieve_error)
            self._work = work
            self._running = running
        return running, work

    def _by_call(
        self, answers: Answers
    ) -> "list[tuple[_Call, list[tuple[Job, Output]]]]":
        """Group answers by the calls that wait for them."""
        groups: dict[int, tuple[_Call, list[tuple[Job, Output]]]] = {}
        for job, output in answers:
            call = self._calls[id(job)]
            _, answers_of_call = groups.setdefault(id(call), (call, []))
            answers_of_call.append((job, output))
        return list(groups.values())


class Unkept:
    """An answer receiver that does nothing, for models that are called outside a run."""

    def keep(self, answers: Answers) -> None:
        """Do nothing."""

    def judge(self, answers: Answers) -> None:
        """Do nothing."""


def _retrieve_error(running: "asyncio.Task[None]") -> None:
    """Retrieve the error of a finished task, so that asyncio does not log it as never retrieved."""
    if not running.cancelled():
        running.exception()


class _Call:
    """One call of `Standing.ask`: lets the caller store and score each answer, and collects the outputs for it."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.outputs: dict[int, Output] = {}
        """Outputs by id of the job object."""
        self.lacking = 0
        self.done: asyncio.Future[None]

    def keep(self, answers: Answers) -> None:
        """Let the caller write these answers to disk."""
        self._sink.keep(answers)
        self.outputs.update((id(job), output) for job, output in answers)

    def judge(self, answers: Answers) -> None:
        """Let the caller score these answers, and collect the outputs for the return value."""
        self._sink.judge(answers)

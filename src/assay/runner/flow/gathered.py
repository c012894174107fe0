"""Single questions for a model that works in batches: those that came while it worked go together.

Scorers ask their judges one sample at a time; a local judge is as fast as it is because it is asked many at once.
"""

import asyncio
from collections import deque
from collections.abc import Iterator

from ...core import Output, Request, Sample
from ..ask.schedule import Scheduler
from ..ask.work import Answers, Job, Work


class Gathered:
    """Asks through a scheduler, which runs from the first question until it is closed."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._jobs: deque[Job] = deque()
        self._awaited: dict[int, asyncio.Future[Output]] = {}
        """By number: who waits for the answer."""
        self._asked = 0
        self._work: Work | None = None
        self._running: asyncio.Task[None] | None = None

    async def ask(self, request: Request) -> Output:
        """The answer, in its turn."""
        work = self._begun()
        self._asked += 1
        number = self._asked
        answer: asyncio.Future[Output] = asyncio.get_running_loop().create_future()
        self._awaited[number] = answer
        self._jobs.append(Job(Sample("", media=request.prompt.media), request, order=number))
        work.look_again()
        try:
            return await answer
        finally:
            self._awaited.pop(number, None)

    def keep(self, answers: Answers) -> None:
        """Hands answers to those who wait for them, who write them down."""
        for job, output in answers:
            waiting = self._awaited.get(job.order)
            if waiting is not None and not waiting.done():
                waiting.set_result(output)

    def judge(self, answers: Answers) -> None:
        """Nothing is scored here."""

    def stop(self) -> None:
        """What is being answered comes back; who else waits is let go."""
        if self._work is not None:
            self._work.stop()

    async def close(self) -> None:
        """Asks nothing more."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    def _begun(self) -> Work:
        """The work of a running scheduler."""
        if self._work is None or self._running is None or self._running.done():
            self._jobs.clear()
            self._work = Work(self._next_jobs(), is_behind=lambda: not self._jobs)
            self._running = asyncio.ensure_future(self._scheduler.run(self._work, self))
            self._running.add_done_callback(self._ended)
        return self._work

    def _next_jobs(self) -> Iterator[Job]:
        while True:
            yield self._jobs.popleft()

    def _ended(self, running: "asyncio.Task[None]") -> None:
        """Whoever still waits is told what ended it."""
        error = None if running.cancelled() else running.exception()
        for waiting in self._awaited.values():
            if not waiting.done() and not waiting.get_loop().is_closed():
                if error is None:
                    waiting.cancel()
                else:
                    waiting.set_exception(error)

"""The scheduler: keeps one model busy, whatever kind it is.

A model whose `generate` is a coroutine is asked one request at a time, many at once. Any other model works in a thread
of its own on batches: of its `batch_size` where it declares one, else a few at a time, so many that a hand-over takes
about 20 ms and a kill costs no more than that. What is next is prepared while the model works.
"""

import asyncio
import inspect
import random
import time
from collections.abc import Callable, Sequence

from ...core import Meter, Model, Output, Reporting, Request
from .calls import call_async, call_in_halves
from .retry import Patience, RetryPolicy, Stopped, may_pass, tries_again
from .sizing import DEFAULT_WINDOW, BatchSize
from .threads import Threads
from .work import Desk, Job, Work

DRAIN_SECONDS = 10.0


class Scheduler:
    """Drives one model over the jobs of one task."""

    def __init__(
        self,
        model: Model,
        *,
        batch_size: int | None = None,
        concurrency: int | None = None,
        policy: RetryPolicy | None = None,
        seed: int = 0,
        say: Callable[[str], None] = lambda line: None,
        meter: Meter | None = None,
    ) -> None:
        self.model = model
        self.meter = meter or Meter()
        self._is_metered = False
        self.policy = policy or RetryPolicy()
        self.is_async = inspect.iscoroutinefunction(model.generate)
        self.batch_size = batch_size or getattr(model, "batch_size", None)
        declared = concurrency or getattr(model, "concurrency", None)
        self.window = declared or (DEFAULT_WINDOW if self.is_async else 1)
        self.patience = Patience(self.window, self.policy, seed, say)
        self._rng = random.Random(seed)
        self.sizes = BatchSize(self.batch_size)
        self._is_instant = False

    async def run(self, work: Work, desk: Desk) -> None:
        """Works until there is nothing left, or the work was stopped and what was in flight came back."""
        worker = self._ask_one_by_one if self.is_async else self._ask_in_batches
        threads = None if self.is_async else Threads(self.window, "model")
        work.when_stopped(self.patience.stop)
        workers = [
            asyncio.ensure_future(worker(work, desk, threads))
            for _ in range(self._workers(work))
        ]
        try:
            await asyncio.gather(*workers)
        finally:
            for running in workers:
                running.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            if threads is not None:
                threads.close()

    def _workers(self, work: Work) -> int:
        """As many as are asked at once, and never one alone: while its request waits for another try, the next one
        shows whether the server answers others."""
        count = (
            max(2, self.window)
            if self.is_async and not work.whole_dialogues
            else self.window
        )
        return count if work.most is None else min(count, work.most)

    def ask_here(
        self, jobs: Sequence[Job]
    ) -> tuple[list[tuple[Job, Output]], list[Job]]:
        """The first of these jobs, as many as one hand-over takes, asked in the caller's thread: those that are settled
        with their answers, and those whose failure may pass, which `run` tries again."""
        some = jobs[: self.sizes.size()]
        pairs = list(
            zip(some, self._timed_call([job.request for job in some]), strict=True)
        )
        passing = {id(job) for job, output in pairs if may_pass(output)}
        for job in some if passing else ():
            job.attempts, job.failed_at = 1, time.monotonic()
        return [pair for pair in pairs if id(pair[0]) not in passing], [
            job for job in some if id(job) in passing
        ]

    async def _ask_one_by_one(
        self, work: Work, desk: Desk, threads: Threads | None
    ) -> None:
        while True:
            jobs = work.take(1)
            if not jobs:
                if await work.more():
                    continue
                return
            try:
                output = await self._try(jobs[0].request)
                desk.keep([(jobs[0], output)])
                desk.judge([(jobs[0], output)])
            except Stopped:
                return
            except BaseException:
                work.stop()  # the others may answer at once, and must not take the next job before they hear of it
                raise
            finally:
                work.finished(1)

    async def _try(self, request: Request) -> Output:
        self.meter.begun += 1
        return await self.patience.ask(lambda: call_async(self.model, request))

    async def _ask_in_batches(
        self, work: Work, desk: Desk, threads: Threads | None
    ) -> None:
        assert threads is not None
        sizes = self.sizes

        def hand_over(jobs: Sequence[Job]) -> asyncio.Future[list[Output]]:
            requests = [job.request for job in jobs]
            if not self._is_instant:
                return threads.submit(self._timed_call, requests)
            answered: asyncio.Future[list[Output]] = (
                asyncio.get_running_loop().create_future()
            )
            answered.set_result(self._timed_call(requests))
            return answered

        while True:
            jobs = work.take(sizes.size(), sizes.media_size())
            if not jobs:
                if await work.more():
                    continue
                return
            running = hand_over(jobs)
            while jobs:
                upcoming = work.take(sizes.size(), sizes.media_size())
                retried = 0
                try:
                    answers = list(zip(jobs, await running, strict=True))
                    settled = [
                        pair
                        for pair in answers
                        if not tries_again(work, *pair, self.policy, self._rng)
                    ]
                    retried = len(answers) - len(settled)
                    answers = settled
                    desk.keep(answers)
                    if upcoming and not work.stopped:
                        running = hand_over(upcoming)
                    desk.judge(answers)
                finally:
                    work.finished(len(jobs) - retried)
                if work.stopped and upcoming:
                    work.finished(len(upcoming))
                    upcoming = []
                jobs = upcoming
                if self._is_instant:
                    await asyncio.sleep(
                        0
                    )  # signals, progress and judges get their turn

    def _timed_call(self, requests: Sequence[Request]) -> list[Output]:
        if not self._is_metered:
            self._is_metered = True
            if isinstance(
                self.model, Reporting
            ):  # only now: a class that is asked nothing is not built
                self.model.report_to(self.meter)
        self.meter.begun += len(requests)
        started, worked = time.perf_counter(), time.thread_time()
        outputs, fits = call_in_halves(self.model, requests)
        seconds, worked = time.perf_counter() - started, time.thread_time() - worked
        self.sizes.learn(len(requests), fits, seconds)
        if self.batch_size is None:
            # A model that answers at once only loses time by changing threads; it is watched like any other.
            self._is_instant = self.window == 1 and self.sizes.is_instant(
                len(requests), seconds, worked
            )
        return outputs

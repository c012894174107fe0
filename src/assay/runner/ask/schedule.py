"""The scheduler keeps one model busy.

A model whose `generate` is a coroutine gets one request per call, with many calls at
once. Any other model gets batches in a separate thread. A batch has the declared
`batch_size`. If none is declared, it takes about 20 ms, so that little work is lost if
the run is killed. The next batch is prepared while the model works.
"""

import asyncio
import inspect
import random
import time
from collections.abc import Callable, Sequence

from ...core import Meter, Model, Output, Reporting, Request
from .calls import DEFAULT_WINDOW, BatchSize, call_async, call_in_halves
from .retry import RetryPolicy, Stopped, may_be_temporary, schedule_retry
from .server_group import ServerGroup
from .threads import Threads
from .work import Job, Sink, Work

DRAIN_SECONDS = 10.0


class Scheduler:
    """Sends the jobs of one task to one model."""

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
        window = declared or (DEFAULT_WINDOW if self.is_async else 1)
        servers = getattr(model, "servers", None) or (model,)
        self.window = window * len(servers)
        """Maximum number of requests in flight at all servers together."""
        self.servers = ServerGroup(servers, window, self.policy, seed, say)
        self.queue = self.servers.queues[0]
        self._rng = random.Random(seed)
        self.sizes = BatchSize(self.batch_size)
        self._is_instant = False

    async def run(self, work: Work, sink: Sink) -> None:
        """Work until no jobs are left, or until the work is stopped and the requests in flight are finished."""
        if self.is_async:
            worker = self._ask_one_by_one
        else:
            worker = self._ask_in_batches
        if self.is_async:
            threads = None
        else:
            threads = Threads(self.window, "model")
        work.when_stopped(self.servers.stop)
        workers = [
            asyncio.ensure_future(worker(work, sink, threads))
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
        """Return the number of workers: one for each request that may be in flight, but at least two.

        While the request of one worker waits for a retry, the other worker finds out
        whether the server answers.
        """
        if self.is_async and not work.whole_dialogues:
            count = max(2, self.window)
        else:
            count = self.window
        if work.most is None:
            return count
        return min(count, work.most)

    def ask_here(
        self, jobs: Sequence[Job]
    ) -> tuple[list[tuple[Job, Output]], list[Job]]:
        """Call the model in this thread with the first batch of these jobs.

        Return the finished jobs with their answers, and the jobs with possibly
        temporary failures, which `run` retries.
        """
        batch = jobs[: self.sizes.size()]
        outputs = self._timed_call([job.request for job in batch])
        finished = []
        failed = []
        for job, output in zip(batch, outputs, strict=True):
            if may_be_temporary(output):
                failed.append(job)
            else:
                finished.append((job, output))
        if failed:
            now = time.monotonic()
            for job in batch:
                job.attempts = 1
                job.failed_at = now
        return finished, failed

    async def _ask_one_by_one(
        self,
        work: Work,
        sink: Sink,
        threads: Threads | None,
    ) -> None:
        """Send requests one by one to an asynchronous model until no jobs are left."""
        while True:
            jobs = work.take(1)
            if not jobs:
                if await work.more():
                    continue
                return
            try:
                output = await self._try(jobs[0].request)
                sink.keep([(jobs[0], output)])
                sink.judge([(jobs[0], output)])
            except Stopped:
                return
            except BaseException:
                work.stop()  # before the other workers take further jobs
                raise
            finally:
                work.finished(1)

    async def _try(self, request: Request) -> Output:
        """Send one request, with retries."""
        self.meter.begun += 1
        return await self.servers.send(lambda server: call_async(server, request))

    async def _ask_in_batches(
        self,
        work: Work,
        sink: Sink,
        threads: Threads | None,
    ) -> None:
        """Send batches until no jobs are left. The next batch is sent before the previous one is scored."""
        assert threads is not None

        def send_batch(jobs: Sequence[Job]) -> asyncio.Future[list[Output]]:
            requests = [job.request for job in jobs]
            if not self._is_instant:
                return threads.submit(self._timed_call, requests)
            answered: asyncio.Future[list[Output]] = (
                asyncio.get_running_loop().create_future()
            )
            answered.set_result(self._timed_call(requests))
            return answered

        # With one worker, the next batch is taken while the model works. Several workers do that for each other;
        # if one took two batches, the others might have none.
        is_alone = self.window == 1
        while True:
            jobs = self._take_batch(work)
            if not jobs:
                if await work.more():
                    continue
                return
            running = send_batch(jobs)
            while jobs:
                if is_alone:
                    upcoming = self._take_batch(work)
                else:
                    upcoming = []
                retried = 0
                try:
                    answers = list(zip(jobs, await running, strict=True))
                    finished_pairs = [
                        pair
                        for pair in answers
                        if not schedule_retry(work, *pair, self.policy, self._rng)
                    ]
                    retried = len(answers) - len(finished_pairs)
                    answers = finished_pairs
                    sink.keep(answers)
                    if not is_alone:
                        upcoming = self._take_batch(work)
                    if upcoming and not work.stopped:
                        running = send_batch(upcoming)
                    sink.judge(answers)
                finally:
                    work.finished(len(jobs) - retried)
                if work.stopped and upcoming:
                    work.finished(len(upcoming))
                    upcoming = []
                jobs = upcoming
                if self._is_instant:
                    # Let signals, progress and judges run.
                    await asyncio.sleep(0)

    def _take_batch(self, work: Work) -> list[Job]:
        return work.take(self.sizes.size(), self.sizes.media_size())

    def _timed_call(self, requests: Sequence[Request]) -> list[Output]:
        """Send a batch, and adjust the batch size to the time it took."""
        if not self._is_metered:
            self._is_metered = True
            # Not earlier, because a model class without requests is never built.
            if isinstance(self.model, Reporting):
                self.model.report_to(self.meter)
        count = len(requests)
        self.meter.begun += count
        started = time.perf_counter()
        thread_started = time.thread_time()
        outputs, fits = call_in_halves(self.model, requests)
        seconds = time.perf_counter() - started
        worked = time.thread_time() - thread_started
        self.sizes.learn(count, fits, seconds)
        if self.batch_size is None:
            # For an instant model, changing threads only costs time. Its speed is still measured.
            is_instant = self.sizes.is_instant(count, seconds, worked)
            self._is_instant = self.window == 1 and is_instant
        return outputs

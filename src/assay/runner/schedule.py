"""The scheduler: keeps one model busy, whatever kind it is.

A model whose `generate` is a coroutine is asked one request at a time, many at once. Any other model works in a thread
of its own on batches: of its `batch_size` where it declares one, else a few at a time, so many that a hand-over takes
about 20 ms and a kill costs no more than that. What is next is prepared while the model works.
"""

import asyncio
import inspect
import random
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from ..core import Model, Output, Request, Sample, UsageError, shorten
from .retry import Limiter, RetryPolicy

HANDOVER_SECONDS = 0.02
LARGEST_HANDOVER = 256
DRAIN_SECONDS = 10.0
DEFAULT_WINDOW = 32


@dataclass(slots=True)
class Job:
    """One request on its way, with the sample it belongs to."""

    sample: Sample
    request: Request
    epoch: int = 0
    round: int = 0
    order: int = 0
    """Place of the sample in the data."""
    history: tuple[tuple[Request, Output], ...] = ()
    """Earlier rounds of a dialogue."""
    attempt: int = 0


class Work:
    """Jobs still to do: rounds that follow an answer first, then the next rows."""

    def __init__(self, jobs: Iterator[Job], *, whole_dialogues: bool = False) -> None:
        self._jobs = jobs
        self._whole_dialogues = whole_dialogues
        """For a model that remembers the last thing said to it: a dialogue ends before the next sample begins."""
        self._is_talking = False
        self._ready: deque[Job] = deque()
        self.stopped = False
        self.in_flight = 0
        self._changed = asyncio.Event()

    def take(self, most: int) -> list[Job]:
        """Up to `most` jobs; empty when there are none at the moment."""
        if self.stopped or (self._is_talking and self.in_flight):
            return []
        taken: list[Job] = []
        self._is_talking = False
        while len(taken) < most and not self._is_talking:
            job = self._ready.popleft() if self._ready else next(self._jobs, None)
            if job is None:
                break
            taken.append(job)
            self._is_talking = self._whole_dialogues and bool(job.sample.turns)
        self.in_flight += len(taken)
        return taken

    def has_jobs(self) -> bool:
        """Whether there is anything to do; the first job is looked up for it."""
        if not self._ready:
            first = next(self._jobs, None)
            if first is not None:
                self._ready.append(first)
        return bool(self._ready)

    def put(self, job: Job) -> None:
        """The next round of a dialogue, or another try."""
        self._ready.append(job)

    def finished(self, count: int) -> None:
        """So many jobs came back; whoever waits for follow-ups looks again."""
        self.in_flight -= count
        self._changed.set()

    async def more(self) -> bool:
        """Waits until jobs may be there again; `False` when none can come."""
        while not self.stopped and not self._ready and self.in_flight:
            self._changed.clear()
            await self._changed.wait()
        return bool(self._ready) and not self.stopped

    def stop(self) -> None:
        """No new jobs are handed out."""
        self.stopped = True
        self._changed.set()


Answers = Sequence[tuple[Job, Output]]


class Desk(Protocol):
    """Where answers go."""

    def keep(self, answers: Answers) -> None:
        """Makes them durable; called before the model is given more."""
        ...

    def judge(self, answers: Answers) -> None:
        """Scores them, and puts the next round of a dialogue to the work; called while the model goes on."""
        ...


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
    ) -> None:
        self.model = model
        self.policy = policy or RetryPolicy()
        self.is_async = inspect.iscoroutinefunction(model.generate)
        self.batch_size = batch_size or getattr(model, "batch_size", None)
        declared = concurrency or getattr(model, "concurrency", None)
        self.window = declared or (DEFAULT_WINDOW if self.is_async else 1)
        self.limiter = Limiter(self.window)
        self._rng = random.Random(seed)
        self._handover = 1

    async def run(self, work: Work, desk: Desk) -> None:
        """Works until there is nothing left, or the work was stopped and what was in flight came back."""
        worker = self._ask_one_by_one if self.is_async else self._ask_in_batches
        pool = None if self.is_async else ThreadPoolExecutor(self.window, thread_name_prefix="model")
        workers = [asyncio.ensure_future(worker(work, desk, pool)) for _ in range(self.window)]
        try:
            await asyncio.gather(*workers)
        finally:
            for running in workers:
                running.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            if pool is not None:
                pool.shutdown(wait=False, cancel_futures=True)

    async def ask(self, request: Request) -> Output:
        """One answer, tried again where that may help; for helpers such as judges."""
        if self.is_async:
            return await self._try(request)
        return (await asyncio.to_thread(call_model, self.model, [request]))[0]

    async def _ask_one_by_one(self, work: Work, desk: Desk, pool: ThreadPoolExecutor | None) -> None:
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
            finally:
                work.finished(1)

    async def _try(self, request: Request) -> Output:
        started = time.monotonic()
        attempt = 0
        while True:
            await self.limiter.acquire()
            try:
                output = await call_async(self.model, request)
            finally:
                self.limiter.release()
            error = output.error
            if error is None:
                self.limiter.succeeded()
                return output
            if error.kind == "rate_limit":
                self.limiter.throttled(time.monotonic())
            attempt += 1
            waited = time.monotonic() - started
            if not error.retryable or attempt >= self.policy.tries or waited >= self.policy.total_seconds:
                return output
            await asyncio.sleep(self.policy.delay(error, attempt - 1, self._rng))

    async def _ask_in_batches(self, work: Work, desk: Desk, pool: ThreadPoolExecutor | None) -> None:
        loop = asyncio.get_running_loop()

        def hand_over(jobs: Sequence[Job]) -> asyncio.Future[list[Output]]:
            return loop.run_in_executor(pool, self._timed_call, [job.request for job in jobs])

        while True:
            jobs = work.take(self._size())
            if not jobs:
                if await work.more():
                    continue
                return
            running = hand_over(jobs)
            while jobs:
                upcoming = work.take(self._size())
                try:
                    answers = list(zip(jobs, await running, strict=True))
                    desk.keep(answers)
                    if upcoming and not work.stopped:
                        running = hand_over(upcoming)
                    desk.judge(answers)
                finally:
                    work.finished(len(jobs))
                if work.stopped and upcoming:
                    work.finished(len(upcoming))
                    upcoming = []
                jobs = upcoming

    def _size(self) -> int:
        return self.batch_size or self._handover

    def _timed_call(self, requests: Sequence[Request]) -> list[Output]:
        started = time.perf_counter()
        outputs = call_model(self.model, requests)
        seconds = time.perf_counter() - started
        if self.batch_size is None:
            fits = int(len(requests) * HANDOVER_SECONDS / max(seconds, 1e-6))
            self._handover = max(1, min(fits, 2 * self._handover, LARGEST_HANDOVER))
        return outputs


def call_model(model: Model, requests: Sequence[Request]) -> list[Output]:
    """Asks a model for a batch: out of memory halves it, any other failure is an output that says so."""
    started = time.perf_counter()
    weigh = requests[0].prompt.continuations is not None or requests[0].prompt.rolling
    method: Any = model.likelihood if weigh else model.generate  # type: ignore[attr-defined]
    try:
        outputs = list(method(requests))
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001 - the boundary to other people's code: becomes a counted failure
        if is_out_of_memory(error) and len(requests) > 1:
            half = len(requests) // 2
            return call_model(model, requests[:half]) + call_model(model, requests[half:])
        kind = "oom" if is_out_of_memory(error) else "exception"
        failed = Output.failed(kind, f"{type(error).__name__}: {error}", retryable=False)
        return [failed] * len(requests)
    if len(outputs) != len(requests) or not all(isinstance(output, Output) for output in outputs):
        what = f"model returned {shorten(outputs)} for {len(requests)} requests, expected as many Outputs"
        return [Output.failed("exception", what, retryable=False)] * len(requests)
    seconds = (time.perf_counter() - started) / len(requests)
    for output in outputs:
        if output.seconds is None:
            _set_seconds(output, seconds)
    return outputs


async def call_async(model: Model, request: Request) -> Output:
    """Asks a model whose methods are coroutines for one answer."""
    started = time.perf_counter()
    weigh = request.prompt.continuations is not None or request.prompt.rolling
    method: Any = model.likelihood if weigh else model.generate  # type: ignore[attr-defined]
    try:
        outputs = await method([request])
        output: Output = outputs[0]
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001 - the boundary to other people's code: becomes a counted failure
        return Output.failed("exception", f"{type(error).__name__}: {error}", retryable=False)
    if output.seconds is None:
        _set_seconds(output, time.perf_counter() - started)
    return output


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error is a device's or the machine's way to say that the batch was too large."""
    return isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__ or "out of memory" in str(error)


def _set_seconds(output: Output, seconds: float) -> None:
    """Notes the time on an output that was just made; a copy would cost more than all else done here."""
    object.__setattr__(output, "seconds", seconds)

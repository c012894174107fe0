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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ..core import Model, Output, Request, Sample, UsageError, shorten
from ..store.secrets import scrub
from .retry import Limiter, RetryPolicy
from .threads import Threads, in_thread

HANDOVER_SECONDS = 0.02
LARGEST_HANDOVER = 256
MEDIA_HANDOVER = 16
DRAIN_SECONDS = 10.0
DEFAULT_WINDOW = 32
CLEAN_BATCHES = 32
PASSING = frozenset({"rate_limit", "timeout", "connection", "http", "bad_response"})
"""Failures of a model that works in batches that are tried again: what else it reports, it has tried itself."""


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
    attempts: int = 0
    """Of a model that works in batches: how often it failed."""
    failed_at: float = 0.0
    """When it first failed."""


class Work:
    """Jobs still to do: rounds that follow an answer first, then the next rows.

    The rows come as jobs, or as `None` where whoever scores them is behind (`is_behind`) and must catch up first.
    """

    def __init__(
        self,
        jobs: Iterator[Job | None],
        *,
        whole_dialogues: bool = False,
        is_behind: Callable[[], bool] = lambda: False,
    ) -> None:
        self._jobs = jobs
        self._is_behind = is_behind
        self._is_exhausted = False
        self._whole_dialogues = whole_dialogues
        """For a model that remembers the last thing said to it: a dialogue ends before the next sample begins."""
        self._is_talking = False
        self._ready: deque[Job] = deque()
        self.stopped = False
        self.in_flight = 0
        self._changed = asyncio.Event()

    def take(self, most: int, with_media: int | None = None) -> list[Job]:
        """Up to `most` jobs, or `with_media` if they carry pictures or sounds; empty when there are none just now."""
        if self.stopped or self._must_wait():
            return []
        taken: list[Job] = []
        self._is_talking = False
        while len(taken) < most and not self._is_talking:
            job = self._ready.popleft() if self._ready else self._next_row()
            if job is None:
                break
            taken.append(job)
            if with_media is not None and job.sample.media:
                most = min(most, with_media)
            self._is_talking = self._whole_dialogues and bool(job.sample.turns)
        self.in_flight += len(taken)
        return taken

    def has_jobs(self) -> bool:
        """Whether there is anything to do; the first job is looked up for it."""
        if not self._ready:
            first = self._next_row()
            if first is not None:
                self._ready.append(first)
        return bool(self._ready)

    def _next_row(self) -> Job | None:
        if self._is_exhausted or self._is_behind():
            return None
        try:
            return next(self._jobs)
        except StopIteration:
            self._is_exhausted = True
            return None

    def _must_wait(self) -> bool:
        return self._is_talking and self.in_flight > 0

    def put(self, job: Job) -> None:
        """The next round of a dialogue."""
        self._ready.append(job)

    def again(self, job: Job) -> None:
        """Another try of a job that is still counted as in flight."""
        self._ready.append(job)
        self.finished(1)

    def finished(self, count: int) -> None:
        """So many jobs came back; whoever waits for follow-ups looks again."""
        self.in_flight -= count
        self._changed.set()

    def look_again(self) -> None:
        """Whoever scores has caught up a little."""
        self._changed.set()

    async def more(self) -> bool:
        """Waits until jobs may be there again; `False` when none can come."""
        while not self.stopped:
            has_rows = not self._is_exhausted and not self._is_behind()
            if (self._ready or has_rows) and not self._must_wait():
                return True
            if self._is_exhausted and not self._ready and not self.in_flight:
                return False
            self._changed.clear()
            await self._changed.wait()
        return False

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
        self._fits: int | None = None
        """The batch that memory had room for, once a larger one had none; grows back by one a batch."""
        self._too_large = 0
        """The smallest batch that memory had no room for; not tried again before `CLEAN_BATCHES` below it."""
        self._clean = 0
        self._is_instant = False

    async def run(self, work: Work, desk: Desk) -> None:
        """Works until there is nothing left, or the work was stopped and what was in flight came back."""
        worker = self._ask_one_by_one if self.is_async else self._ask_in_batches
        threads = None if self.is_async else Threads(self.window, "model")
        workers = [asyncio.ensure_future(worker(work, desk, threads)) for _ in range(self.window)]
        try:
            await asyncio.gather(*workers)
        finally:
            for running in workers:
                running.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            if threads is not None:
                threads.close()

    async def ask(self, request: Request) -> Output:
        """One answer, tried again where that may help; for helpers such as judges."""
        if self.is_async:
            return await self._try(request)
        clock = asyncio.get_running_loop().time
        started, attempts = clock(), 0
        while True:
            output = (await in_thread(call_model, self.model, [request]))[0]
            error = output.error
            attempts += 1
            if error is None or error.kind not in PASSING:
                return output
            if not self.policy.allows(error, attempts, clock() - started):
                return output
            await asyncio.sleep(self.policy.delay(error, attempts - 1, self._rng))

    def ask_here(self, jobs: Sequence[Job]) -> list[tuple[Job, Output]]:
        """The first of these jobs with their answers, as many as one hand-over takes; works in the caller's thread."""
        some = jobs[: self._size()]
        return list(zip(some, self._timed_call([job.request for job in some]), strict=True))

    async def _ask_one_by_one(self, work: Work, desk: Desk, threads: Threads | None) -> None:
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
        clock = asyncio.get_running_loop().time
        started, attempts = clock(), 0
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
                self.limiter.throttled(clock())
            attempts += 1
            if not self.policy.allows(error, attempts, clock() - started):
                return output
            await asyncio.sleep(self.policy.delay(error, attempts - 1, self._rng))

    async def _ask_in_batches(self, work: Work, desk: Desk, threads: Threads | None) -> None:
        assert threads is not None

        def hand_over(jobs: Sequence[Job]) -> asyncio.Future[list[Output]]:
            requests = [job.request for job in jobs]
            if not self._is_instant:
                return threads.submit(self._timed_call, requests)
            answered: asyncio.Future[list[Output]] = asyncio.get_running_loop().create_future()
            answered.set_result(self._timed_call(requests))
            return answered

        while True:
            jobs = work.take(self._size(), self._media_size())
            if not jobs:
                if await work.more():
                    continue
                return
            running = hand_over(jobs)
            while jobs:
                upcoming = work.take(self._size(), self._media_size())
                retried = 0
                try:
                    answers = list(zip(jobs, await running, strict=True))
                    settled = [pair for pair in answers if not self._tries_again(work, *pair)]
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
                    await asyncio.sleep(0)  # signals, progress and judges get their turn

    def _tries_again(self, work: Work, job: Job, output: Output) -> bool:
        """Whether a job failed in a way that may pass; it is then handed out again after its delay."""
        error = output.error
        if error is None or error.kind not in PASSING:
            return False
        loop = asyncio.get_running_loop()
        job.failed_at = job.failed_at or loop.time()
        job.attempts += 1
        if work.stopped or not self.policy.allows(error, job.attempts, loop.time() - job.failed_at):
            return False
        loop.call_later(self.policy.delay(error, job.attempts - 1, self._rng), work.again, job)
        return True

    def _media_size(self) -> int | None:
        """Pictures are heavy: only a model that declares how many it takes at once is handed many."""
        return None if self.batch_size else MEDIA_HANDOVER

    def _size(self) -> int:
        size = self.batch_size or self._handover
        return size if self._fits is None else min(size, self._fits)

    def _learn_room(self, size: int, fits: int) -> None:
        """Notes whether memory had room for a batch; `fits` is 0 where it had."""
        if fits:
            self._fits, self._too_large, self._clean = fits, min(size, self._too_large or size), 0
            return
        if self._fits is None:
            return
        self._clean += 1
        if self._fits + 1 < self._too_large:
            self._fits += 1
        elif self._clean >= CLEAN_BATCHES:
            self._too_large += 1
            self._clean = 0

    def _timed_call(self, requests: Sequence[Request]) -> list[Output]:
        started = time.perf_counter()
        outputs, fits = _call_in_halves(self.model, requests)
        seconds = time.perf_counter() - started
        self._learn_room(len(requests), fits)
        if self.batch_size is None:
            fits = int(len(requests) * HANDOVER_SECONDS / max(seconds, 1e-6))
            self._handover = max(1, min(fits, 2 * self._handover, LARGEST_HANDOVER))
            # A model that answers at once only loses time by changing threads; it is watched like any other.
            self._is_instant = self._handover == LARGEST_HANDOVER and self.window == 1
        return outputs


def call_model(model: Model, requests: Sequence[Request]) -> list[Output]:
    """Asks a model for a batch: one that fails is asked again in halves, so that a sample fails alone."""
    return _call_in_halves(model, requests)[0]


def _call_in_halves(model: Model, requests: Sequence[Request]) -> tuple[list[Output], int]:
    """The outputs; and, where memory had room for each but not for all, how many of them it had, else 0."""
    try:
        return _call(model, requests), 0
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001 - the boundary to other people's code: becomes a counted failure
        if len(requests) == 1:
            return [_failure(error)], 0
        half = len(requests) // 2
        parts = [_call_in_halves(model, part) for part in (requests[:half], requests[half:])]
        outputs = parts[0][0] + parts[1][0]
        if not is_out_of_memory(error) or any(o.error is not None and o.error.kind == "oom" for o in outputs):
            return outputs, 0  # a sample for which there is no room even alone says nothing of the others
        return outputs, max(more or half for _, more in parts)


def _call(model: Model, requests: Sequence[Request]) -> list[Output]:
    started = time.perf_counter()
    outputs = list(_method(model, requests[0])(requests))
    if len(outputs) != len(requests) or not all(isinstance(output, Output) for output in outputs):
        what = f"model returned {shorten(outputs)} for {len(requests)} requests, expected as many Outputs"
        return [Output.failed("exception", what, retryable=False)] * len(requests)
    seconds = (time.perf_counter() - started) / len(requests)
    for place, output in enumerate(outputs):
        if output.seconds is None:
            _set_seconds(output, seconds)
        if output.error is not None:
            outputs[place] = _scrubbed(output)
    return outputs


async def call_async(model: Model, request: Request) -> Output:
    """Asks a model whose methods are coroutines for one answer."""
    started = time.perf_counter()
    try:
        outputs = await _method(model, request)([request])
        output = outputs[0] if isinstance(outputs, (list, tuple)) and len(outputs) == 1 else None
        if not isinstance(output, Output):
            what = f"model returned {shorten(outputs)} for one request, expected a list of one Output"
            return Output.failed("exception", what, retryable=False)
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001 - the boundary to other people's code: becomes a counted failure
        return _failure(error)
    if output.seconds is None:
        _set_seconds(output, time.perf_counter() - started)
    return output if output.error is None else _scrubbed(output)


def _method(model: Model, request: Request) -> Any:
    weighs = request.prompt.continuations is not None or request.prompt.rolling
    return model.likelihood if weighs else model.generate  # type: ignore[attr-defined]


def _failure(error: Exception) -> Output:
    """What a model raised, as the failure of one sample; a lost connection or a timeout may pass."""
    kind, passes = "exception", False
    if is_out_of_memory(error):
        kind = "oom"
    elif isinstance(error, TimeoutError):
        kind, passes = "timeout", True
    elif isinstance(error, ConnectionError):
        kind, passes = "connection", True
    return Output.failed(kind, scrub(f"{type(error).__name__}: {error}"), retryable=passes)


def _scrubbed(output: Output) -> Output:
    """The same failure without passwords in its message: it may quote a URL or a header."""
    error = output.error
    if error is None or (message := scrub(error.message)) == error.message:
        return output
    return replace(output, error=replace(error, message=message))


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error is a device's or the machine's way to say that the batch was too large."""
    if isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__:
        return True
    return "out of memory" in str(error).lower()


def _set_seconds(output: Output, seconds: float) -> None:
    """Notes the time on an output that was just made; a copy would cost more than all else done here."""
    object.__setattr__(output, "seconds", seconds)

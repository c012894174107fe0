"""Ask a model through its batch API: collect requests, send them as batches, and pass on the replies.

Rows are read until a batch is full, or until every further request depends on an answer. Each round of a dialogue, or
of tool calls, is therefore one batch. Answers go to the same sink as those of the scheduler. A request with a
temporary failure is sent again in the next batch, and alone after some rounds.
"""

import asyncio
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from ...core import Meter, Model, ModelError, Output
from ...core.errors import plural
from ...models.batching.batch_api import BatchResults
from ...models.batching.batch_client import BatchedModel, BatchReply
from ...models.http_failures import HttpFailure
from ...store.batch_log import BatchLog, LoggedBatch
from ..counts.spending import cost_of
from ..events import TaskProgress
from .batch_limits import BatchLimits
from .batch_service import BatchService, Draft, OpenBatch
from .calls import DEFAULT_WINDOW, call_async
from .retry import RetryPolicy, Stopped
from .server_group import ServerGroup
from .work import Answers, Job, Sink, Work

AT_ONCE = 256
"""After this many jobs are read or answers written, other coroutines get a turn."""
SETTLE_SECONDS = 2.0
"""Seconds to wait before sending a batch that is not full. Judges may finish meanwhile,
so that more rows are read.
"""
CANCELLED = "cancelled"

Pair = tuple[Job, Output]
Spare = tuple[OpenBatch, BatchReply]


@dataclass(eq=False)
class BatchAsker:
    """Asks one model for the jobs of one task, in batches."""

    model: Model
    service: BatchService
    log: BatchLog
    limits: BatchLimits
    task: str
    name: str
    journal: Path
    progress: TaskProgress
    say: Callable[[str], None]
    """Function that shows a line to the user and adds it to the notes of the run."""
    whisper: Callable[[str], None]
    """Function that shows the user a line during the run. The line is not added to the notes of the run."""
    prices: Mapping[str, Any]
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    window: int = DEFAULT_WINDOW
    """Maximum number of requests in flight outside batches."""
    is_in_journal: Callable[[str], bool] = lambda key: False
    """Function that returns True if the journal has an answer for a request key."""
    is_async: bool = True

    def __post_init__(self) -> None:
        servers = getattr(self.model, "servers", None) or (self.model,)
        self._batched = BatchedModel(self.service.api.model)
        self._single = ServerGroup(
            servers,
            self.window,
            self.policy,
            0,
            say=self.whisper,
        )
        self._drafts: dict[tuple[Any, ...], Draft] = {}
        self._adopted: list[OpenBatch] = []
        """Batches that this run took over from an earlier run."""
        self._claimable: list[OpenBatch] = []
        """Unfinished batches of an earlier run. Jobs may claim their requests."""
        self._open: list[OpenBatch] = []
        """Batches that were sent and are not finished."""
        self._spare: dict[str, deque[Spare]] = {}
        """Unclaimed replies from an earlier run's batches, by request key."""
        self._ready: list[Pair] = []
        """Jobs with answers that were not yet passed to the sink."""
        self._alone: set[asyncio.Task[None]] = set()
        self._held = 0
        """Number of jobs taken from the work whose answers were not yet passed to the sink."""
        self._handed_on = 0
        self._changed = asyncio.Event()
        self._is_checked = False

    async def run(self, work: Work, sink: Sink) -> None:
        """Work until no jobs are left, or until the work is stopped."""
        work.when_stopped(self._stop)
        self._adopt()
        try:
            await self._work_through(work, sink)
            if not work.stopped:
                self._finish_adopted()
        except Stopped:
            pass
        finally:
            await self._end()

    def _stop(self) -> None:
        self.service.stopped.set()
        self._single.stop()
        self._changed.set()

    def _adopt(self) -> None:
        """Take over the open batches of an earlier run, so that their requests are not sent again."""
        for logged in self.log.open_batches(self.task, self.name):
            batch = OpenBatch(logged)
            for number, key in enumerate(logged.keys):
                batch.spare.setdefault(key, deque()).append(number)
            self._adopted.append(batch)
        self._claimable = list(self._adopted)

    async def _work_through(self, work: Work, sink: Sink) -> None:
        """Take jobs, send batches and pass on answers until no jobs are left."""
        settle_seconds = min(SETTLE_SECONDS, self.limits.poll)
        while not work.stopped:
            jobs = work.take(AT_ONCE)
            if jobs:
                await self._check_service()
                for job in jobs:
                    await self._take(job)
                await asyncio.sleep(0)
            elif await self._hand_on(work, sink):
                continue
            elif work.in_flight > self._held:
                await self._wait(work)  # tool calls are running
            elif work.has_unread_rows and await self._wait(work, settle_seconds):
                continue
            elif self._drafts:
                for group in list(self._drafts):
                    await self._send(group)
            elif self._held:
                await self._wait(work)
            elif not await work.more():
                return

    async def _check_service(self) -> None:
        """Raise if the server has no batch API. Checked once, before requests are collected."""
        if not self._is_checked:
            await self.service.check()
            self._is_checked = True

    async def _wait(
        self,
        work: Work,
        seconds: float | None = None,
    ) -> bool:
        """Wait up to `seconds` until jobs or batches change. Return True if they did."""
        waiting = [
            asyncio.ensure_future(work.changed()),
            asyncio.ensure_future(self._changed.wait()),
        ]
        try:
            done, _ = await asyncio.wait(
                waiting,
                timeout=seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            for task in waiting:
                task.cancel()
        self._changed.clear()
        return bool(done)

    async def _take(self, job: Job) -> None:
        """Match a job with its request in a batch of an earlier run.

        If there is none, put the job into the next batch.
        """
        if not job.attempts:
            self._held += 1
            self.progress.meter.begun += 1
        key = job.request.key
        replies = self._spare.get(key)
        if replies:
            batch, reply = replies.popleft()
            await self._read(batch, job, reply)
            return
        for batch in self._claimable:
            numbers = batch.spare.get(key)
            if numbers:
                batch.jobs[numbers.popleft()] = job
                self._follow(batch)
                return
        await self._draft(job)

    async def _draft(self, job: Job) -> None:
        """Put a job into the next batch, and send the batch if it is full."""
        self._batched.record_next()
        output = await call_async(self._batched.model, job.request)
        request = self._batched.recorded(output)
        if request is None:
            self._ready.append((job, output))
            return
        api = self.service.api
        group = api.group_of(request)
        draft = self._drafts.get(group)
        if draft is None:
            number = 0
        else:
            number = len(draft.lines)
        if draft is None:
            marker = secrets.token_hex(8)
        else:
            marker = draft.logged.marker
        line = api.encode(f"{marker}-{number}", request)
        if len(line) > self.limits.size:
            self._ready.append((job, self._too_large(len(line))))
            return
        if draft is not None and draft.size + len(line) > self.limits.size:
            await self._send(group)
            await self._draft(job)
            return
        if draft is None:
            logged = LoggedBatch(marker, self.task, self.name, ())
            draft = self._drafts[group] = Draft(logged, request)
        draft.lines.append(line)
        draft.jobs.append(job)
        draft.size += len(line)
        if len(draft.lines) >= self.limits.requests:
            await self._send(group)

    def _too_large(self, size: int) -> Output:
        most = self.limits.size / 1_000_000
        message = (
            f"the request is {size / 1_000_000:.3g} MB, more than a batch takes ({most:.3g} MB);"
            " fix: smaller media, or a run without --batch_api"
        )
        return Output.failed("data", message, retryable=False)

    async def _send(self, group: tuple[Any, ...]) -> None:
        """Send the draft of a group, whose requests have the same path and headers, as a batch.

        Wait for its results in the background.
        """
        draft = self._drafts.pop(group)
        draft.logged.keys = [job.request.key for job in draft.jobs]
        batch = await self.service.submit(draft)

        name = batch.logged.name
        requests = plural(len(draft.jobs), "request")
        self.whisper(f"batch {name}: {requests} sent")
        self._follow(batch)

    def _follow(self, batch: OpenBatch) -> None:
        """Wait for a batch in the background."""
        if batch.following is None:
            batch.following = asyncio.ensure_future(self.service.follow(batch))
            batch.following.add_done_callback(lambda _: self._changed.set())
            self._open.append(batch)

    async def _hand_on(self, work: Work, sink: Sink) -> bool:
        """Read the results of finished batches and pass the answers to the sink.

        Return True if there were any answers.
        """
        self._show_progress()
        ended = [
            batch
            for batch in self._open
            if batch.following is not None and batch.following.done()
        ]
        for batch in ended:
            self._open.remove(batch)
            await self._collect(batch, batch.following.result(), work, sink)  # type: ignore[union-attr]
        if self._ready:
            await self._deliver(work, sink)
            return True
        return bool(ended)

    async def _collect(
        self,
        batch: OpenBatch,
        results: BatchResults | None,
        work: Work,
        sink: Sink,
    ) -> None:
        """Read the answers of a finished batch. Requests without a reply are sent again."""
        if batch in self._claimable:
            self._claimable.remove(batch)
        if results is None:
            # The service never received the batch.
            for job in batch.jobs.values():
                await self._draft(job)
            return
        replies = self._sort(batch, results)
        self._keep_spare(batch, replies)
        is_cancelled = batch.status.state == CANCELLED
        unanswered = 0
        for number, job in batch.jobs.items():
            reply = replies.pop(number, None)
            if is_cancelled and (reply is None or reply.failure is not None):
                unanswered += 1
                continue
            await self._read(batch, job, reply or _missing(batch, number))
            if len(self._ready) >= AT_ONCE:
                await self._deliver(work, sink)
        await self._deliver(work, sink)
        if not any(batch.spare.values()):
            self.log.finish(batch.logged, self.journal)
        if unanswered:
            self._raise_cancelled(batch, unanswered)

    def _sort(self, batch: OpenBatch, results: BatchResults) -> dict[int, BatchReply]:
        """Return the replies in a batch's results, by request number.

        Report unusable and missing replies to the user.
        """
        replies: dict[int, BatchReply] = {}
        unknown = 0
        repeated = 0
        for reply in results.replies:
            number = batch.number_of(reply.custom_id)
            if number is None:
                unknown += 1
            elif number in replies:
                repeated += 1
            else:
                replies[number] = reply
        missing = sum(number not in replies for number in batch.jobs)
        counts = {
            "broken line": results.broken_lines,
            "unknown custom_id": unknown,
            "repeated custom_id": repeated,
            "missing answer": missing,
        }
        if batch.status.state == CANCELLED:
            counts.pop("missing answer")
        parts = [plural(count, noun) for noun, count in counts.items() if count]
        if parts:
            again = "; missing ones are asked again" if missing else ""
            self.say(f"batch {batch.logged.name}: {', '.join(parts)}{again}")
        return replies

    def _keep_spare(
        self,
        batch: OpenBatch,
        replies: dict[int, BatchReply],
    ) -> None:
        """Store the replies to requests of an earlier run until the rows that they belong to are read."""
        for key, numbers in batch.spare.items():
            for number in numbers:
                if number in replies:
                    entry = (batch, replies[number])
                    self._spare.setdefault(key, deque()).append(entry)

    async def _read(
        self,
        batch: OpenBatch,
        job: Job,
        reply: BatchReply,
    ) -> None:
        """Parse the reply to a job with the model's own adapter. Retry the request after a temporary failure."""
        self._batched.answer_next(reply)
        output = await call_async(self._batched.model, job.request)
        error = output.error
        if error is not None and error.retryable:
            job.attempts += 1
            if job.attempts < self.limits.rounds:
                await self._take(job)
            else:
                self._ask_alone(job)
            return
        details = {**output.details, "batch": batch.logged.name}
        output = replace(output, details=details, seconds=None)
        if self.limits.price is None:
            share = 1.0
        else:
            share = self.limits.price
        self._ready.append((job, self._priced(output, share)))

    def _priced(self, output: Output, share: float) -> Output:
        """Return the output with its cost, if prices are known.

        `share` is the price of a batch as a fraction of the normal price.
        """
        usage = output.usage
        if usage is None or usage.cost is not None:
            return output
        tokens = {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
        }
        cost = cost_of(tokens, self.prices)
        if cost is None:
            return output
        return replace(output, usage=replace(usage, cost=cost * share))

    def _ask_alone(self, job: Job) -> None:
        """Send a request alone, at the normal price, because it failed in every batch."""
        if not self._alone:
            self.say(
                f"{self.name}: requests that failed in {self.limits.rounds} batches are asked alone, at the usual price"
            )
        task = asyncio.ensure_future(self._answer_alone(job))
        self._alone.add(task)
        task.add_done_callback(lambda _: self._changed.set())

    async def _answer_alone(self, job: Job) -> None:
        def attempt(server: Model) -> Awaitable[Output]:
            return call_async(server, job.request)

        with suppress(Stopped):
            output = await self._single.send(attempt)
            self._ready.append((job, self._priced(output, 1.0)))

    async def _deliver(self, work: Work, sink: Sink) -> None:
        """Pass the answers to the sink, which writes them to the journal and scores them."""
        while self._ready:
            pairs: Answers = self._ready[:AT_ONCE]
            del self._ready[:AT_ONCE]
            try:
                sink.keep(pairs)
                sink.judge(pairs)
            finally:
                self._held -= len(pairs)
                self._handed_on += len(pairs)
                work.finished(len(pairs))
            await asyncio.sleep(0)

    def _show_progress(self) -> None:
        """Show the progress of the batches to the user."""
        self.progress.batches = _batch_counts(self._open)
        done = sum(batch.status.done for batch in self._open)
        meter: Meter = self.progress.meter
        meter.ended = float(self._handed_on + done)

    def _raise_cancelled(self, batch: OpenBatch, unanswered: int) -> None:
        requests = plural(unanswered, "request")
        raise ModelError(
            f"batch {batch.logged.name} was cancelled before {requests} had an answer",
            where=self.service.where,
            fix="the same command again asks for the rest",
        )

    def _finish_adopted(self) -> None:
        """Mark batches of an earlier run as finished if the journal has all of their answers.

        Note the others for the user.
        """
        unread = {
            id(batch)
            for key, replies in self._spare.items()
            for batch, _ in replies
            if not self.is_in_journal(key)
        }
        for batch in self._adopted:
            if not batch.logged.is_open:
                continue
            is_read = batch not in self._claimable
            if is_read and id(batch) in unread:
                self.say(
                    f"batch {batch.logged.name}: some answers belong to no sample of this run"
                )
            if is_read or all(map(self.is_in_journal, batch.logged.keys)):
                self.log.finish(batch.logged, self.journal)
            else:
                self.say(
                    f"batch {batch.logged.name} of an earlier run is not needed by this one;"
                    " `assay batches RUN --cancel` cancels it"
                )

    async def _end(self) -> None:
        """Cancel the asyncio tasks that wait for batches. The service continues to work on the batches."""
        tasks = [*self._alone]
        for batch in self._open:
            if batch.following is not None:
                tasks.append(cast("asyncio.Task[None]", batch.following))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.service.api.close()
        self.progress.batches = ""
        for batch in self._open:
            self.say(_continues_line(batch))


def _missing(batch: OpenBatch, number: int) -> BatchReply:
    """Return the failed reply for a request that has no result in its batch."""
    failure = HttpFailure("batch", "the results have no answer", retryable=True)
    return BatchReply(f"{batch.logged.marker}-{number}", failure=failure)


def _batch_counts(batches: Sequence[OpenBatch]) -> str:
    """Return the progress of batches as text: `batch_1: 120 of 500 done`, or the sum over several batches."""
    if not batches:
        return ""
    done = sum(batch.status.done for batch in batches)
    total = sum(len(batch.logged.keys) for batch in batches)
    name = batches[0].logged.name
    if len(batches) > 1:
        name = plural(len(batches), "batch", "batches")
    return f"{name}: {done:,} of {total:,} done"


def _continues_line(batch: OpenBatch) -> str:
    """Return a line to show when the run stops: the service continues to work on a batch."""
    total = len(batch.logged.keys)
    return (
        f"batch {batch.logged.name} continues at the service ({batch.status.done:,} of {total:,} done):"
        " the same command again waits for it, `assay batches RUN --cancel` cancels it"
    )

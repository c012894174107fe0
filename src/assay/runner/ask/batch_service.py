"""Create a batch, wait for it and download its results, despite failures of the network and the service.

A batch is logged before it is sent. If it is unclear whether the service received the
batch, assay searches for its marker before sending it again.
"""

import asyncio
import contextlib
import random
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ...core import ErrorInfo, ModelError, UsageError
from ...core.errors import plural
from ...models.batching.batch_api import (
    BatchApi,
    BatchResults,
    BatchStatus,
    ResultsGone,
)
from ...models.batching.batch_client import BatchReply, RecordedRequest
from ...models.http_failures import HttpFailure, Refused
from ...store.batch_log import BatchLog, LoggedBatch
from .batch_limits import BatchLimits
from .retry import RetryPolicy, Stopped
from .work import Job

LONGEST_SILENCE = 3600.0
"""Seconds for which failed calls to the service are retried. The batch continues meanwhile."""
LOOKS = 3
"""Number of times to read the service's list of batches before assuming that a batch does not exist.

A new batch may appear in the list late.
"""
SECONDS_BETWEEN_LOOKS = 2.0
DOWNLOADS = 3
"""Number of times that a results file is downloaded again if it ends in the middle of a line."""
FIRST_POLL = 1.0
SLOWER = 1.5
LONGEST_QUOTA_WAIT = 600.0
MISSING = (404, 405, 501)
UNSURE = frozenset({408, 409, 425})
"""HTTP statuses below 500 that leave it unclear whether the service created the batch."""
T = TypeVar("T")
Say = Callable[[str], None]


class NotThere(Exception):
    """Raised if the service answers that a path or a batch does not exist."""


@dataclass(eq=False)
class Draft:
    """Requests collected for the next batch."""

    logged: LoggedBatch
    request: RecordedRequest
    """The first request of the draft. All requests of a batch have the same path and headers."""
    lines: list[bytes] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    size: int = 0


@dataclass(eq=False)
class OpenBatch:
    """A batch whose results have not arrived yet, with the jobs that wait for them."""

    logged: LoggedBatch
    jobs: dict[int, Job] = field(default_factory=dict)
    """The waiting jobs, by the number of their request in the batch."""
    spare: dict[str, "deque[int]"] = field(default_factory=dict)
    """For a batch of an earlier run: numbers of the requests that no job has claimed yet, by request key."""
    candidates: list[str] = field(default_factory=list)
    """Ids of batches at the service that may be this one, as long as it is not identified."""
    status: BatchStatus = field(default_factory=lambda: BatchStatus("running"))
    following: "asyncio.Task[BatchResults | None] | None" = None

    def number_of(self, custom_id: str) -> int | None:
        """Return the number of the request that a reply belongs to; None if the batch has no such request."""
        marker, _, digits = custom_id.rpartition("-")
        if marker not in (self.logged.marker, "") or not digits.isdecimal():
            return None
        number = int(digits)
        if number < len(self.logged.keys):
            return number
        return None

    def owns(self, replies: Sequence[BatchReply]) -> bool:
        """Return True if the replies belong to this batch, according to the marker in their ids."""
        prefix = f"{self.logged.marker}-"
        return any(reply.custom_id.startswith(prefix) for reply in replies)


@dataclass(eq=False)
class BatchService:
    """The batch API of a model. Calls are repeated until the service answers, for up to an hour."""

    api: BatchApi
    log: BatchLog
    limits: BatchLimits
    where: str
    say: Say
    """Function that shows a line to the user during the run."""
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the run stops. Pending waits then end immediately."""

    def __post_init__(self) -> None:
        self._policy = RetryPolicy(base_seconds=min(1.0, self.limits.poll))
        self._rng = random.Random(0)
        self._refusals_for_quota = 0

    async def check(self) -> str:
        """Return the id of the newest batch. Raise if the server has no batch API."""
        try:
            return await self._call(self.api.newest)
        except NotThere as error:
            raise UsageError(
                f"{self.api.address} has no batch API ({self.api.paths}): {error}",
                where=self.where,
                fix="leave --batch_api out, or check base_url",
            ) from None

    async def submit(self, draft: Draft) -> OpenBatch:
        """Send a draft as one batch, with as many attempts as needed.

        When this returns, the id of the batch is on disk.
        """
        logged = draft.logged
        logged.newest = await self.check()
        self.log.plan(logged)
        batch = OpenBatch(logged, dict(enumerate(draft.jobs)))
        try:
            input_id = await self._call(
                lambda: self.api.upload(logged.marker, draft.lines)
            )
            if input_id:
                self.log.note(logged, "uploaded", input_id=input_id)
            await self._create(draft, batch)
        except NotThere as error:
            self.log.note(logged, "dropped")
            raise UsageError(
                f"{self.api.address} has no batch API ({self.api.paths}): {error}",
                where=self.where,
                fix="leave --batch_api out, or check base_url",
            ) from None
        return batch

    async def _create(
        self,
        draft: Draft,
        batch: OpenBatch,
    ) -> None:
        """Create a batch. If the call fails, search for the batch, because the service may have created it."""
        logged = batch.logged
        attempt = 0
        while True:
            is_certain = False
            try:
                batch_id = await self.api.create(
                    logged.marker,
                    draft.request,
                    draft.lines,
                    logged.input_id,
                )
                self.log.note(logged, "created", batch_id=batch_id)
                return
            except Refused as refused:
                is_certain = refused.status < 500 and refused.status not in UNSURE
                failure = self.api.failure_of(refused)
                status = refused.status
            except HttpFailure as error:
                failure = error
                status = 0
            if is_certain and not failure.retryable:
                self.log.note(logged, "dropped")
                self._raise(failure, status)
            await self._pause(failure, attempt)
            attempt += 1
            if is_certain:
                continue
            found_it = await self._look_up(batch)
            if found_it:
                return
            if not failure.retryable:
                self.log.note(logged, "dropped")
                self._raise(failure, status)

    async def _look_up(self, batch: OpenBatch) -> bool:
        """Search for a batch that the service may have created.

        Return True if the batch, or several batches that it may be, were found.
        """
        logged = batch.logged
        others = {other.batch_id for other in self.log.batches.values()}
        for look in range(LOOKS):
            if look:
                await self._sleep(min(self.limits.poll, SECONDS_BETWEEN_LOOKS))
            ids = await self._call(
                lambda: self.api.find(
                    logged.marker,
                    logged.input_id,
                    logged.newest,
                    len(logged.keys),
                )
            )
            candidates = [batch_id for batch_id in ids if batch_id not in others]
            if candidates and self.api.finds_by_marker:
                self.log.note(logged, "created", batch_id=candidates[0])
                return True
            if candidates:
                batch.candidates = candidates
                return True
        return False

    async def follow(self, batch: OpenBatch) -> BatchResults | None:
        """Wait until a batch has finished, and return its results; None if the service never received it."""
        logged = batch.logged
        if not logged.batch_id and not batch.candidates:
            await self._look_up(batch)
        if logged.batch_id:
            ids = [logged.batch_id]
        else:
            ids = batch.candidates
        for batch_id in ids:
            await self._wait_until_ended(batch, batch_id)
            if batch.status.state == "failed":
                if logged.batch_id:
                    await self._after_refusal(batch)
                    return None
                continue
            results = await self._download(batch)
            if logged.batch_id:
                return results
            if batch.owns(results.replies):
                self.log.note(logged, "created", batch_id=batch_id)
                return results
        self.log.note(logged, "dropped")
        return None

    async def cancel(self, batch: LoggedBatch) -> None:
        """Cancel a batch. Raise if the service has no such batch."""
        try:
            await self._call(lambda: self.api.cancel(batch.batch_id))
        except NotThere:
            reason = f"the service no longer knows batch {batch.batch_id}"
            raise self._lost(OpenBatch(batch), reason) from None

    async def _wait_until_ended(
        self,
        batch: OpenBatch,
        batch_id: str,
    ) -> None:
        """Check the state of a batch until it is final."""
        seconds = min(FIRST_POLL, self.limits.poll)
        while True:
            try:
                batch.status = await self._call(lambda: self.api.status(batch_id))
            except NotThere:
                raise self._lost(
                    batch, f"the service no longer knows batch {batch_id}"
                ) from None
            if batch.status.state != "running":
                return
            await self._sleep(seconds)
            seconds = min(self.limits.poll, seconds * SLOWER)

    async def _after_refusal(self, batch: OpenBatch) -> None:
        """Handle a batch that the service rejected as a whole.

        If too many requests are queued at the service, wait to send it again. Otherwise
        raise.
        """
        status = batch.status
        why = status.why or "it gives no reason"
        self.log.note(batch.logged, "dropped")
        if not status.is_over_quota:
            raise ModelError(
                f"the service refused batch {batch.logged.name}: {why}",
                where=self.where,
                fix="no request was processed; correct the fault that it names, then run the same command again",
            )
        self._refusals_for_quota += 1
        seconds = min(LONGEST_QUOTA_WAIT, self.limits.poll * self._refusals_for_quota)
        self.say(
            f"batch {batch.logged.name}: too many requests wait at the service already;"
            f" sending it again in {seconds:.0f} s: {why}"
        )
        await self._sleep(seconds)

    async def _download(self, batch: OpenBatch) -> BatchResults:
        """Return the results of a finished batch."""
        name = batch.logged.name
        for _ in range(DOWNLOADS):
            try:
                results = await self._call(lambda: self.api.results(batch.status))
            except (ResultsGone, NotThere):
                raise self._lost(
                    batch, f"the results of batch {name} are gone"
                ) from None
            if not results.is_cut_off:
                break
        return results

    def _lost(
        self,
        batch: OpenBatch,
        what: str,
    ) -> ModelError:
        """Return the error for a batch whose results the service has deleted.

        The user must decide whether to pay again for the same requests.
        """
        name = batch.logged.name
        return ModelError(
            f"{what} ({plural(len(batch.logged.keys), 'request')})",
            where=self.where,
            fix=f"check base_url and the key; `assay batches RUN --forget {name}` lets the next run ask again",
        )

    async def _call(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Call the service until it answers. Raise if it rejects the call, or fails for an hour."""
        clock = asyncio.get_running_loop().time
        began = clock()
        attempts = 0
        while True:
            try:
                return await attempt()
            except Refused as refused:
                failure = self.api.failure_of(refused)
                status = refused.status
            except HttpFailure as error:
                failure = error
                status = 0
            if status in MISSING:
                raise NotThere(self.api.plain_message(failure))
            if not failure.retryable or clock() - began > LONGEST_SILENCE:
                self._raise(failure, status)
            await self._pause(failure, attempts)
            attempts += 1

    def _raise(
        self,
        failure: HttpFailure,
        status: int,
    ) -> None:
        """Raise the error for a service that rejects calls or fails for too long."""
        message, _, fix = self.api.plain_message(failure).partition("; fix: ")
        if status in (401, 403):
            fix = f"check the key in {self.api.model.api_key_env}; batches may need further rights"
        raise ModelError(
            f"{self.api.title}: {message}",
            where=self.where,
            fix=fix or "the same command again continues where it stopped",
        )

    async def _pause(
        self,
        failure: HttpFailure,
        attempts: int,
    ) -> None:
        """Wait before the next call, for the delay of the retry policy."""
        message = self.api.plain_message(failure)
        if not attempts:
            self.say(f"trying again after {failure.kind}: {message}")
        error = ErrorInfo(failure.kind, message, True, failure.retry_after)
        await self._sleep(self._policy.delay(error, attempts, self._rng))

    async def _sleep(self, seconds: float) -> None:
        """Wait. Raise `Stopped` if the run is stopped."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.stopped.wait(), seconds)
        if self.stopped.is_set():
            raise Stopped

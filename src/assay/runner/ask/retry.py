"""Retries: decide whether and when a failed request is sent again. No other module decides this.

`ErrorInfo.retryable` marks failures that may be temporary. Such requests are sent again
after exponential delays with full jitter. A sample that has an output is never sent
again. All requests to a server share a `ServerQueue`. It limits how many are in flight
(`limiter`), and detects a server that has become unreachable (`outage`) or never gave a
valid reply (`beginning`). For models that work in batches, failed jobs are queued again
after their delay (`schedule_retry`).
"""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum

from ...core import ErrorInfo, Output
from ..counts.budget import GIVEN_UP
from .server_health import (
    LONGEST_OUTAGE,
    SILENT_TRIES,
    Beginning,
    Limiter,
    Outage,
    requested_wait,
)
from .work import Job, Work

PASSING = frozenset(
    {
        "rate_limit",
        "timeout",
        "connection",
        "broken_reply",
        "http",
        "unavailable",
        "bad_response",
    }
)
"""Kinds of failures that are retried here for models that work in batches.

Such models retry other kinds themselves.
"""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Limits and delays of retries."""

    tries: int = 10
    base_seconds: float = 1.0
    cap_seconds: float = 60.0
    total_seconds: float = 1800.0
    longest_wait: float = 600.0
    """The longest Retry-After delay, in seconds, that assay accepts from a server."""
    wrong_seconds: float = 30.0
    """If a server gives only wrong replies for this many seconds, stop using it."""

    def allows(
        self,
        error: ErrorInfo,
        attempts: int,
        seconds: float,
    ) -> bool:
        """Return True if a request that failed `attempts` times within `seconds` may be retried."""
        return (
            error.retryable and attempts < self.tries and seconds < self.total_seconds
        )

    def delay(
        self,
        error: ErrorInfo,
        attempt: int,
        rng: random.Random,
    ) -> float:
        """Return the seconds to wait before a retry. The delay grows with `attempt`.

        If the server requested a delay, wait at least that long, but not much longer
        than `longest_wait`.
        """
        jitter = rng.uniform(0, min(self.cap_seconds, self.base_seconds * 2**attempt))
        wait = requested_wait(error)
        if not wait:
            return jitter
        # Requests that were given the same Retry-After must not all come back in the same second.
        return min(wait, self.longest_wait) + min(jitter, self.base_seconds)


class Stopped(Exception):
    """Raised for a request that was still waiting when the run was stopped. It is not sent, and has no answer."""


class Decision(Enum):
    """What to do after an attempt: return the output, retry, or give up on the server."""

    RETURN = "return"
    """Return the output: an answer, or a failure that a retry would not change."""
    RETRY = "retry"
    GIVE_UP_ON_SERVER = "give up on server"
    """Give up on the server, which has never given a valid reply: all its requests get this failure."""


@dataclass(slots=True, eq=False)
class RequestState:
    """The state of one request, from its first attempt to its last."""

    attempts: int = 0
    """Number of failed attempts, excluding attempts during an outage."""
    seconds: float = 0.0
    """Seconds spent in attempts and in the delays between them. The wait for a free slot is not included."""
    sent_at: float = 0.0
    """Time at which the latest attempt was sent."""
    answers_before: int = -1
    """The server's count of answers at the time of this request's last failure; -1 if it has not failed yet."""
    fails_alone: bool = False
    """True if the server answered other requests between two failures of this one. The request is then the cause."""


class ServerQueue:
    """Sends requests to one server: limits how many are in flight, retries, and detects outages.

    All requests to a server go through the same queue. So when one request finds the
    server unreachable or throttling, the others also wait.
    """

    def __init__(
        self,
        window: int,
        policy: RetryPolicy | None = None,
        seed: int = 0,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.policy = policy or RetryPolicy()
        self.limiter = Limiter(window)
        self.outage = Outage(window)
        self.beginning = Beginning(self.policy.wrong_seconds)
        self._rng = random.Random(seed)
        self._say = say
        self._reported: set[str] = set()
        """Reasons for retries that were already reported."""
        self._final_output: Output | None = None
        """The output for all requests once the server is given up."""
        self._is_stopped = False
        self._over = asyncio.Event()
        """Set when requests should stop waiting, because the queue was stopped or the server was given up."""

    def stop(self) -> None:
        """Stop sending. Requests that wait for a slot or a retry are released; requests in flight are finished."""
        self._is_stopped = True
        self._release_all()

    async def send(
        self,
        attempt: Callable[[], Awaitable[Output]],
        may_leave: Callable[[], bool] = lambda: False,
    ) -> Output:
        """Call `attempt` until it succeeds, fails for good, or the queue is stopped.

        During an outage, if `may_leave()` is True, return the last failure at once, so
        that the caller can use another server.
        """
        request = RequestState()
        output = Output.failed("connection", "the server is gone", retryable=True)
        while True:
            if not await self._wait_for_slot(request, may_leave):
                if self._over.is_set():
                    return self._last_output()
                return output
            output = await self._try_once(attempt, request)
            decision = self.decide(output, request, _now())
            if decision is Decision.RETURN or output.error is None:
                return output
            if decision is Decision.GIVE_UP_ON_SERVER:
                self._give_up(output.error, _now())
                return self._last_output()
            await self._wait_before_retry(output.error, request)

    def is_probe_due(self, now: float) -> bool:
        """Return True if the server is unreachable and a probe is due."""
        return self.outage.is_on and self.outage.look_at <= now

    async def _wait_for_slot(
        self,
        request: RequestState,
        may_leave: Callable[[], bool],
    ) -> bool:
        """Wait until the request may be sent, and return True.

        Return False if the queue was stopped, or if the request should go to another
        server.
        """
        while not self._over.is_set():
            probes = False
            if self.outage.is_on and may_leave() and not self._probes_now(request):
                return False
            if self.outage.lost:
                probes = await self.outage.wait(request)
            await self.limiter.acquire()
            is_gone = self.outage.is_on and not self.outage.is_hopeless(_now())
            if not self._over.is_set() and (probes or not is_gone):
                return True
            self.limiter.release()
        return False

    def _probes_now(self, request: RequestState) -> bool:
        """Return True if a probe of the server is due and this request can be the
        probe, as it was never sent before.
        """
        return request.sent_at == 0.0 and self.is_probe_due(_now())

    async def _try_once(
        self,
        attempt: Callable[[], Awaitable[Output]],
        request: RequestState,
    ) -> Output:
        """Make one attempt, then release the slot of the request."""
        request.sent_at = _now()
        self.beginning.sent(request, request.sent_at)
        try:
            return await attempt()
        finally:
            self.limiter.release()
            self.beginning.left(request)

    def decide(
        self,
        output: Output,
        request: RequestState,
        now: float,
    ) -> Decision:
        """Return what to do after an attempt, and record the result in the state of the server."""
        error = output.error
        if error is None:
            self._record_answer(request, now)
            return Decision.RETURN
        if self._record_failure(error, request, now):
            return Decision.GIVE_UP_ON_SERVER
        if self.outage.is_hopeless(now):
            return Decision.RETURN
        if not self.policy.allows(error, request.attempts, request.seconds):
            return Decision.RETURN
        never_spoke = error.kind == "timeout" and self.beginning.is_silent
        if never_spoke and request.attempts >= SILENT_TRIES:
            return Decision.RETURN
        return Decision.RETRY

    def _record_answer(self, request: RequestState, now: float) -> None:
        self.outage.note(None, now, request, self.policy.longest_wait)
        self.beginning.record_answer()
        self.limiter.succeeded()
        if self.limiter.limit_before_refusal:
            self.limiter.restore(request.sent_at)

    def _record_failure(
        self,
        error: ErrorInfo,
        request: RequestState,
        now: float,
    ) -> bool:
        """Record a failed attempt. Return True if the server should be given up."""
        outage = self.outage
        if 0 <= request.answers_before < outage.answers:
            request.fails_alone = True
        if not request.fails_alone:
            outage.note(error, now, request, self.policy.longest_wait)
        if self.beginning.record_failure(
            error, request.sent_at, now, requested_wait(error)
        ):
            return True
        request.answers_before = outage.answers
        if error.kind == "rate_limit":
            self.limiter.throttled(now)
        elif error.kind == "timeout":
            self.limiter.slowed(request.sent_at, now)
        elif error.kind == "auth":
            self.limiter.hold(now)
        request.seconds += now - request.sent_at
        if not outage.is_on:
            request.attempts += 1
        return False

    async def _wait_before_retry(self, error: ErrorInfo, request: RequestState) -> None:
        """Wait before the next attempt of a request.

        During an outage, return at once, because `_wait_for_slot` does the waiting.
        """
        self._report(error)
        now = _now()
        remaining = self.beginning.left_of(error, now, requested_wait(error))
        self.outage.look_at = min(self.outage.look_at, now + max(remaining, 1.0))
        if self.outage.is_on:
            return
        delay = self.policy.delay(error, request.attempts - 1, self._rng)
        delay = min(delay, remaining)
        request.seconds += delay
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._over.wait(), delay)

    def _release_all(self) -> None:
        self._over.set()
        self.outage.end()

    def _last_output(self) -> Output:
        """Return the failure that all requests to an abandoned server get. If the run was stopped, raise instead."""
        if self._final_output is not None and not self._is_stopped:
            return self._final_output
        raise Stopped

    def _give_up(self, error: ErrorInfo, now: float) -> None:
        """Give up on the server, because it never gave a valid reply: all its requests get the same failure."""
        seconds = now - (self.beginning.since or now)
        problem, _, fix = error.message.partition("; fix: ")
        fix = fix or "check base_url, the name of the model and the server's own log"
        message = (
            f"the server gave only wrong replies for {seconds:.0f} s, the last: {problem}; fix: {fix};"
            f" --give_up_after SECONDS waits longer than {self.policy.wrong_seconds:g} s"
        )
        self._final_output = Output.failed(GIVEN_UP, message, retryable=False)
        self._release_all()

    def _report(self, error: ErrorInfo) -> None:
        """Report the reason for delays to the user, once for each reason."""
        if self.outage.is_on:
            reason = "outage"
        else:
            reason = error.kind
        if reason in self._reported:
            return
        self._reported.add(reason)
        if reason != "outage":
            self._say(f"trying again after {error.kind}: {error.message}")
        elif self.outage.answers:
            minutes = f"{LONGEST_OUTAGE / 60:g} min"
            self._say(
                f"the server seems to be gone, waiting up to {minutes} for it: {error.message}"
            )
        else:
            # The connection decides how long to wait for a server that never answered.
            self._say(f"the server has not answered yet: {error.message}")


def _now() -> float:
    return asyncio.get_running_loop().time()


def may_be_temporary(output: Output) -> bool:
    """Return True if an output is a failure that may be temporary. Used for models that work in batches."""
    return (
        output.error is not None
        and output.error.retryable
        and output.error.kind in PASSING
    )


def schedule_retry(
    work: Work,
    job: Job,
    output: Output,
    policy: RetryPolicy,
    rng: random.Random,
) -> bool:
    """If the failure of a batch model's job may be temporary, queue the job again and return True."""
    error = output.error
    if error is None or not may_be_temporary(output):
        return False
    loop = asyncio.get_running_loop()
    job.failed_at = job.failed_at or loop.time()
    job.attempts += 1
    if work.stopped or not policy.allows(
        error,
        job.attempts,
        loop.time() - job.failed_at,
    ):
        return False
    loop.call_later(policy.delay(error, job.attempts - 1, rng), work.again, job)
    return True

"""Retrying: whether a request that failed is asked again, and when. Decided here and nowhere else.

What may pass at all, the model says (`ErrorInfo.retryable`). Such failures are tried again with full-jitter exponential
delays; a sample that produced an output is never asked again. There are two ways to wait. Requests to a server share a
`Patience`, which knows how many may be in flight (`limiter`) and whether the server is gone (`outage`) or never gave a
proper answer (`beginning`). Jobs of a batch go back to the work after their delay (`tries_again`).
"""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ...core import ErrorInfo, Output
from ..counts.budget import GIVEN_UP
from .beginning import SILENT_TRIES, Beginning
from .limiter import Limiter
from .outage import LONGEST_OUTAGE, Outage, asked_wait
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
"""Failures of a model that works in batches that are tried again: what else it reports, it has tried itself."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long."""

    tries: int = 10
    base_seconds: float = 1.0
    cap_seconds: float = 60.0
    total_seconds: float = 1800.0
    longest_wait: float = 600.0
    """The most that a server's Retry-After is obeyed."""
    wrong_seconds: float = 30.0
    """How long a server that gives only wrong replies, from the first on, is asked again."""

    def allows(self, error: ErrorInfo, attempts: int, seconds: float) -> bool:
        """Whether a request that failed so often, over so many seconds, is worth another try."""
        return (
            error.retryable and attempts < self.tries and seconds < self.total_seconds
        )

    def delay(self, error: ErrorInfo, attempt: int, rng: random.Random) -> float:
        """Seconds to wait before attempt number `attempt + 1`; never less than the server asked for."""
        jitter = rng.uniform(0, min(self.cap_seconds, self.base_seconds * 2**attempt))
        wait = asked_wait(error)
        if not wait:
            return jitter
        # Those who were told the same second must not all come back in it.
        return min(wait, self.longest_wait) + min(jitter, self.base_seconds)


class Stopped(Exception):
    """The run was stopped while a request waited for another try: it is not asked again, and not answered."""


class Patience:
    """How one server is asked, by however many: all of them wait for their turn here, and here alone is tried again."""

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
        self._rng = random.Random(seed)
        self._say = say
        self._told: set[str] = set()
        """Kinds of failures that were spoken of."""
        self.beginning = Beginning(self.policy.wrong_seconds)
        self._given_up: Output | None = None
        """What all requests are answered with once the server is given up."""
        self._is_stopped = False
        self._over = asyncio.Event()
        """Set when nobody is to wait for another try any more."""

    def stop(self) -> None:
        """Requests that wait for their turn or another try leave; those on their way come back."""
        self._is_stopped = True
        self._end()

    def _end(self) -> None:
        self._over.set()
        self.outage.end()

    async def ask(self, once: Callable[[], Awaitable[Output]]) -> Output:
        """What `once` answers, called again where that may help."""
        clock = asyncio.get_running_loop().time
        spent, attempts = 0.0, 0
        outage, limiter = self.outage, self.limiter
        whose = object()
        answers, is_alone = (
            -1,
            False,
        )  # how many others had when this one failed; whether it fails where others do not
        while True:
            if self._over.is_set():
                return self._last_word()
            looks = await outage.pass_by(whose) if outage.lost else False
            await limiter.acquire()
            is_gone = outage.is_on and not looks and not outage.is_hopeless(clock())
            if is_gone or self._over.is_set():
                limiter.release()  # gone, or given up, while this one waited for its place
                continue
            started = (
                clock()
            )  # what a request waits for its turn is none of its own time
            self.beginning.sent(whose, started)
            try:
                output = await once()
            finally:
                limiter.release()
                self.beginning.left(whose)
            error = output.error
            is_alone = is_alone or (error is not None and 0 <= answers < outage.answers)
            if not is_alone or error is None:
                outage.note(error, clock(), whose, self.policy.longest_wait)
            told_wait = 0.0 if error is None else asked_wait(error)
            is_given_up = self.beginning.is_hopeless(error, started, clock(), told_wait)
            if error is None:
                limiter.succeeded()
                if limiter.held:
                    limiter.let_go(started)
                return output
            if is_given_up:
                self._give_up(error, clock())
                continue
            answers = outage.answers
            if error.kind == "rate_limit":
                limiter.throttled(clock())
            elif error.kind == "timeout":
                limiter.slowed(started, clock())
            elif error.kind == "auth":
                limiter.hold(clock())
            spent += clock() - started
            attempts += not outage.is_on
            if outage.is_hopeless(clock()) or not self.policy.allows(
                error, attempts, spent
            ):
                return output
            if (
                error.kind == "timeout"
                and self.beginning.is_silent
                and attempts >= SILENT_TRIES
            ):
                return output
            self._tell(error)
            remaining = self.beginning.left_of(error, clock(), told_wait)
            outage.look_at = min(outage.look_at, clock() + max(remaining, 1.0))
            if not outage.is_on:
                delay = min(
                    self.policy.delay(error, attempts - 1, self._rng), remaining
                )
                spent += delay
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._over.wait(), delay)

    def _last_word(self) -> Output:
        if self._given_up is not None and not self._is_stopped:
            return self._given_up
        raise Stopped

    def _give_up(self, error: ErrorInfo, now: float) -> None:
        """No request is tried again: the server never gave a proper answer."""
        seconds = now - (self.beginning.since or now)
        what, _, fix = error.message.partition("; fix: ")
        fix = fix or "check base_url, the name of the model and the server's own log"
        message = (
            f"the server gave only wrong replies for {seconds:.0f} s, the last: {what}; fix: {fix};"
            f" --give_up_after SECONDS waits longer than {self.policy.wrong_seconds:g} s"
        )
        self._given_up = Output.failed(GIVEN_UP, message, retryable=False)
        self._end()

    def _tell(self, error: ErrorInfo) -> None:
        """Says why a run is slow, once for each reason."""
        reason = "outage" if self.outage.is_on else error.kind
        if reason in self._told:
            return
        self._told.add(reason)
        if reason == "outage":
            # How long one that never answered is waited for, its connection knows.
            gone = f"seems to be gone, waiting up to {LONGEST_OUTAGE / 60:g} min for it"
            self._say(
                f"the server {gone if self.outage.answers else 'has not answered yet'}: {error.message}"
            )
        else:
            self._say(f"trying again after {error.kind}: {error.message}")


def may_pass(output: Output) -> bool:
    """Whether what came of a job of a batch is a failure that may pass."""
    return (
        output.error is not None
        and output.error.retryable
        and output.error.kind in PASSING
    )


def tries_again(
    work: Work, job: Job, output: Output, policy: RetryPolicy, rng: random.Random
) -> bool:
    """Whether a job of a batch failed in a way that may pass; it is then handed out again after its delay."""
    error = output.error
    if error is None or not may_pass(output):
        return False
    loop = asyncio.get_running_loop()
    job.failed_at = job.failed_at or loop.time()
    job.attempts += 1
    if work.stopped or not policy.allows(
        error, job.attempts, loop.time() - job.failed_at
    ):
        return False
    loop.call_later(policy.delay(error, job.attempts - 1, rng), work.again, job)
    return True

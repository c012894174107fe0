"""Retrying: the only layer that does. What is worth another try, after how long, and how many at once.

Infrastructure errors that may pass are tried again with full-jitter exponential delays; a sample that produced an
output is never asked again. Rate limits shrink the number of requests in flight, clean rounds let it grow. While a
server is gone, one request at a time looks for it.
"""

import asyncio
import math
import random
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from ..core import ErrorInfo, Output

SHRINK = 0.8
GROW = 0.05
EPISODE_SECONDS = 1.0
"""Rate limits that come so close together are one episode."""
CAUTIOUS_ROUNDS = 10
"""Clean rounds before the number that was too many is tried again."""
GONE = frozenset({"connection", "http", "tls"})
"""Failures that may mean that the server is gone, where they may pass at all."""
MOST_LOST = 8
"""So many of them in a row, or as few as are asked at once, and it is."""
LONGEST_PAUSE = 15.0
LONGEST_OUTAGE = 600.0
"""After so many seconds nobody waits for it any more."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long."""

    tries: int = 10
    base_seconds: float = 1.0
    cap_seconds: float = 60.0
    total_seconds: float = 1800.0
    longest_wait: float = 600.0
    """The most that a server's Retry-After is obeyed."""

    def allows(self, error: ErrorInfo, attempts: int, seconds: float) -> bool:
        """Whether a request that failed so often, over so many seconds, is worth another try."""
        return error.retryable and attempts < self.tries and seconds < self.total_seconds

    def delay(self, error: ErrorInfo, attempt: int, rng: random.Random) -> float:
        """Seconds to wait before attempt number `attempt + 1`; never less than the server asked for."""
        jitter = rng.uniform(0, min(self.cap_seconds, self.base_seconds * 2**attempt))
        asked = error.retry_after
        if asked is None or not math.isfinite(asked) or asked <= 0:
            return jitter
        # Those who were told the same second must not all come back in it.
        return min(asked, self.longest_wait) + min(jitter, self.base_seconds)


@dataclass(slots=True)
class Limiter:
    """How many requests may be in flight: fewer after a rate limit, more after a clean round.

    The number at which the server refused is remembered and approached with care, so that most of the time is spent
    just below it; once it was passed without a refusal, it is forgotten.
    """

    ceiling: int
    limit: float = 0.0
    active: int = 0
    successes: int = 0
    shrunk_at: float = float("-inf")
    refused_at: int = 0
    """How many were allowed when the server last refused; 0 when that is long ago."""
    held: float = 0.0
    """How many were allowed before a key was refused; 0 where none was."""
    held_at: float = 0.0
    _waiting: "deque[asyncio.Future[None]]" = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.limit = self.limit or float(self.ceiling)

    async def acquire(self) -> None:
        """Waits for a place."""
        while self.active >= int(self.limit):
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                self._wake()  # the place this one was called for is another's
                raise
        self.active += 1

    def release(self) -> None:
        """Gives the place back."""
        self.active -= 1
        self._wake()

    def succeeded(self) -> None:
        """A clean answer: after a whole round of them, more may be in flight."""
        self.successes += 1
        if self.limit >= self.ceiling or self.held:
            return
        following = min(float(self.ceiling), self.limit + max(1.0, self.limit * GROW))
        just_below = float(self.refused_at - 1)
        if self.limit < just_below:
            following = min(following, just_below)
        is_probing = following > just_below > 0
        if self.successes >= self.limit * (CAUTIOUS_ROUNDS if is_probing else 1):
            self.successes = 0
            self.limit = following
            if is_probing:
                self.refused_at = 0
            self._wake()

    def hold(self, now: float) -> None:
        """A key was refused: one at a time until it is known whether it will be again."""
        if not self.held:
            self.held, self.held_at, self.limit = self.limit, now, 1.0

    def let_go(self, started: float) -> None:
        """The key was taken after all, if the request was sent since it was refused."""
        if started > self.held_at:
            self.limit, self.held = self.held, 0.0
            self._wake()

    def throttled(self, now: float, seconds: float = EPISODE_SECONDS) -> None:
        """The server said it is too much: one step down for each episode, not for each answer of it."""
        self.successes = 0
        if now - self.shrunk_at >= seconds and not self.held:
            self.shrunk_at = now
            self.refused_at = int(self.limit)
            self.limit = max(1.0, self.limit * SHRINK)

    def _wake(self) -> None:
        """Calls as many as there are places; who finds none left waits again."""
        free = int(self.limit) - self.active
        while self._waiting and free > 0:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                free -= 1


@dataclass(slots=True)
class Outage:
    """A server that is gone: everybody waits but one, who looks for it now and then.

    Requests do not spend their tries on it: a pause of minutes would otherwise fail all that were in flight.
    """

    window: int
    lost: int = 0
    """Failures since the last sign of life."""
    began: float = 0.0
    look_at: float = 0.0
    """When the next one looks."""
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_on(self) -> bool:
        """Whether the server is taken to be gone."""
        return self.lost >= max(3, min(MOST_LOST, self.window))

    def is_hopeless(self, now: float) -> bool:
        """Whether it has been gone for too long."""
        return self.is_on and now - self.began >= LONGEST_OUTAGE

    def note(self, error: ErrorInfo | None, now: float) -> None:
        """An answer, or a failure."""
        if error is None or error.kind not in GONE or not error.retryable:
            if self.lost:
                self.lost = 0
                self._over.set()
            return
        if not self.lost:
            self.began = now
            self._over.clear()
        self.lost += 1
        # Half of what it has lasted so far: looked for often at first, then four times a minute.
        self.look_at = now + max(1.0, min(LONGEST_PAUSE, (now - self.began) / 2))

    async def pass_by(self) -> None:
        """Waits while the server is gone; returns for whoever is to look for it, and for all once it is back."""
        clock = asyncio.get_running_loop().time
        while self.is_on and not self.is_hopeless(clock()):
            seconds = self.look_at - clock()
            if seconds <= 0:
                self.look_at = clock() + LONGEST_PAUSE  # this one looks, the others wait for what it finds
                return
            try:
                await asyncio.wait_for(self._over.wait(), seconds)
            except TimeoutError:
                continue


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

    async def ask(self, once: Callable[[], Awaitable[Output]]) -> Output:
        """What `once` answers, called again where that may help."""
        clock = asyncio.get_running_loop().time
        spent, attempts = 0.0, 0
        outage, limiter = self.outage, self.limiter
        while True:
            if outage.lost:
                await outage.pass_by()
            await limiter.acquire()
            started = clock()  # what a request waits for its turn is none of its own time
            try:
                output = await once()
            finally:
                limiter.release()
            error = output.error
            outage.note(error, clock())
            if error is None:
                limiter.succeeded()
                if limiter.held:
                    limiter.let_go(started)
                return output
            if error.kind == "rate_limit":
                limiter.throttled(clock())
            elif error.kind == "auth":
                limiter.hold(clock())
            spent += clock() - started
            attempts += not outage.is_on
            if outage.is_hopeless(clock()) or not self.policy.allows(error, attempts, spent):
                return output
            self._tell(error)
            if not outage.is_on:
                delay = self.policy.delay(error, attempts - 1, self._rng)
                spent += delay
                await asyncio.sleep(delay)

    def _tell(self, error: ErrorInfo) -> None:
        """Says why a run is slow, once for each reason."""
        reason = "outage" if self.outage.is_on else error.kind
        if reason in self._told:
            return
        self._told.add(reason)
        if reason == "outage":
            minutes = LONGEST_OUTAGE / 60
            self._say(f"the server seems to be gone, waiting up to {minutes:g} min for it: {error.message}")
        else:
            self._say(f"trying again after {error.kind}: {error.message}")

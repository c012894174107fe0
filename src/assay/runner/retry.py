"""Retrying: the only layer that does. What is worth another try, after how long, and how many at once.

Infrastructure errors that may pass are tried again with full-jitter exponential delays; a sample that produced an
output is never asked again. Rate limits shrink the number of requests in flight, clean rounds let it grow.
"""

import asyncio
import math
import random
from collections import deque
from dataclasses import dataclass, field

from ..core import ErrorInfo

SHRINK = 0.8
GROW = 0.05
EPISODE_SECONDS = 1.0
"""Rate limits that come so close together are one episode."""
CAUTIOUS_ROUNDS = 10
"""Clean rounds before the number that was too many is tried again."""


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
        if self.limit >= self.ceiling:
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

    def throttled(self, now: float, seconds: float = EPISODE_SECONDS) -> None:
        """The server said it is too much: one step down for each episode, not for each answer of it."""
        self.successes = 0
        if now - self.shrunk_at >= seconds:
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

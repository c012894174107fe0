"""Retrying: the only layer that does. What is worth another try, after how long, and how many at once.

Infrastructure errors that may pass are tried again with full-jitter exponential delays; a sample that produced an
output is never asked again. Rate limits shrink the number of requests in flight, clean rounds let it grow.
"""

import asyncio
import random
from collections import deque
from dataclasses import dataclass, field

from ..core import ErrorInfo


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long."""

    tries: int = 10
    base_seconds: float = 1.0
    cap_seconds: float = 60.0
    total_seconds: float = 1800.0
    longest_wait: float = 600.0
    """The most that a server's Retry-After is obeyed."""

    def delay(self, error: ErrorInfo, attempt: int, rng: random.Random) -> float:
        """Seconds to wait before attempt number `attempt + 1`."""
        if error.retry_after is not None:
            return min(error.retry_after, self.longest_wait)
        return rng.uniform(0, min(self.cap_seconds, self.base_seconds * 2**attempt))


@dataclass(slots=True)
class Limiter:
    """How many requests may be in flight: fewer after a rate limit, more after a clean round."""

    ceiling: int
    limit: float = 0.0
    active: int = 0
    successes: int = 0
    shrunk_at: float = float("-inf")
    _waiting: "deque[asyncio.Future[None]]" = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.limit = self.limit or float(self.ceiling)

    async def acquire(self) -> None:
        """Waits for a place."""
        while self.active >= int(self.limit):
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            await waiter
        self.active += 1

    def release(self) -> None:
        """Gives the place back."""
        self.active -= 1
        self._wake()

    def succeeded(self) -> None:
        """A clean answer: after a whole round of them, one more may be in flight."""
        self.successes += 1
        if self.successes >= self.limit and self.limit < self.ceiling:
            self.successes = 0
            self.limit = min(float(self.ceiling), self.limit + max(1.0, self.limit * 0.05))
            self._wake()

    def throttled(self, now: float, seconds: float = 1.0) -> None:
        """The server said it is too much: one step down for each episode, not for each answer of it."""
        self.successes = 0
        if now - self.shrunk_at >= seconds:
            self.shrunk_at = now
            self.limit = max(1.0, self.limit * 0.8)

    def _wake(self) -> None:
        while self._waiting and self.active < int(self.limit):
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

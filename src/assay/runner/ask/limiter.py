"""Limit the requests in flight at one server: fewer after a rate limit or a timeout, more after a clean round."""

import asyncio
from collections import deque
from dataclasses import dataclass, field

SHRINK = 0.8
GROW = 0.05
EPISODE_SECONDS = 1.0
"""Rate limits within this many seconds count as one episode."""
CAUTIOUS_ROUNDS = 10
"""Clean rounds before the limit that the server refused is tried again."""


@dataclass(slots=True)
class Limiter:
    """Adaptive limit of requests in flight: lower after a rate limit, higher after a clean round.

    The limit that the server refused is remembered and approached with care, so that most of the time is spent just
    below it. It is forgotten once it was exceeded without a refusal.
    """

    ceiling: int
    limit: float = 0.0
    active: int = 0
    successes: int = 0
    shrunk_at: float = float("-inf")
    refused_at: int = 0
    """The limit that the server last refused; 0 if that is long ago."""
    held: float = 0.0
    """The limit before a key was refused; 0 if no key was."""
    held_at: float = 0.0
    slowed_at: float = float("-inf")
    """The time of the first timeout in the latest round."""
    floor: float = 1.0
    """The lowest limit to which the timeouts of one round can lead."""
    _waiting: "deque[asyncio.Future[None]]" = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.limit = self.limit or float(self.ceiling)

    async def acquire(self) -> None:
        """Wait for a slot. Waiters are served in order of arrival."""
        if self.active < int(self.limit) and not self._waiting:
            self.active += 1
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
            elif not waiter.cancelled():
                self.release()  # the slot that this waiter was given goes to another
            raise

    def release(self) -> None:
        """Give the slot back."""
        self.active -= 1
        self._wake()

    def succeeded(self) -> None:
        """Count a clean answer. After a whole round of them, raise the limit."""
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
        """Allow one request at a time after a key was refused, until it is known whether the key works."""
        if not self.held:
            self.held, self.held_at, self.limit = self.limit, now, 1.0

    def let_go(self, started: float) -> None:
        """Restore the limit if a request that was sent after the refusal was answered, because then the key works."""
        if started > self.held_at:
            self.limit, self.held = self.held, 0.0
            self._wake()

    def throttled(self, now: float, seconds: float = EPISODE_SECONDS) -> None:
        """Lower the limit by one step after a rate limit, once for each episode."""
        self.successes = 0
        if now - self.shrunk_at >= seconds and not self.held:
            self.shrunk_at = now
            self.refused_at = int(self.limit)
            self.limit = max(1.0, self.limit * SHRINK)

    def slowed(self, started: float, now: float) -> None:
        """Lower the limit by one for each request that timed out, but not below half of a round.

        Requests that were sent before the first timeout belong to the same round, and cannot lower it further.
        """
        self.successes = 0
        if self.held:
            return
        if started >= self.slowed_at:
            self.slowed_at, self.floor = now, max(1.0, self.limit / 2)
        self.limit = max(min(self.floor, self.limit), self.limit - 1)

    def _wake(self) -> None:
        """Give free slots to waiting requests."""
        while self._waiting and self.active < int(self.limit):
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                self.active += 1

"""How many requests may be in flight at one server: fewer after a rate limit or a timeout, more after a clean round."""

import asyncio
from collections import deque
from dataclasses import dataclass, field

SHRINK = 0.8
GROW = 0.05
EPISODE_SECONDS = 1.0
"""Rate limits that come so close together are one episode."""
CAUTIOUS_ROUNDS = 10
"""Clean rounds before the number that was too many is tried again."""


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
    slowed_at: float = float("-inf")
    """When the first timeout of the latest round came."""
    floor: float = 1.0
    """How far the timeouts of one round can bring it down."""
    _waiting: "deque[asyncio.Future[None]]" = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.limit = self.limit or float(self.ceiling)

    async def acquire(self) -> None:
        """Waits for a place; who came first is called first."""
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
                self.release()  # the place this one was called for is another's
            raise

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

    def slowed(self, started: float, now: float) -> None:
        """No answer came in time: as many fewer as were not answered, but not below half of them at once.

        Those that were sent before the first of them timed out are of the same round, and say nothing new below half.
        """
        self.successes = 0
        if self.held:
            return
        if started >= self.slowed_at:
            self.slowed_at, self.floor = now, max(1.0, self.limit / 2)
        self.limit = max(min(self.floor, self.limit), self.limit - 1)

    def _wake(self) -> None:
        """Gives the places there are to those who wait for one."""
        while self._waiting and self.active < int(self.limit):
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                self.active += 1

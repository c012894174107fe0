"""Memory for responses that are being received: all connections of the process share one budget.

Responses may be large, and many arrive at once. A response that gets no memory is not read until others are done; the
full TCP window makes its server wait. If all others wait too, one response always continues, so that it ends.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

FREE_BYTES = 64 * 1024
"""Bytes that every response may use without asking."""
MOST_BYTES = 96 * 1024 * 1024
"""Bytes that all responses together may use beyond that. A single response may be larger."""


@dataclass(eq=False, slots=True)
class Share:
    """The memory of one response."""

    resume: Callable[[], None]
    """Called, in the event loop that asked, once there is memory."""
    loop: asyncio.AbstractEventLoop
    granted: int = 0
    requested: int = 0
    """The bytes it waits for; 0 if it does not wait."""


class Memory:
    """Grants memory to responses in the order in which they asked."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._used = 0
        self._moving = 0
        """The number of responses that hold memory and do not wait for more: they will release it."""
        self._first: Share | None = None
        """The response that may exceed the budget because all others wait; the same one until it is done."""
        self._waiting: deque[Share] = deque()
        self._lock = threading.Lock()

    def take(self, share: Share, count: int) -> bool:
        """Reserve `count` more bytes and return True, or return False and call `resume` once they are available."""
        with self._lock:
            self._moving -= share.granted > 0
            if share is self._first or (
                not self._waiting and self._used + count <= self._most
            ):
                self._grant(share, count)
                return True
            share.requested = count
            self._waiting.append(share)
            self._wake(asking=share)
            return not share.requested

    def give_back(self, share: Share) -> None:
        """Release everything that a response holds, even if it still waits for more."""
        with self._lock:
            if share.requested:
                self._waiting.remove(share)
                share.requested = 0
            else:
                self._moving -= share.granted > 0
            self._used -= share.granted
            share.granted = 0
            if share is self._first:
                self._first = None
            self._wake()

    def _grant(self, share: Share, count: int) -> None:
        self._used += count
        share.granted += count
        self._moving += 1

    def _wake(self, asking: Share | None = None) -> None:
        while self._waiting:
            share = self._waiting[0]
            if self._used + share.requested > self._most:
                if self._moving or self._first is not None:
                    return
                self._first = share
            self._waiting.popleft()
            count, share.requested = share.requested, 0
            self._grant(share, count)
            if share is not asking and not share.loop.is_closed():
                share.loop.call_soon_threadsafe(share.resume)


MEMORY = Memory()

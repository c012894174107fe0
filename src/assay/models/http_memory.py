"""Memory of answers on their way: all connections of the process share one budget.

An answer may be large and many come at once. One that finds no room is not read on until others are done: its server
waits, as a full TCP window makes it. Where nobody else moves, one always does, so that it ends.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

FREE_BYTES = 64 * 1024
"""What every answer may hold without asking."""
MOST_BYTES = 96 * 1024 * 1024
"""What all of them may hold beyond that; one answer alone may be larger."""


@dataclass(eq=False, slots=True)
class Share:
    """What one answer holds."""

    resume: Callable[[], None]
    """Called, in the event loop that asked, once there is room."""
    loop: asyncio.AbstractEventLoop
    held: int = 0
    wanted: int = 0
    """What it waits for; 0 where it does not wait."""


class Memory:
    """Gives room to answers in the order in which they asked for it."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._used = 0
        self._moving = 0
        """Answers that hold room and do not wait for more: they will give it back."""
        self._first: Share | None = None
        """The one that may go beyond what there is, because all others wait; always the same one until it is done."""
        self._waiting: deque[Share] = deque()
        self._lock = threading.Lock()

    def take(self, share: Share, count: int) -> bool:
        """Whether there is room for so many more bytes; else `resume` is called when there is."""
        with self._lock:
            self._moving -= share.held > 0
            if share is self._first or (
                not self._waiting and self._used + count <= self._most
            ):
                self._grant(share, count)
                return True
            share.wanted = count
            self._waiting.append(share)
            self._wake(asking=share)
            return not share.wanted

    def give_back(self, share: Share) -> None:
        """All that an answer held; it may still be waiting for more."""
        with self._lock:
            if share.wanted:
                self._waiting.remove(share)
                share.wanted = 0
            else:
                self._moving -= share.held > 0
            self._used -= share.held
            share.held = 0
            if share is self._first:
                self._first = None
            self._wake()

    def _grant(self, share: Share, count: int) -> None:
        self._used += count
        share.held += count
        self._moving += 1

    def _wake(self, asking: Share | None = None) -> None:
        while self._waiting:
            share = self._waiting[0]
            if self._used + share.wanted > self._most:
                if self._moving or self._first is not None:
                    return
                self._first = share
            self._waiting.popleft()
            count, share.wanted = share.wanted, 0
            self._grant(share, count)
            if share is not asking and not share.loop.is_closed():
                share.loop.call_soon_threadsafe(share.resume)


MEMORY = Memory()

"""An event loop whose clock jumps to the next timer: an hour of waiting takes no time."""

import asyncio
from collections.abc import Coroutine
from typing import Any


class VirtualLoop(asyncio.SelectorEventLoop):
    """Nothing may be waited for but timers, and sockets whose other end is served by the same loop."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0

    def time(self) -> float:
        return self._now

    def jump(self, seconds: float) -> None:
        """Lets time pass in which nothing is done, as in a process that was stopped."""
        self._now += seconds

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:
            self._process_events(self._selector.select(0))
            if not self._ready:
                self._now = max(self._now, self._scheduled[0].when())
        super()._run_once()


def run_virtually(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine returns, on a loop of its own."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(coroutine)
    finally:
        loop.close()

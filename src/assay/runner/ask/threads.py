"""Threads for blocking user code: models, loading, slow scorers.

They are daemons. A call in progress cannot be stopped, and a process that was told to end must not wait for it, as
the interpreter would for the threads of `concurrent.futures`.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeVar

from ...core.thread_exceptions import deliver_to

T = TypeVar("T")


class Threads:
    """A few threads that serve one event loop."""

    def __init__(self, count: int, name: str) -> None:
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads = [
            threading.Thread(
                target=self._serve,
                name=f"{name}-{n}",
                daemon=True,
            )
            for n in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def submit(
        self,
        function: Callable[..., T],
        *values: object,
    ) -> "asyncio.Future[T]":
        """Call a function in one of the threads. Return a future of the running loop."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        context = contextvars.copy_context()

        def call() -> None:
            try:
                value = context.run(function, *values)
            except BaseException as error:  # noqa: BLE001 - carried over to whoever waits
                deliver_to(loop, future, future.set_exception, error)
            else:
                deliver_to(loop, future, future.set_result, value)

        self._calls.put(call)
        return future

    def close(self) -> None:
        """Let the threads end once they are idle. Do not wait for them."""
        for _ in self._threads:
            self._calls.put(None)

    def _serve(self) -> None:
        while (call := self._calls.get()) is not None:
            call()


async def in_thread(
    function: Callable[..., T],
    *values: object,
) -> T:
    """Call a blocking function in a new thread, and return its result."""
    threads = Threads(1, "aside")
    future = threads.submit(function, *values)
    threads.close()
    return await future

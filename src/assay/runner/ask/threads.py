"""Threads for blocking user code: models, loading, slow scorers.

They are daemon threads. A call in progress cannot be stopped, and when the process is
told to end, it must not wait for the call. The interpreter waits for the threads of
`concurrent.futures`.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")


class Results:
    """Transfers the results of threads to one event loop.

    Waking a loop takes a system call, so all results that arrive before it wakes up
    share one call.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._lock = threading.Lock()
        self._waiting: list[tuple[asyncio.Future[Any], Any, BaseException | None]] = []

    def put(
        self,
        future: "asyncio.Future[T]",
        value: T | None,
        error: BaseException | None = None,
    ) -> None:
        """Set the result of a future, or its error.

        This happens in the future's event loop, when it next wakes up.
        """
        with self._lock:
            is_first = not self._waiting
            self._waiting.append((future, value, error))
        if is_first:
            with suppress(RuntimeError):  # the loop has ended
                self.loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        with self._lock:
            results = self._waiting
            self._waiting = []
        for future, value, error in results:
            if future.done():
                continue
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(value)


class Threads:
    """A few threads that serve one event loop at a time."""

    def __init__(self, count: int, name: str) -> None:
        self._results: Results | None = None
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
        results = self._results
        if results is None or results.loop is not loop:
            results = Results(loop)
            self._results = results

        def call() -> None:
            try:
                value = context.run(function, *values)
            except StopIteration as error:  # a future does not accept it
                ordinary_error = RuntimeError(repr(error))
                ordinary_error.__cause__ = error
                results.put(future, None, ordinary_error)
            except BaseException as error:  # noqa: BLE001 - carried over to whoever waits
                results.put(future, None, error)
            else:
                results.put(future, value)

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

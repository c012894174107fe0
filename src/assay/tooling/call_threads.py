"""Threads for the tools of users, which may block, hang or never return.

A function that exceeds its time is ended by an exception raised inside it, which ends a loop in Python. Code that
does not return to the interpreter, such as a sleep or a system call, is abandoned: its thread is a daemon that is
not used again.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

from ..core.thread_exceptions import raise_in

T = TypeVar("T")
MOST_IDLE = 8
"""Idle threads that are kept for the next call."""
MOST_BUSY = 64
"""Calls that run at the same time. Others wait."""


class CallOverrun(BaseException):
    """Raised inside a tool that exceeds its time. Not an `Exception`: a tool that catches those must not go on."""


class _Worker:
    """One thread, which runs one call after another."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._is_busy = False
        self._is_abandoned = False
        self._thread = threading.Thread(target=self._serve, name="tool", daemon=True)
        self._thread.start()

    def run(self, call: Callable[[], None]) -> None:
        """Run a call in this thread."""
        self._is_busy = True
        self._calls.put(call)

    def stop(self) -> None:
        """Let the thread end once it is idle."""
        self._calls.put(None)

    def abandon(self) -> None:
        """End the running call, if the interpreter can, and let the thread end after it."""
        with self._lock:
            self._is_abandoned = True
            if self._is_busy and self._thread.ident is not None:
                raise_in(self._thread.ident, CallOverrun)
        self.stop()

    def _serve(self) -> None:
        while not self._is_abandoned:
            call = self._calls.get()
            if call is None:
                return
            try:
                call()
            except CallOverrun:
                return
            with self._lock:
                self._is_busy = False


class CallThreads:
    """Runs blocking functions for one event loop, each within a time limit."""

    def __init__(self) -> None:
        self._idle: list[_Worker] = []
        self._slots: asyncio.Semaphore | None = None

    async def run(self, function: Callable[..., T], *values: Any) -> T:
        """Call a function in a thread and return its result. Cancelling this ends the function."""
        if self._slots is None:
            self._slots = asyncio.Semaphore(MOST_BUSY)
        async with self._slots:
            return await self._run(function, values)

    async def _run(self, function: Callable[..., T], values: tuple[Any, ...]) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        context = contextvars.copy_context()

        def call() -> None:
            try:
                value = context.run(function, *values)
            except CallOverrun:
                raise
            except BaseException as error:  # noqa: BLE001 - carried over to the caller
                carried = error
                if isinstance(error, StopIteration):
                    # A future refuses StopIteration.
                    carried = RuntimeError(repr(error))
                _hand_over(loop, future, future.set_exception, carried)
            else:
                _hand_over(loop, future, future.set_result, value)

        worker = self._idle.pop() if self._idle else _Worker()
        worker.run(call)
        try:
            value = await future
        except asyncio.CancelledError:
            worker.abandon()
            raise
        except BaseException:
            self._keep(worker)
            raise
        self._keep(worker)
        return value

    def _keep(self, worker: _Worker) -> None:
        """Keep a thread for the next call, unless there are enough."""
        if len(self._idle) < MOST_IDLE:
            self._idle.append(worker)
        else:
            worker.stop()

    def close(self) -> None:
        """Let the idle threads end."""
        while self._idle:
            self._idle.pop().stop()


def _hand_over(
    loop: asyncio.AbstractEventLoop,
    future: "asyncio.Future[Any]",
    settle: Callable[[Any], None],
    value: Any,
) -> None:
    """Set the result of a future from another thread."""

    def deliver() -> None:
        if not future.done():
            settle(value)

    try:
        loop.call_soon_threadsafe(deliver)
    except RuntimeError:
        return  # the loop has ended

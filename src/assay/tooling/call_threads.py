"""Threads for the tools of users, which may block, hang or never return.

A function whose time is over is ended with an exception raised inside it, which ends a loop in Python. Code that does
not come back to the interpreter, such as a sleep or a system call, is abandoned: its thread is a daemon that is not
used again.

`async` tools run in an event loop in a thread of their own, so that one that blocks does not stop the run.
"""

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable
from queue import SimpleQueue
from typing import Any, TypeVar

from ..core.thread_exceptions import raise_in

T = TypeVar("T")
MOST_IDLE = 8
"""Idle threads that are kept for the next call."""
MOST_BUSY = 64
"""Calls that run at the same time. Others wait."""


GRACE_SECONDS = 1.0
"""Seconds that an `async` tool may take to end after it was cancelled."""


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

    async def run(self, function: Callable[..., T], *values: object) -> T:
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
                _hand_over(loop, future, future.set_exception, _carried(error))
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


class CallLoop:
    """Runs coroutines in an event loop of its own, each within the time limit of its caller."""

    def __init__(self) -> None:
        self._lane: _Lane | None = None

    async def run(self, make: Callable[[], Awaitable[T]]) -> T:
        """Await what a function returns. Cancelling this cancels that; it is not waited for."""
        if self._lane is None:
            self._lane = _Lane()
        lane = self._lane
        future = asyncio.run_coroutine_threadsafe(_awaited(make), lane.loop)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            self._check_later(lane, self._interrupt)
            raise

    def _check_later(
        self,
        lane: "_Lane",
        if_blocked: "Callable[[_Lane], None]",
    ) -> None:
        """Call a function with the lane if it runs nothing else within a while, because something blocks it."""
        is_alive = threading.Event()
        lane.loop.call_soon_threadsafe(is_alive.set)

        def check() -> None:
            if not is_alive.is_set():
                if_blocked(lane)

        asyncio.get_running_loop().call_later(GRACE_SECONDS, check)

    def _interrupt(self, lane: "_Lane") -> None:
        """End the code that blocks a lane, if the interpreter can."""
        if lane.thread.ident is not None:
            raise_in(lane.thread.ident, CallOverrun)
        self._check_later(lane, self._leave)

    def _leave(self, lane: "_Lane") -> None:
        """Use another lane from now on: this one is blocked for good."""
        lane.stop()
        if self._lane is lane:
            self._lane = None

    def close(self) -> None:
        """Let the loop end."""
        if self._lane is not None:
            self._lane.stop()
            self._lane = None


class _Lane:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(
            target=self._serve,
            name="async tools",
            daemon=True,
        )
        self.thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        is_interrupted = True
        while is_interrupted:
            try:
                self.loop.run_forever()
                is_interrupted = False
            except CallOverrun:
                continue

    def stop(self) -> None:
        """Let the loop end if it is idle. A coroutine that does not end keeps its loop, and ends with the process."""
        self.loop.call_soon_threadsafe(self._stop_if_idle)

    def _stop_if_idle(self) -> None:
        if not asyncio.all_tasks(self.loop):
            self.loop.stop()


async def _awaited(make: Callable[[], Awaitable[T]]) -> T:
    """Await what a function returns. What would end the loop is raised as an ordinary error."""
    try:
        return await make()
    except Exception:
        raise
    except BaseException as error:
        task = asyncio.current_task()
        if isinstance(error, CallOverrun) or (task and task.cancelling()):
            raise
        raise RuntimeError(repr(error)) from error


def _carried(error: BaseException) -> BaseException:
    """Return the error of a tool as one that a future takes, and that ends nothing but the call."""
    is_plain = isinstance(error, (Exception, SystemExit))
    if is_plain and not isinstance(error, StopIteration):
        return error
    return RuntimeError(repr(error))


def _hand_over(
    loop: asyncio.AbstractEventLoop,
    future: "asyncio.Future[Any]",
    settle: Callable[[Any], None],
    value: object,
) -> None:
    """Set the result of a future from another thread."""

    def deliver() -> None:
        if not future.done():
            settle(value)

    try:
        loop.call_soon_threadsafe(deliver)
    except RuntimeError:
        return  # the loop has ended

"""Raise an exception in another thread, or set the result of a future that belongs to another thread's event loop.

A thread receives the exception when it next runs Python code. Code that waits inside a system call receives it when
the call returns.
"""

import asyncio
import ctypes
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any


class _Nothing(BaseException):
    """A harmless exception. `_clear_flag` raises and catches it in a temporary thread."""


def raise_in(
    thread: int,
    error: type[BaseException],
) -> None:
    """Raise an exception in the thread with this `ident`."""
    _set_exception(thread, error)
    _clear_flag()


def take_back(thread: int) -> None:
    """Withdraw an exception that a thread has not received yet."""
    _set_exception(thread, None)
    _clear_flag()


def _clear_flag() -> None:
    """Clear the interpreter's flag that some thread has a pending exception.

    The flag stays set while the target thread is blocked. Meanwhile, Python 3.11 never
    ends a loop that a debugger or a coverage tool traces. Only a thread that receives
    such an exception clears the flag, so this function raises one in a temporary
    thread. No pending exception is lost, because a thread checks for one whenever it
    releases the interpreter lock.
    """
    thread = threading.Thread(target=_raise_and_catch)
    thread.start()
    thread.join()


def _raise_and_catch() -> None:
    try:
        _set_exception(threading.get_ident(), _Nothing)
        while True:
            pass
    except _Nothing:
        return


def _set_exception(
    thread: int,
    error: type[BaseException] | None,
) -> None:
    if error is None:
        value = None
    else:
        value = ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), value)


def deliver_to(
    loop: asyncio.AbstractEventLoop,
    future: "asyncio.Future[Any]",
    settle: Callable[[Any], None],
    value: object,
) -> None:
    """Set the result of a future that belongs to another event loop. `settle` is called in that loop."""

    def deliver() -> None:
        if not future.done():
            settle(value)

    with suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(deliver)

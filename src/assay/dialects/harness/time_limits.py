"""A time limit for Python code that may never end, such as templates, or helper modules during import.

A watching thread raises an exception in a thread that exceeds its limit. Code that waits inside a system call is
interrupted when the call returns.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ...core import UsageError
from ...core.thread_exceptions import raise_in, take_back

CHECKED_EVERY = 0.5
"""Seconds between two checks."""


class _TookTooLong(BaseException):
    """Raised in a thread that exceeds its limit. Not an `Exception`, so that a task's code does not catch it."""


@dataclass(eq=False, slots=True)
class _Running:
    thread: int
    deadline: float
    is_stopped: bool = False


class _Watch:
    """The blocks of code that have a limit, and the thread that watches them."""

    def __init__(self) -> None:
        self._running: list[_Running] = []
        self._lock = threading.Lock()
        self._is_watching = False

    def add(self, seconds: float) -> _Running:
        """Watch the current thread from now on."""
        running = _Running(threading.get_ident(), time.monotonic() + seconds)
        with self._lock:
            self._running.append(running)
            if not self._is_watching:
                self._is_watching = True
                threading.Thread(
                    target=self._look,
                    daemon=True,
                ).start()
        return running

    def remove(self, running: _Running) -> None:
        """Stop watching, and withdraw an exception that was not raised yet."""
        with self._lock:
            self._running.remove(running)
            if running.is_stopped:
                take_back(running.thread)

    def _look(self) -> None:
        while True:
            time.sleep(CHECKED_EVERY)
            with self._lock:
                if not self._running:
                    self._is_watching = False
                    return
                for running in self._running:
                    is_late = time.monotonic() > running.deadline
                    if is_late and not running.is_stopped:
                        running.is_stopped = True
                        raise_in(running.thread, _TookTooLong)


_watch = _Watch()


@contextmanager
def limited(
    seconds: float,
    what: str,
    where: str,
    fix: str,
) -> Iterator[None]:
    """Raise `UsageError` if the block takes longer than `seconds`."""
    running = _watch.add(seconds)
    try:
        yield
    except _TookTooLong:
        raise UsageError(
            f"{what} takes longer than {seconds:g} s",
            where=where,
            fix=fix,
        ) from None
    finally:
        _watch.remove(running)

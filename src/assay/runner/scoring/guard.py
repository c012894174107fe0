"""A guard for scorers: one that computes for too long on one answer ends that sample's verdict, not the run.

Scorers that compute are called on the main thread, where a signal interrupts even a regular expression that backtracks.
One timer ticks by CPU time for the whole run, so that a verdict costs two assignments and no system call. A tick that
finds the same verdict as an earlier one, after `seconds` of the thread's CPU time, raises `ScorerOverrun` in it.

Off the main thread (a notebook, a scorer that declares itself `blocking`) there is no guard: no signal arrives there.
"""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

TICKS = 8
"""Ticks within the allowed time: how late the guard may be is one of them."""


class ScorerOverrun(BaseException):
    """Raised inside a scorer that ran away. Not an `Exception`: a scorer that catches those must not go on."""


class Guard:
    """What is being scored now, for the timer to look at."""

    __slots__ = ("_began", "_seen", "is_scoring", "seconds", "serial", "thread")

    def __init__(self) -> None:
        self.seconds: float = 0.0
        self.serial = 0
        """The number of the verdict at work; each has its own."""
        self.is_scoring = False
        self.thread = 0
        """The thread whose verdicts are watched; 0 while none is."""
        self._seen = 0
        self._began = 0.0

    def tick(self, *_signal: Any) -> None:
        """Looks whether the same verdict is at work as before; raises where it has used up its time."""
        if not self.is_scoring:
            return
        now = time.thread_time()
        if self._seen != self.serial:
            self._seen, self._began = self.serial, now
        elif now - self._began >= self.seconds:
            self._began = now
            raise ScorerOverrun

    @contextlib.contextmanager
    def watching(self, seconds: float) -> Iterator[None]:
        """Ticks while the block runs; 0 seconds, or another thread than the main one, is no guard."""
        if seconds <= 0 or threading.current_thread() is not threading.main_thread():
            yield
            return
        self.seconds, self.thread = seconds, threading.get_ident()
        before = signal.signal(signal.SIGVTALRM, self.tick)
        # A library that waits in a system call goes on with it after a tick.
        signal.siginterrupt(signal.SIGVTALRM, False)
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds / TICKS, seconds / TICKS)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(
                signal.SIGVTALRM, before if before is not None else signal.SIG_DFL
            )
            self.is_scoring, self.thread = False, 0


GUARD = Guard()
"""One for the process, as there is one main thread."""

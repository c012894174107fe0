"""Limit the CPU time of scorers: one that computes too long on an answer loses that score, and the run continues.

Scorers that compute are called on the main thread, where a signal can interrupt even a
regular expression that backtracks. One timer for the whole run ticks by CPU time, so
that each scorer call costs only two assignments and no system call. If a tick finds the
same call as an earlier tick, and the thread has used `seconds` of CPU time since then,
it raises `ScorerOverrun` in the scorer.

Other threads (a notebook, a `blocking` scorer) are not limited, because signals do not
reach them.
"""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator

TICKS = 8
"""Number of timer ticks per time limit. A scorer is interrupted at most one tick late."""


class ScorerOverrun(BaseException):
    """Raised inside a scorer that takes too long. Not an `Exception`, so that a scorer
    cannot catch it by accident.
    """


class Guard:
    """Knows which scorer call is in progress. Its timer ends the call if it takes too long."""

    __slots__ = ("_began", "_seen", "is_scoring", "seconds", "serial", "thread")

    def __init__(self) -> None:
        self.seconds: float = 0.0
        self.serial = 0
        """Number of scorer calls so far, which identifies the current call."""
        self.is_scoring = False
        self.thread = 0
        """Id of the thread whose scorers are watched; 0 if none is."""
        self._seen = 0
        self._began = 0.0

    def tick(self, *_signal: object) -> None:
        """Timer callback: raise `ScorerOverrun` if the current scorer call has used more CPU time than allowed."""
        if not self.is_scoring:
            return
        now = time.thread_time()
        if self._seen != self.serial:
            self._seen = self.serial
            self._began = now
        elif now - self._began >= self.seconds:
            self._began = now
            raise ScorerOverrun

    @contextlib.contextmanager
    def watching(self, seconds: float) -> Iterator[None]:
        """Watch scorer calls during the block. With 0 seconds, or off the main thread, nothing is watched."""
        if seconds <= 0 or threading.current_thread() is not threading.main_thread():
            yield
            return
        self.seconds = seconds
        self.thread = threading.get_ident()
        before = signal.signal(signal.SIGVTALRM, self.tick)
        # A system call of a library continues after a tick.
        signal.siginterrupt(signal.SIGVTALRM, False)
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds / TICKS, seconds / TICKS)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(
                signal.SIGVTALRM, before if before is not None else signal.SIG_DFL
            )
            self.is_scoring = False
            self.thread = 0


GUARD = Guard()
"""The guard of this process. There is only one, because it watches the main thread."""

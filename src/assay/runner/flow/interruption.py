"""Interruption by Ctrl-C, SIGTERM or SIGHUP, even while user code blocks the event loop."""

import asyncio
import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

from ..ask.schedule import DRAIN_SECONDS

ANSWERS_WITHIN = 1.0
"""If the event loop does not react within this many seconds, it counts as blocked by a scorer or other user code."""


@contextlib.contextmanager
def interruptible(
    stop: Callable[[], None],
    stop_at_once: Callable[[], None],
) -> Iterator[None]:
    """Call `stop` at the first signal. Cancel the run at the second signal, or ten seconds later.

    Code that still blocks the event loop then, such as a slow scorer, is ended by an
    exception.
    """
    interruption = _Interruption(stop, stop_at_once)
    interruption.begin()
    try:
        yield
    except asyncio.CancelledError:
        if not interruption.signals:
            raise
    finally:
        interruption.end()


class _Interruption:
    """Counts the received signals. A thread watches whether the event loop handles them."""

    def __init__(
        self,
        stop: Callable[[], None],
        stop_at_once: Callable[[], None],
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._run = task
        self._loop = asyncio.get_running_loop()
        self._stop = stop
        self._stop_at_once = stop_at_once
        self.signals = 0
        """Number of signals that were handled."""
        self._sent = 0
        """Number of signals that arrived."""
        self._is_blocked = False
        self._ended = threading.Event()
        self._installed: list[signal.Signals] = []

    def begin(self) -> None:
        """Start handling the signals."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            try:
                before = signal.getsignal(number)
                if number == signal.SIGHUP and before is signal.SIG_IGN:
                    continue  # under nohup, a closed terminal must not stop the run
                self._loop.add_signal_handler(number, self._interrupt)
                # The event loop still receives the signal. This handler is also called while it waits.
                signal.signal(number, self._break_in)
            except (NotImplementedError, RuntimeError, ValueError):
                continue  # not the main thread, for example in a notebook, which handles interrupts itself
            self._installed.append(number)

    def end(self) -> None:
        """Restore Python's handling of the signals."""
        self._ended.set()
        for number in self._installed:
            self._loop.remove_signal_handler(number)

    def _interrupt(self) -> None:
        """Stop the run after a signal. The event loop calls this; if it is blocked, the signal handler does."""
        self.signals += 1
        if self.signals > 1:
            self._stop_at_once()
            self._run.cancel()
            return
        self._stop()
        self._loop.call_later(DRAIN_SECONDS, self._run.cancel)

    def _break_in(
        self,
        number: int,
        _frame: FrameType | None,
    ) -> None:
        """Handle a signal in the main thread.

        If user code blocks the event loop there, raise an exception in this code.
        """
        if not self._is_blocked:
            self._sent += 1
            if self._sent == 1:
                threading.Thread(
                    target=self._watch,
                    args=(number,),
                    daemon=True,
                ).start()
            return
        self._is_blocked = False
        blocking = asyncio.current_task(self._loop)
        if blocking is None:
            return  # the event loop has just become free
        if not self.signals:
            self._interrupt()
        self._stop_at_once()
        if blocking is not self._run:
            self._run.cancel()
        raise asyncio.CancelledError

    def _watch(self, number: int) -> None:
        """Interrupt a blocked event loop at the second signal, or once the time for stopping is over."""
        began = time.monotonic()
        while not self._ended.wait(ANSWERS_WITHIN):
            is_late = time.monotonic() - began > DRAIN_SECONDS
            if (is_late or self._sent > 1) and not self._loop_answers():
                self._is_blocked = True
                signal.pthread_kill(threading.main_thread().ident or 0, number)

    def _loop_answers(self) -> bool:
        """Return True if the event loop runs a callback within `ANSWERS_WITHIN` seconds."""
        answered = threading.Event()
        try:
            self._loop.call_soon_threadsafe(answered.set)
        except RuntimeError:
            return True  # it is closed
        return answered.wait(ANSWERS_WITHIN)

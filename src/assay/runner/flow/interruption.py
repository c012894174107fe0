"""Interruption: what Ctrl-C and a polite kill do to a run."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator

from ..ask.schedule import DRAIN_SECONDS


@contextlib.contextmanager
def interruptible(
    stop: Callable[[], None], stop_at_once: Callable[[], None]
) -> Iterator[None]:
    """First Ctrl-C: no new requests, what is in flight comes back; second, or ten seconds later: out at once."""
    loop = asyncio.get_running_loop()
    current = asyncio.current_task()
    assert current is not None
    is_stopped = False

    def interrupt() -> None:
        nonlocal is_stopped
        if is_stopped:
            stop_at_once()
            current.cancel()
            return
        is_stopped = True
        stop()
        loop.call_later(DRAIN_SECONDS, current.cancel)

    installed = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        try:
            if number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
                continue  # under nohup a closed terminal is no reason to stop
            loop.add_signal_handler(number, interrupt)
            installed.append(number)
        except (NotImplementedError, RuntimeError, ValueError):
            continue  # not the main thread, as in a notebook: the notebook has its own way to interrupt
    try:
        yield
    except asyncio.CancelledError:
        if not is_stopped:
            raise
    finally:
        for number in installed:
            loop.remove_signal_handler(number)

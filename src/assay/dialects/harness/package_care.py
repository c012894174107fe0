"""Patch a library after its import: less output, cached templates, and time limits.

A separate thread watches code that has a time limit, and raises an exception in the
thread that exceeds it. Code that waits inside a system call is interrupted when the
call returns.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ...core import UsageError
from ...core.thread_exceptions import raise_in, take_back

if TYPE_CHECKING:
    from jinja2 import Environment, Template

LARGEST_TEMPLATE_CACHE = 4096
LONGEST_RENDERING = 10.0
"""Time limit in seconds for rendering one template with one row."""
LONGEST_IMPORT = 120.0
"""Time limit in seconds for importing one helper module of a task. Some import torch, or read word lists."""


def quiet_datasets() -> None:
    """Turn off progress bars and warnings of `datasets` and `huggingface_hub`."""
    import datasets

    datasets.disable_progress_bars()
    datasets.logging.set_verbosity_error()
    # Each failed attempt to reach the hub would print a line. The final error is enough.
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)


def cache_templates(environment: "Environment") -> None:
    """Compile each Jinja template once, with a time limit. The libraries compile it again for every document."""
    from jinja2.sandbox import safe_range

    compile_template: Callable[..., Template] = type(environment).from_string

    @lru_cache(maxsize=LARGEST_TEMPLATE_CACHE)
    def compiled(source: str) -> "Template":
        return compile_template(environment, source)

    class LimitedTemplate(environment.template_class):  # type: ignore[misc, name-defined]
        """A template with a time limit for rendering."""

        def render(self, *args: object, **kwargs: object) -> str:
            with limited(LONGEST_RENDERING, "a template", "", "shorten its loops"):
                return str(super().render(*args, **kwargs))

    environment.template_class = LimitedTemplate
    environment.globals["range"] = safe_range

    def from_string(
        source: object,
        *args: object,
        **kwargs: object,
    ) -> "Template":
        if args or kwargs or not isinstance(source, str):
            return compile_template(environment, source, *args, **kwargs)
        return compiled(source)

    environment.from_string = from_string  # type: ignore[method-assign]


@contextmanager
def limited_import(file: Path) -> Iterator[None]:
    """Raise if the import of a helper module inside the block exceeds the time limit for imports."""
    fix = "move what it computes into a function"
    with limited(LONGEST_IMPORT, "importing it", str(file), fix):
        yield


CHECKED_EVERY = 0.5
"""Seconds between two checks of the time limits."""


class _TookTooLong(BaseException):
    """Raised in a thread that exceeds its limit. Not an `Exception`, so that a task's `except` does not catch it."""


@dataclass(eq=False, slots=True)
class _Running:
    thread: int
    deadline: float
    is_stopped: bool = False


class _Watch:
    """The thread that enforces time limits, and the list of code blocks that it watches."""

    def __init__(self) -> None:
        self._running: list[_Running] = []
        self._lock = threading.Lock()
        self._is_watching = False

    def add(self, seconds: float) -> _Running:
        """Start a time limit of `seconds` for a block of code in the current thread."""
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
        """Stop watching a block of code, and cancel a timeout exception that has not been delivered yet."""
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

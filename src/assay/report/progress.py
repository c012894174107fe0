"""Progress of a run: a live bar or occasional lines, with the speed and the remaining time."""

import sys
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from .grid import printable

if TYPE_CHECKING:
    from rich.console import Console

WINDOW_SECONDS = 30.0
"""Seconds over which tokens per second are measured."""
SURE_SECONDS = 2.0
"""Seconds after which an estimate of the remaining time is shown."""


class WatchedMeter(Protocol):
    """The progress of a model within its current batches: requests begun and ended, and tokens generated."""

    @property
    def begun(self) -> float: ...
    @property
    def ended(self) -> float: ...
    @property
    def tokens(self) -> float: ...


class WatchedTask(Protocol):
    """The counters of one task with one model that a progress display shows."""

    @property
    def task(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def expected(self) -> int | None: ...
    @property
    def done(self) -> int: ...
    @property
    def reused(self) -> int: ...
    @property
    def restarts(self) -> int: ...
    @property
    def meter(self) -> WatchedMeter: ...
    @property
    def outcomes(self) -> Mapping[str, int]: ...
    @property
    def tokens(self) -> Mapping[str, float]: ...


class Pace:
    """The speed of one task with one model. Callers pass the current time, so that tests can control it."""

    def __init__(self) -> None:
        self._started: float | None = None
        self._ended_before = 0.0
        self._tokens: deque[tuple[float, float]] = deque()

    def note(self, cell: WatchedTask, now: float) -> str:
        """Return a text such as `8 begun, 340 tokens/s, about 4 min left`. Unknown parts are left out."""
        if cell.state != "running":
            return ""
        ended = self._count_ended(cell)
        if self._started is None:
            self._started = now
            self._ended_before = ended
        parts = []
        answered = cell.done - cell.reused
        waiting = cell.meter.begun - answered
        if waiting > 0:
            parts.append(f"{waiting:,} begun")
        speed = self._tokens_a_second(cell, now)
        if speed:
            parts.append(f"{speed:,.0f} tokens/s")
        seconds = self._seconds_left(cell, ended, now)
        if seconds is not None:
            parts.append(f"about {duration(seconds)} left")
        return ", ".join(parts)

    def _count_ended(self, cell: WatchedTask) -> float:
        """Return the number of finished samples. An unfinished sample counts as a fraction."""
        answered = float(cell.done - cell.reused)
        ended = float(cell.meter.ended)
        begun = float(cell.meter.begun)
        return max(answered, min(ended, begun))

    def _tokens_a_second(self, cell: WatchedTask, now: float) -> float:
        """Return the tokens per second within the window; 0 if the window is too short."""
        counted = cell.meter.tokens
        if not counted:
            input_tokens = cell.tokens.get("input_tokens", 0)
            output_tokens = cell.tokens.get("output_tokens", 0)
            counted = input_tokens + output_tokens
        self._tokens.append((now, counted))
        while len(self._tokens) > 2 and self._tokens[1][0] <= now - WINDOW_SECONDS:
            self._tokens.popleft()
        since, before = self._tokens[0]
        seconds = now - since
        if seconds < SURE_SECONDS:
            return 0.0
        rate: float = (counted - before) / seconds
        return rate

    def _seconds_left(
        self,
        cell: WatchedTask,
        ended: float,
        now: float,
    ) -> float | None:
        """Return the estimated seconds until the last sample, from the speed so far; None if it is too early."""
        assert self._started is not None
        if cell.expected is None:
            return None
        worked = ended - self._ended_before
        seconds = now - self._started
        if worked <= 0 or seconds < SURE_SECONDS:
            return None
        remaining = float(cell.expected - cell.reused) - ended
        return max(0.0, remaining) * seconds / worked


def duration(seconds: float) -> str:
    """Return a duration in words: 40 s, 4 min, 2 h 10 min."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 10:
        return f"{hours} h {minutes} min"
    return f"{round(seconds / 3600)} h"


SECONDS_BETWEEN_LINES = 30.0


class _Watching:
    """Base of the progress displays: the observed counters, and the notes printed so far."""

    def __init__(self) -> None:
        self._cells: Sequence[WatchedTask] = []
        self._paces: list[Pace] = []
        self.said: set[str] = set()

    def start(self, cells: Sequence[WatchedTask]) -> None:
        """Start to observe the given counters."""
        self._cells = cells
        self._paces = [Pace() for _ in cells]


class LiveProgress(_Watching):
    """A progress bar for each task and model, drawn by rich."""

    def __init__(self, console: "Console") -> None:
        super().__init__()
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.table import Column

        # On a narrow terminal only the note is shortened; the bar keeps its width.
        label = Column(
            no_wrap=True,
            overflow="ellipsis",
            max_width=max(12, console.width // 3),
        )
        note = Column(
            no_wrap=True,
            overflow="ellipsis",
            ratio=1,
        )
        self._bars = Progress(
            TextColumn("{task.description}", table_column=label),
            BarColumn(bar_width=min(40, max(8, console.width // 5))),
            MofNCompleteColumn(table_column=Column(no_wrap=True)),
            TextColumn("{task.fields[note]}", table_column=note),
            console=console,
            refresh_per_second=5,
            expand=True,
        )
        self._ids: list[Any] = []

    def start(self, cells: Sequence[WatchedTask]) -> None:
        """Draw the bars."""
        super().start(cells)
        for cell in cells:
            self._ids.append(
                self._bars.add_task(
                    _label(cell),
                    total=cell.expected,
                    note="",
                    start=False,
                )
            )
        self._bars.start()

    def update(self) -> None:
        """Update the bars."""
        now = time.monotonic()
        for bar, cell, pace in zip(self._ids, self._cells, self._paces, strict=True):
            if cell.state != "waiting":
                self._bars.start_task(bar)
            total = cell.expected
            if cell.state == "finished" and total is None:
                total = cell.done
            self._bars.update(
                bar,
                completed=cell.done,
                total=total,
                note=_note(cell, pace.note(cell, now)),
            )

    def say(self, line: str) -> None:
        """Print a line above the bars."""
        self.said.add(line)
        self._bars.console.print(
            printable(line),
            markup=False,
            highlight=False,
        )

    def stop(self) -> None:
        """Stop updating. The bars stay on the screen."""
        self.update()
        self._bars.stop()


class LineProgress(_Watching):
    """Occasional progress lines, for logs."""

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__()
        self._stream = stream or sys.stderr
        self._last = time.monotonic()

    def update(self) -> None:
        """Print a line every half minute."""
        now = time.monotonic()
        notes = []
        for cell, pace in zip(self._cells, self._paces, strict=True):
            notes.append(pace.note(cell, now))
        if now - self._last >= SECONDS_BETWEEN_LINES:
            self._last = now
            self._report(notes)

    def say(self, line: str) -> None:
        """Print a line."""
        self.said.add(line)
        print(printable(line), file=self._stream)

    def stop(self) -> None:
        """Do nothing, because the results table follows."""

    def _report(self, paces: list[str]) -> None:
        for cell, pace in zip(self._cells, paces, strict=True):
            label = _label(cell)
            if cell.state == "loading":
                self.say(f"{label}: loading the model")
            elif cell.state == "running":
                expected = cell.expected or "?"
                line = f"{label}: {cell.done} / {expected}"
                note = _note(cell, pace)
                if note:
                    line += f", {note}"
                self.say(line)


def _replicas(
    states: Mapping[int, str],
    restarts: int,
) -> str:
    """Return the states of a model's replicas as text, such as `2 of 4 replicas, 1 starting, 1 lost`."""
    counts = Counter(states.values())
    up = counts["ready"] + counts["working"]
    parts = [f"{up} of {len(states)} replicas"]
    for state in ("starting", "lost"):
        if counts[state]:
            parts.append(f"{counts[state]} {state}")
    if restarts:
        parts.append(f"{restarts} restarted")
    return ", ".join(parts)


def _label(cell: WatchedTask) -> str:
    return f"{cell.task} · {cell.model}"


def _note(cell: WatchedTask, pace: str) -> str:
    parts = []
    for name, count in sorted(cell.outcomes.items()):
        if name != "scored":
            parts.append(f"{count} {name}")
    if cell.reused:
        parts.append(f"{cell.reused} kept")
    replicas = getattr(cell, "replicas", None)
    if replicas:
        parts.append(_replicas(replicas, cell.restarts))
    batches = getattr(cell, "batches", "")
    if batches:
        parts.append(batches)
    if pace:
        parts.append(pace)
    return ", ".join(parts)

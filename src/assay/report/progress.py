"""Progress: a live bar on a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Mapping
from typing import Any, TextIO

from .grid import printable
from .pace import Pace

SECONDS_BETWEEN_LINES = 30.0


class _Watching:
    """What is watched, and what was said."""

    def __init__(self) -> None:
        self._cells: list[Any] = []
        self._paces: list[Pace] = []
        self.said: set[str] = set()

    def start(self, cells: list[Any]) -> None:
        """Takes what to report on."""
        self._cells = cells
        self._paces = [Pace() for _ in cells]


class LiveProgress(_Watching):
    """A bar for each task and model, drawn by rich."""

    def __init__(self, console: Any) -> None:
        super().__init__()
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            console=console,
            refresh_per_second=5,
        )
        self._ids: list[Any] = []

    def start(self, cells: list[Any]) -> None:
        """Draws the bars."""
        super().start(cells)
        for cell in cells:
            self._ids.append(
                self._bars.add_task(
                    _label(cell), total=cell.expected, note="", start=False
                )
            )
        self._bars.start()

    def update(self) -> None:
        """Brings the bars up to date."""
        now = time.monotonic()
        for bar, cell, pace in zip(self._ids, self._cells, self._paces, strict=True):
            if cell.state != "waiting":
                self._bars.start_task(bar)
            total = cell.done if cell.state == "finished" else cell.expected
            self._bars.update(
                bar,
                completed=cell.done,
                total=total,
                note=_note(cell, pace.note(cell, now)),
            )

    def say(self, line: str) -> None:
        """A line above the bars."""
        self.said.add(line)
        self._bars.console.print(printable(line), markup=False, highlight=False)

    def stop(self) -> None:
        """Leaves the bars as they are."""
        self.update()
        self._bars.stop()


class LineProgress(_Watching):
    """A line now and then, for logs."""

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__()
        self._stream = stream or sys.stderr
        self._last = time.monotonic()

    def update(self) -> None:
        """A line every half minute."""
        now = time.monotonic()
        notes = [
            pace.note(cell, now)
            for cell, pace in zip(self._cells, self._paces, strict=True)
        ]
        if now - self._last >= SECONDS_BETWEEN_LINES:
            self._last = now
            self._report(notes)

    def say(self, line: str) -> None:
        """The line itself."""
        self.said.add(line)
        print(printable(line), file=self._stream)

    def stop(self) -> None:
        """Nothing: the table follows."""

    def _report(self, paces: list[str]) -> None:
        for cell, pace in zip(self._cells, paces, strict=True):
            if cell.state == "loading":
                self.say(f"{_label(cell)}: loading the model")
            elif cell.state == "running":
                note = _note(cell, pace)
                self.say(
                    f"{_label(cell)}: {cell.done} / {cell.expected or '?'}{', ' if note else ''}{note}"
                )


def _replicas(states: Mapping[int, str], restarts: int) -> str:
    """How many copies of the model are at work; those that start wait for a process, a node or their weights."""
    up = sum(state in ("ready", "working") for state in states.values())
    parts = [f"{up} of {len(states)} replicas"]
    for state in ("starting", "lost"):
        if count := sum(found == state for found in states.values()):
            parts.append(f"{count} {state}")
    if restarts:
        parts.append(f"{restarts} restarted")
    return ", ".join(parts)


def _label(cell: Any) -> str:
    return f"{cell.task} · {cell.model}"


def _note(cell: Any, pace: str) -> str:
    failures = {
        name: count for name, count in cell.outcomes.items() if name != "scored"
    }
    parts = [f"{count} {name}" for name, count in sorted(failures.items())]
    if cell.reused:
        parts.append(f"{cell.reused} kept")
    if replicas := getattr(cell, "replicas", None):
        parts.append(_replicas(replicas, cell.restarts))
    return ", ".join([*parts, pace] if pace else parts)

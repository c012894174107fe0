"""Progress of a run: a live bar on a terminal, occasional lines elsewhere."""

import sys
import time
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TextIO

from .grid import printable
from .pace import Pace

if TYPE_CHECKING:
    from rich.console import Console


SECONDS_BETWEEN_LINES = 30.0


class _Watching:
    """The observed tasks and models, and the notes printed so far."""

    def __init__(self) -> None:
        self._cells: list[Any] = []
        self._paces: list[Pace] = []
        self.said: set[str] = set()

    def start(self, cells: list[Any]) -> None:
        """Start to observe the given counters."""
        self._cells = cells
        self._paces = [Pace() for _ in cells]


class LiveProgress(_Watching):
    """A progress bar for each task and model, drawn by rich."""

    def __init__(self, console: "Console") -> None:
        super().__init__()
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.table import Column

        # Only the note gives way where the terminal is narrow, so that the bar keeps its width.
        label = Column(
            no_wrap=True,
            overflow="ellipsis",
            max_width=max(12, console.width // 3),
        )
        note = Column(no_wrap=True, overflow="ellipsis", ratio=1)
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

    def start(self, cells: list[Any]) -> None:
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
        self._bars.console.print(printable(line), markup=False, highlight=False)

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
        """Do nothing, because the table follows."""

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


def _replicas(states: Mapping[int, str], restarts: int) -> str:
    """Return how many copies of the model are working, and how many are waiting for a process, a node or weights."""
    counts = Counter(states.values())
    up = counts["ready"] + counts["working"]
    parts = [f"{up} of {len(states)} replicas"]
    for state in ("starting", "lost"):
        if counts[state]:
            parts.append(f"{counts[state]} {state}")
    if restarts:
        parts.append(f"{restarts} restarted")
    return ", ".join(parts)


def _label(cell: Any) -> str:
    return f"{cell.task} · {cell.model}"


def _note(cell: Any, pace: str) -> str:
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

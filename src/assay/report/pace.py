"""The pace of a run: samples in progress, tokens per second, and the time left."""

from collections import deque
from typing import Any

WINDOW_SECONDS = 30.0
"""The time over which tokens per second are measured."""
SURE_SECONDS = 2.0
"""Seconds of running before an estimate of the remaining time is shown."""


class Pace:
    """The speed of one task with one model. Callers pass the time, so that tests can choose it."""

    def __init__(self) -> None:
        self._started: float | None = None
        self._ended_before = 0.0
        self._tokens: deque[tuple[float, float]] = deque()

    def note(self, cell: Any, now: float) -> str:
        """Return `8 begun, 340 tokens/s, about 4 min left`, or the parts of it that are known."""
        if cell.state != "running":
            return ""
        ended = self._ended(cell)
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
        seconds = self._left(cell, ended, now)
        if seconds is not None:
            parts.append(f"about {duration(seconds)} left")
        return ", ".join(parts)

    def _ended(self, cell: Any) -> float:
        """Return the number of finished samples, with shares of those in progress; never more than were begun."""
        answered = float(cell.done - cell.reused)
        ended = float(cell.meter.ended)
        begun = float(cell.meter.begun)
        return max(answered, min(ended, begun))

    def _tokens_a_second(self, cell: Any, now: float) -> float:
        """Return the tokens per second within the window; 0 if it is too short to say."""
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

    def _left(self, cell: Any, ended: float, now: float) -> float | None:
        """Return the seconds until the last sample, at the speed so far; None if it is too early to say."""
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

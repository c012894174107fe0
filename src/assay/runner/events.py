"""Events: what a run tells whoever watches it. Watchers read counters; the run never waits for them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ..core import Meter


@dataclass(slots=True)
class CellProgress:
    """How far one task with one model is."""

    task: str
    model: str
    expected: int | None = None
    done: int = 0
    reused: int = 0
    """Of those done, how many an earlier run had answered."""
    outcomes: dict[str, int] = field(default_factory=dict)
    state: str = "waiting"
    """waiting, loading, running, scoring, finished."""
    first_errors: dict[str, str] = field(default_factory=dict)
    """By outcome: the first sample it happened to, and why."""
    replicas: dict[int, str] = field(default_factory=dict)
    """By number, where the model is asked in several copies: starting, ready, working or lost."""
    meter: Meter = field(default_factory=Meter)
    """How far the model is inside the batches it works on."""
    tokens: Mapping[str, float] = field(default_factory=dict)
    """Tokens of the answers that came back, as backends counted them: `input_tokens`, `output_tokens`."""
    restarts: int = 0
    """How often a replica that died was replaced."""

    def count(self, outcome: str) -> None:
        """Notes one verdict."""
        outcomes = self.outcomes
        outcomes[outcome] = outcomes.get(outcome, 0) + 1


class Watcher(Protocol):
    """Shows a run while it goes on."""

    def start(self, cells: list[CellProgress]) -> None: ...
    def update(self) -> None:
        """Called a few times a second."""

    def say(self, line: str) -> None:
        """A line worth reading: a repair, a digest that changed, a warning."""

    def stop(self) -> None: ...


class Silent:
    """Shows nothing; keeps what was said for whoever asks."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def start(self, cells: list[CellProgress]) -> None:
        """Nothing to show."""

    def update(self) -> None:
        """Nothing to show."""

    def say(self, line: str) -> None:
        """Keeps the line."""
        self.lines.append(line)

    def stop(self) -> None:
        """Nothing to end."""

"""Events that a run reports to its watchers. Watchers read counters; the run never waits for them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ..core import Meter


@dataclass(slots=True)
class TaskProgress:
    """The progress of one task × model, as counters."""

    task: str
    model: str
    expected: int | None = None
    done: int = 0
    reused: int = 0
    """Number of samples in `done` that an earlier run had answered."""
    outcomes: dict[str, int] = field(default_factory=dict)
    state: str = "waiting"
    """One of waiting, loading, running, scoring, finished; stopped if it ended early."""
    first_errors: dict[str, str] = field(default_factory=dict)
    """For each outcome, the first sample that had it: sample id and message."""
    replicas: dict[int, str] = field(default_factory=dict)
    """State of each replica by number: starting, ready, working or lost."""
    meter: Meter = field(default_factory=Meter)
    """Progress of the model within its current batches."""
    tokens: Mapping[str, float] = field(default_factory=dict)
    """Tokens of the answers so far, as reported by backends: `input_tokens`, `output_tokens`."""
    batches: str = ""
    """State of the batches at a batch API, such as `batch_1: 120 of 500 done`."""
    restarts: int = 0
    """Number of replicas that died and were replaced."""

    def count(self, outcome: str) -> None:
        """Count one score by its outcome."""
        outcomes = self.outcomes
        outcomes[outcome] = outcomes.get(outcome, 0) + 1


class Watcher(Protocol):
    """Shows the progress of a run."""

    def start(self, progress: list[TaskProgress]) -> None: ...
    def update(self) -> None:
        """Refresh the display. Called a few times a second."""

    def say(self, line: str) -> None:
        """Show a line that users should read, such as a repair, a changed digest or a warning."""

    def stop(self) -> None: ...


class Silent:
    """A watcher that displays nothing. It collects the lines of the run for the caller."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def start(self, progress: list[TaskProgress]) -> None:
        """Do nothing."""

    def update(self) -> None:
        """Do nothing."""

    def say(self, line: str) -> None:
        """Store the line for the caller instead of showing it."""
        self.lines.append(line)

    def stop(self) -> None:
        """Do nothing."""

"""The objects that a reader returns: tasks with their metrics, and samples that are read one at a time.

Fields for facts that a format does not have stay empty, and are shown as unknown.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..core import EMPTY, Message, Outcome, Output

UNKNOWN = "unknown"
"""The model name to show if the file has none."""


@dataclass(frozen=True, slots=True)
class ForeignScore:
    """The verdict of one scorer on one sample."""

    scorer: str
    values: Mapping[str, float] = field(default_factory=lambda: EMPTY)
    """Values by metric. The name is the scorer's, or `scorer.part` if there are several values."""
    outcome: Outcome = Outcome.SCORED
    answer: str | None = None
    """The part of the answer that the scorer compared."""
    details: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class ForeignSample:
    """One sample from another tool's results, in one epoch: the prompt, the answer and the verdicts."""

    id: str
    output: Output | None = None
    """The answer. None if this record only adds verdicts to an earlier record of the same sample."""
    prompt: tuple[Message, ...] = ()
    target: Any = None
    scores: tuple[ForeignScore, ...] = ()
    epoch: int = 0
    """The repeat of the sample, counted from 0."""
    tags: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    continuations: tuple[str, ...] = ()
    """The texts whose likelihoods were computed instead of an answer; empty for generated answers."""


def no_samples() -> Iterator[ForeignSample]:
    """Yield nothing, for a file that has metrics but no samples."""
    return iter(())


@dataclass(frozen=True, slots=True)
class ForeignNumber:
    """The value of a metric in another tool's file, with its uncertainty and counts."""

    metric: str
    value: float | None
    stderr: float | None = None
    ci: tuple[float, float] | None = None
    interval: str = ""
    """The method of the interval, according to the file."""
    n: int | None = None
    n_expected: int | None = None
    outcomes: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    flags: tuple[str, ...] = ()
    higher_is_better: bool = True


@dataclass(frozen=True, slots=True)
class ForeignTask:
    """One task × model in another tool's file, with its metrics and its samples."""

    task: str
    model: str
    samples: Callable[[], Iterator[ForeignSample]] = no_samples
    numbers: tuple[ForeignNumber, ...] = ()
    higher_is_better: Mapping[str, bool] = field(default_factory=lambda: EMPTY)
    """For each metric, whether higher values are better, if the format records it. The default is True."""
    shares: frozenset[str] = frozenset()
    """Names of metrics whose values are between 0 and 1."""
    settings: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """The known settings of the model's requests, under their names in `run.json`: options, num_fewshot, epochs."""
    n_expected: int | None = None


@dataclass(frozen=True, slots=True)
class ForeignRun:
    """Everything that is read from one file or folder."""

    tool: str
    version: str
    """The version of the tool; empty if it is not in the file."""
    tasks: tuple[ForeignTask, ...]
    started: str | None = None
    finished: str | None = None
    is_complete: bool = True
    """False if the tool stopped before the end."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Format:
    """A format for results of another tool, with the functions that recognise and read it."""

    tool: str
    """The name of the tool in messages and `run.json`."""
    matches: Callable[[Path], bool]
    """A function that returns True if a path has this format. It may read the beginning of the file."""
    read: Callable[[Path], ForeignRun]
    files: Callable[[Path], list[Path]] = lambda path: [path]
    """A function that returns the files to read. If one of them changes, the results are read again."""

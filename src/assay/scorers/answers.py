"""What every text scorer asks first: the accepted answers of a sample, and whether there is an answer to score."""

from collections import deque
from collections.abc import Iterable
from typing import TypeVar

from ..core import AllOf, Outcome, Output, Sample, Score

T = TypeVar("T")


def accepted(sample: Sample) -> tuple[str, ...]:
    """The accepted answers as texts; a number in a target column is compared as it is printed.

    The parts of an `AllOf` are wanted together, so as one answer they are their texts joined.
    """
    target = sample.target
    if type(target) is str:
        return (target,)
    return tuple(_text(one) for one in sample.targets)


def _text(target: object) -> str:
    if isinstance(target, AllOf):
        return " ".join(part if isinstance(part, str) else part[0] for part in target.parts)
    return target if isinstance(target, str) else str(target)


def no_answer(output: Output) -> Score | None:
    """The score of an output that says nothing although it was cut or filtered; `None` where there is an answer.

    Silence that the model chose is an answer (an empty one) and is left to the scorer.
    """
    reason = output.stop_reason
    if reason == "length" and not output.text.strip():
        return Score(0.0, Outcome.TRUNCATED)
    if reason == "content_filter" and not output.text.strip():
        return Score.refused(reason="content_filter")
    return None


def no_target(sample: Sample, what: str = "target") -> Score:
    """The score of a sample that has nothing to compare with: a fault of the data, not of the model."""
    return Score(None, Outcome.DATA_ERROR, details={"reason": f"sample {sample.id!r} has no {what}"})


def named(score: Score, *names: str) -> Score:
    """A score of silence, with its value under each of the names a scorer of several values uses."""
    return Score(dict.fromkeys(names, 0.0), score.outcome, details=score.details)


def last_of(things: Iterable[T]) -> T | None:
    """The last one, or `None`; answers mostly stand at the end."""
    kept = deque(things, maxlen=1)
    return kept[0] if kept else None

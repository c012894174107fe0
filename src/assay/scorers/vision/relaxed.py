"""Relaxed accuracy, as ChartQA uses it: a number may be 5 % off, other answers must be equal.

The published rule has sharp edges, kept here: years 5 % apart are equal, `1,000` is no number, and nothing but `0`
equals `0`.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from ...core import Output, Sample, Score, UsageError
from ...registry import scorers
from ..answers import accepted, no_answer, no_target


@scorers.register("relaxed_accuracy")
@dataclass(frozen=True)
class RelaxedAccuracy:
    """1 if the answer is within `tolerance` of a numeric target, or equals another one apart from case."""

    tolerance: float = 0.05
    """The share of the target by which a number may be off."""
    reads: ClassVar[tuple[str, ...]] = ("text", "target")

    def __post_init__(self) -> None:
        if self.tolerance < 0:
            raise UsageError("scorer 'relaxed_accuracy' cannot be less than exact", fix="tolerance: 0 or more")

    def __call__(self, sample: Sample, output: Output) -> Score:
        targets = accepted(sample)
        if not targets:
            return no_target(sample)
        if silence := no_answer(output):
            return silence
        answer = output.text.strip()
        return Score(float(any(relaxed_equal(t.strip(), answer, self.tolerance) for t in targets)), answer=answer)


def relaxed_equal(target: str, answer: str, tolerance: float = 0.05) -> bool:
    """Whether the answer is close to a number other than 0, or equal to a text."""
    wanted, said = _number(target), _number(answer)
    if wanted and said is not None:
        return abs(said - wanted) / abs(wanted) <= tolerance
    return answer.lower() == target.lower()


def _number(text: str) -> float | None:
    try:
        number = float(text.rstrip("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None  # "inf" and "nan" are words

"""Relaxed accuracy, as in ChartQA: a number may differ by 5 %, other answers must be equal.

The published rule has surprising cases, which are kept here: two years that differ by
less than 5 % are equal, `1,000` is not a number, and only `0` equals `0`.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from ...core import Output, Score, UsageError
from ...registry import scorers
from ..answers import AgainstTargets


@scorers.register("relaxed_accuracy")
@dataclass(frozen=True)
class RelaxedAccuracy(AgainstTargets):
    """1 if the answer is within `tolerance` of a numeric target, or equals a target that is text, in any case."""

    tolerance: float = 0.05
    """The relative difference that is allowed between a number and the target."""
    keeps_unicode_form: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.tolerance < 0:
            raise UsageError(
                "scorer 'relaxed_accuracy' needs a tolerance of at least 0",
                fix="tolerance: 0 or more",
            )

    def compare(
        self,
        output: Output,
        targets: tuple[str, ...],
    ) -> Score:
        """Return the score of an answer against the target that fits best."""
        answer = output.text.strip()
        value = float(
            any(relaxed_equal(t.strip(), answer, self.tolerance) for t in targets)
        )
        return Score(
            value,
            answer=answer,
        )


def relaxed_equal(
    target: str,
    answer: str,
    tolerance: float = 0.05,
) -> bool:
    """Return True if answer and target are near enough as numbers, or equal as texts.

    They are compared as texts if either is not a number, or if the target is 0.
    """
    expected = _number(target)
    number = _number(answer)
    if expected and number is not None:
        return abs(number - expected) / abs(expected) <= tolerance
    return answer.lower() == target.lower()


def _number(text: str) -> float | None:
    try:
        if text.endswith("%"):
            number = float(text.rstrip("%")) / 100
        else:
            number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None  # "inf" and "nan" are words

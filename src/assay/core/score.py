"""Scores: the verdict on one output, and what kind of verdict it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from .quick import quick
from .sample import EMPTY


class Outcome(StrEnum):
    """What became of a sample. No answer is ever invented."""

    SCORED = "scored"
    UNPARSED = "unparsed"
    """An answer came, but none of the rules could read it. Counts as 0."""
    REFUSED = "refused"
    TRUNCATED = "truncated"
    """Cut by the token limit *and* nothing to extract. Counts as 0."""
    MODEL_ERROR = "model_error"
    """No answer came: leaves the denominator and widens the bounds."""
    JUDGE_ERROR = "judge_error"
    DATA_ERROR = "data_error"


COUNTED_AS_ZERO = frozenset({Outcome.UNPARSED, Outcome.REFUSED, Outcome.TRUNCATED})
UNRESOLVED = frozenset({Outcome.MODEL_ERROR, Outcome.JUDGE_ERROR, Outcome.DATA_ERROR})


@quick
@dataclass(frozen=True, slots=True)
class Score:
    """One value, or several named ones, with the outcome and what led to it."""

    value: float | Mapping[str, float] | None
    outcome: Outcome = Outcome.SCORED
    answer: str | None = None
    """What was extracted from the output and compared."""
    details: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """The rule that fired, counts to pool over a run, the judge's words."""
    candidates: tuple[float | None, ...] = ()
    """The value of each candidate where there were several; `value` is then the reduced one."""

    @classmethod
    def unparsed(cls, **details: Any) -> "Score":
        """An answer that no rule could read."""
        return cls(0.0, Outcome.UNPARSED, details=details)

    @classmethod
    def refused(cls, **details: Any) -> "Score":
        """The model declined to answer."""
        return cls(0.0, Outcome.REFUSED, details=details)


def named_values(score: Score, scorer: str) -> dict[str, float]:
    """The values of a score as records have them: one under its scorer's name, several as `scorer.name`."""
    value = score.value
    if isinstance(value, Mapping):
        return {f"{scorer}.{name}": number for name, number in value.items()}
    return {} if value is None else {scorer: float(value)}


def as_score(value: Any) -> Score:
    """What a user's scorer returned, as a `Score`: a number, a truth value, or named numbers."""
    if isinstance(value, Score):
        return value
    if isinstance(value, (bool, int, float)):
        return Score(float(value))
    if isinstance(value, Mapping):
        return Score({str(name): float(number) for name, number in value.items()})
    if hasattr(value, "item"):
        return Score(float(value.item()))
    raise TypeError(
        f"a scorer must return a number, a truth value, a dict of numbers or a Score, not {value!r}"
    )

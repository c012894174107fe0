"""Scores: the verdict on one output, its outcome, and the direction and bounds of its values."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, SupportsFloat, TypeVar, cast

from .errors import UsageError, shorten
from .quick import quick
from .sample import EMPTY


class Outcome(StrEnum):
    """How a sample ended."""

    SCORED = "scored"
    UNPARSED = "unparsed"
    """An answer arrived, but no rule could extract a result from it. Its value is 0."""
    REFUSED = "refused"
    TRUNCATED = "truncated"
    """The token limit cut the answer before anything could be extracted from it. Its value is 0."""
    MODEL_ERROR = "model_error"
    """No answer arrived. The sample is left out of the mean, and widens the worst-case and best-case bounds."""
    JUDGE_ERROR = "judge_error"
    DATA_ERROR = "data_error"
    LIMIT_TURNS = "limit:turns"
    """The sample reached its limit on turns. The answers up to that point are scored,
    and the score counts as usual.
    """
    LIMIT_CALLS = "limit:calls"
    LIMIT_TOKENS = "limit:tokens"
    LIMIT_COST = "limit:cost"
    LIMIT_SECONDS = "limit:seconds"


COUNTED_AS_ZERO = frozenset({Outcome.UNPARSED, Outcome.REFUSED, Outcome.TRUNCATED})
LIMITS = frozenset(
    {
        Outcome.LIMIT_TURNS,
        Outcome.LIMIT_CALLS,
        Outcome.LIMIT_TOKENS,
        Outcome.LIMIT_COST,
        Outcome.LIMIT_SECONDS,
    }
)
"""Outcomes of samples that ended at a limit. Their scores are used like any others."""
WITH_VALUE = LIMITS | {Outcome.SCORED}
"""Outcomes for which the scorer returned a value."""
UNRESOLVED = frozenset({Outcome.MODEL_ERROR, Outcome.JUDGE_ERROR, Outcome.DATA_ERROR})


@quick
@dataclass(frozen=True, slots=True)
class Score:
    """One value, or several named ones, with the outcome and its details."""

    value: float | Mapping[str, float] | None
    outcome: Outcome = Outcome.SCORED
    answer: str | None = None
    """The extracted text that was compared."""
    details: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """Explanation of the score: the rule that matched, counts to pool over a run, the judge's reply."""
    candidates: tuple[float | None, ...] = ()
    """The value of each candidate, if there are several. `value` combines them."""

    @classmethod
    def unparsed(cls, **details: object) -> "Score":
        """Return the score of an answer from which no rule could extract a result."""
        return cls(0.0, Outcome.UNPARSED, details=details)

    @classmethod
    def refused(cls, **details: object) -> "Score":
        """Return the score of an answer that is a refusal."""
        return cls(0.0, Outcome.REFUSED, details=details)


def named_values(score: Score, scorer: str) -> dict[str, float]:
    """Return the values of a score by their names in records.

    A single value has the scorer's name. Several values are named `scorer.name`.
    """
    value = score.value
    if isinstance(value, Mapping):
        return {f"{scorer}.{name}": number for name, number in value.items()}
    if value is None:
        return {}
    return {scorer: float(value)}


def as_score(value: object) -> Score:
    """Convert the return value of a user's scorer (a number, a boolean or named numbers) to a `Score`."""
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


T = TypeVar("T")

Bounds = tuple[float, float] | None
"""The lowest and the highest possible value; `None` if either is unlimited."""
SHARE: Bounds = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class ValueScale:
    """Whether higher values of a scorer are better, and their bounds.

    `directions` and `ends` contain the values, by name, that differ from this.
    """

    higher_is_better: bool = True
    bounds: Bounds = SHARE
    directions: Mapping[str, bool] = field(default_factory=lambda: EMPTY)
    ends: Mapping[str, Bounds] = field(default_factory=lambda: EMPTY)

    @classmethod
    def declared_by(cls, thing: object, what: str) -> "ValueScale":
        """Read the attributes `higher_is_better` and `bounds` of a scorer or summarizer.

        Raise if one is invalid.
        """
        better = getattr(thing, "higher_is_better", True)
        bounds = getattr(thing, "bounds", SHARE)
        directions = {}
        if isinstance(better, Mapping):
            for name, is_better in better.items():
                directions[str(name)] = bool(is_better)
            better = True
        ends = {}
        if isinstance(bounds, Mapping):
            for name, pair in bounds.items():
                ends[str(name)] = _check_bounds(pair, f"{what}, bounds of {name!r}")
            bounds = SHARE
        return cls(bool(better), _check_bounds(bounds, what), directions, ends)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the values for which a separate direction or separate bounds are set."""
        return tuple(dict.fromkeys([*self.directions, *self.ends]))

    def of(self, name: str) -> "ValueScale":
        """Return the scale of one named value. Derived names such as `correct.majority`
        use the scale of their base name.
        """
        if not self.names:
            return self
        return ValueScale(
            _look_up(self.directions, name, self.higher_is_better),
            _look_up(self.ends, name, self.bounds),
        )

    @property
    def worst(self) -> float | None:
        """The worst possible value.

        If the bounds are unknown, it is 0 if higher is better, otherwise None.
        """
        if self.bounds is not None:
            if self.higher_is_better:
                return self.bounds[0]
            return self.bounds[1]
        return 0.0 if self.higher_is_better else None


def _look_up(
    declared: Mapping[str, T],
    name: str,
    otherwise: T,
) -> T:
    while name:
        if name in declared:
            return declared[name]
        name = name.rpartition(".")[0]
    return otherwise


def _check_bounds(pair: object, what: str) -> Bounds:
    """Return a pair of bounds as floats, or None if either is unlimited, as in `(0, None)`."""
    if pair is None:
        return None
    try:
        low, high = cast("Iterable[SupportsFloat | None]", pair)
        if low is None:
            low = -math.inf
        else:
            low = float(low)
        if high is None:
            high = math.inf
        else:
            high = float(high)
    except (TypeError, ValueError):
        low = 1.0
        high = 0.0
    if not low < high:
        raise UsageError(
            f"bounds must be two numbers, the lower one first, got {shorten(pair)}",
            where=what,
            fix="write bounds = (0.0, 1.0), or None where there are none",
        )
    if math.isinf(low) or math.isinf(high):
        return None
    return low, high

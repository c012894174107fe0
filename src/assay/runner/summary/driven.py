"""Convert the return value of a driver, which does its own scoring, to rows of the results table.

Drivers do not report the scores of samples, so most of their numbers have no interval.
The exception is a fraction with its counts: `accuracy` with `correct` and `total` gets
the interval of a proportion, and bounds for the samples that could not be judged.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core import EMPTY, ComponentError, Result, ScorerError, blame, shorten
from ...core.score import UNRESOLVED
from ...summarizers.statistics import share_interval
from ...summarizers.units import failure_flags
from ..plan.planned_task import PlannedTask
from .results import flatten


@dataclass(frozen=True, slots=True)
class Driven:
    """A return value for drivers that report more than a few numbers."""

    values: Mapping[str, Any] = field(default_factory=dict)
    n: int | None = None
    """Number of samples from which the values were computed; by default the number of prompts."""
    n_expected: int | None = None
    """Number of all samples, including those that could not be sent."""
    protocol: str = ""
    """The protocol id of the results, if it is not the task's, for example because
    the driver offers several methods.
    """
    details: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """Further details, attached to the first value."""
    results: Sequence[Result] = ()
    """Rows of the results table that the driver has computed itself."""
    lower_is_better: frozenset[str] = frozenset()
    """Names of values for which lower is better."""


def driven_results(
    planned: PlannedTask,
    returned: object,
    calls: int,
    outcomes: Mapping[str, int] = EMPTY,
) -> list[Result]:
    """Convert the return value of a driver to results. Values that are not numbers are left out."""
    if isinstance(returned, Mapping):
        values = returned
    else:
        values = {"value": returned}
    if isinstance(returned, Driven):
        driven = returned
    else:
        driven = Driven(values=values)
    with blame(ScorerError, f"driver of task {planned.task.name!r}"):
        numbers = flatten(driven.values)
    if not numbers and not driven.results:
        raise ComponentError(
            f"returned no numbers: {shorten(returned)}",
            where=f"driver of task {planned.task.name!r}",
            fix="return a dict",
        )
    if driven.n is not None:
        n = driven.n
    else:
        n = calls
    if driven.n_expected is not None:
        expected = driven.n_expected
    else:
        expected = n
    unresolved = {
        str(name): count
        for name, count in outcomes.items()
        if name in UNRESOLVED and count
    }
    flags = failure_flags(sum(unresolved.values()) / max(expected, 1))
    rows: list[Result] = []
    for name, number in numbers.items():
        low_high, interval = _interval(name, numbers)
        row = Result(
            task=planned.task.name,
            model=planned.model_name,
            metric=name or "value",
            value=number if math.isfinite(number) else None,
            n=n,
            n_expected=expected,
            protocol=driven.protocol or planned.task.protocol,
            higher_is_better=(name or "value") not in driven.lower_is_better,
            ci=low_high,
            interval=interval,
            outcomes=unresolved,
            bounds=_bounds(name, numbers, unresolved),
            flags=flags
            if math.isfinite(number)
            else (*flags, f"not a finite number: {number}"),
            details=EMPTY if rows else driven.details,
        )
        rows.append(row)
    return [*driven.results, *rows]


def _is_share(
    name: str,
    numbers: Mapping[str, float],
) -> bool:
    """Return True if a value is the quotient of two other values in the mapping: `correct` and `total`."""
    correct = numbers.get("correct")
    total = numbers.get("total")
    if name != "accuracy" or correct is None or not total or not 0 <= correct <= total:
        return False
    return math.isclose(
        numbers[name],
        correct / total,
        rel_tol=1e-9,
        abs_tol=1e-12,
    )


def _interval(
    name: str,
    numbers: Mapping[str, float],
) -> tuple[tuple[float, float] | None, str]:
    """Return the interval of a fraction and the name of the method; None if the value is not a fraction."""
    if not _is_share(name, numbers):
        return None, "none: a set-level metric"
    correct = float(numbers["correct"])
    total = float(numbers["total"])
    if not (correct.is_integer() and total.is_integer()):
        return None, "none: correct and total are not whole numbers"
    low_high, method = share_interval(int(correct), int(total))
    return low_high, f"{method} of correct / total"


def _bounds(
    name: str,
    numbers: Mapping[str, float],
    unresolved: Mapping[str, int],
) -> tuple[float, float] | None:
    """Return the fraction if all unscored samples were wrong, and if all were right;
    None if every sample has a score.

    Rows that were not sent are not in `total`. Failed requests are in `total`, counted
    as wrong.
    """
    if not unresolved or not _is_share(name, numbers):
        return None
    unasked = unresolved.get("data_error", 0)
    unanswered = unresolved.get("model_error", 0)
    everyone = numbers["total"] + unasked
    best = min(numbers["correct"] + unasked + unanswered, everyone)
    return numbers["correct"] / everyone, best / everyone

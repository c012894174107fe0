"""The units of a mean: one value for each sample in the denominator, repeats of a sample reduced first.

A sample none of whose answers has a value is unresolved. The worst and best case fill in what is unresolved.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..core import UNRESOLVED, SummarizerError, SummaryContext
from .statistics import (
    Decomposition,
    Estimate,
    Reduced,
    decompose,
    estimate_mean,
    reduce_repeats,
)
from .table import UNKNOWN, Table

SHOW_BOUNDS_ABOVE, FLAG_ABOVE = 0.01, 0.05
"""Shares of failed samples above which a row carries the worst and the best case, and is itself in doubt."""


@dataclass(slots=True)
class Units:
    """Values in the denominator, where each came from, and what is missing beside them."""

    values: Sequence[float]
    rows: Sequence[int]
    """A row of the table for each value: its tags and its cluster."""
    unresolved: int
    answers: int
    """Rows with a value or one that is due: what `unresolved` is a share of."""
    worst: float | None = None
    best: float | None = None
    repeats: Sequence[Sequence[float]] = field(default_factory=tuple)
    """With epochs: the values each unit was reduced from."""
    tied: int = 0

    @property
    def unresolved_share(self) -> float:
        """Of all answers, those that have no value."""
        return self.unresolved / self.answers if self.answers else 0.0


def units_of(
    table: Table,
    cells: Sequence[float],
    reducer: str,
    bounds: tuple[float, float] | None,
    *,
    metric: str,
) -> Units:
    """The units of one column of resolved cells. `bounds` are the worst and the best value of the metric."""
    if table.samples is not None:
        return _reduced(table, cells, reducer, bounds, metric)
    values = [value for value in cells if value < UNKNOWN]
    if values and not _enough(1, reducer):
        raise SummarizerError(
            f"{reducer} of one answer to each sample",
            where=f"metric {metric!r}",
            fix="ask for as many candidates (`n`) or `epochs`, or choose a smaller k",
        )
    if len(values) == len(cells):
        return Units(values, range(len(cells)), 0, len(cells))
    rows = [row for row, value in enumerate(cells) if value < UNKNOWN]
    unresolved = sum(value == UNKNOWN for value in cells)
    units = Units(values, rows, unresolved, len(values) + unresolved)
    if unresolved and bounds is not None:
        total = math.fsum(values)
        units.worst, units.best = (
            (total + unresolved * end) / units.answers for end in bounds
        )
    return units


def _reduced(
    table: Table,
    cells: Sequence[float],
    reducer: str,
    bounds: tuple[float, float] | None,
    metric: str,
) -> Units:
    """One value for each sample from the answers of all its epochs."""
    assert table.samples is not None
    answers_of: list[list[float]] = [[] for _ in range(table.n_samples)]
    missing = [0] * len(answers_of)
    first_row = [-1] * len(answers_of)
    for row, (sample, value) in enumerate(zip(table.samples, cells, strict=True)):
        if value < UNKNOWN:
            answers_of[sample].append(value)
        elif value == UNKNOWN:
            missing[sample] += 1
        if first_row[sample] < 0:
            first_row[sample] = row
    units = Units([], [], sum(missing), sum(map(len, answers_of)) + sum(missing))
    values, rows, repeats = [], [], []
    worst: list[float] = []
    best: list[float] = []
    try:
        for sample, answers in enumerate(answers_of):
            lost = missing[sample]
            if not answers and not lost:
                continue
            if (reduced := one_value(answers, lost, reducer)) is not None:
                units.tied += reduced.tied
                values.append(reduced.value)
                rows.append(first_row[sample])
                repeats.append(answers)
            if units.unresolved and bounds is not None:
                # A row that could not be asked is one lost answer, and pass@k may need more: then nothing is known.
                enough = _enough(len(answers) + lost, reducer)
                for filled, end in ((worst, bounds[0]), (best, bounds[1])):
                    filled.append(
                        reduce_repeats([*answers, *[end] * lost], reducer).value
                        if enough
                        else end
                    )
    except ValueError as error:
        raise SummarizerError(str(error), where=f"metric {metric!r}") from error
    units.values, units.rows, units.repeats = values, rows, repeats
    if worst:
        units.worst, units.best = (
            math.fsum(worst) / len(worst),
            math.fsum(best) / len(best),
        )
    return units


def one_value(answers: Sequence[float], lost: int, reducer: str) -> Reduced | None:
    """The answers to one sample as one value; `None` without any.

    Where answers are lost, pass@k of the rest may be undefined: such a sample is unresolved as a whole.
    """
    if not answers or (lost and not _enough(len(answers), reducer)):
        return None
    return reduce_repeats(answers, reducer)


def _enough(answers: int, reducer: str) -> bool:
    k = reducer.removeprefix("pass")[1:] if reducer.startswith("pass") else ""
    return not k.isdigit() or answers >= int(k)


def estimate_units(
    table: Table,
    units: Units,
    reducer: str = "mean",
    *,
    binary: bool,
    ends: tuple[float, float] | None = None,
) -> tuple[Estimate, dict[str, Any]]:
    """The mean over units with its interval, and the decomposition of the variance where there are repeats.

    `ends` are the lowest and the highest value of the metric, where they are known.
    """
    clusters = (
        None if table.clusters is None else [table.clusters[row] for row in units.rows]
    )
    estimate = estimate_mean(units.values, clusters, binary=binary, ends=ends)
    if table.samples is None:
        return estimate, {}
    return estimate, _epoch_details(units, decompose(units.repeats, clusters), reducer)


def _epoch_details(units: Units, parts: Decomposition, reducer: str) -> dict[str, Any]:
    """What repeats say: where the variance comes from, and what would make the number more certain."""
    details: dict[str, Any] = {
        "reducer": reducer,
        "answers": sum(map(len, units.repeats)),
        "answers_per_sample": [
            min(map(len, units.repeats)),
            max(map(len, units.repeats)),
        ],
        "within": parts.within,
        "between": parts.between,
        "stderr_at_infinity": parts.stderr_at_infinity,
        "icc": parts.icc,
        "advice": parts.advice,
    }
    if units.tied:
        details["tied"] = units.tied
    return details


def failure_flags(share: float) -> tuple[str, ...]:
    """What a row must say of samples without a verdict: above 1 % how many, above 5 % that it is in doubt."""
    if share > FLAG_ABOVE:
        return (f"unresolved {share:.1%}: in doubt",)
    return (f"unresolved {share:.1%}",) if share > SHOW_BOUNDS_ABOVE else ()


def unresolved_flags(outcomes: Mapping[str, int]) -> tuple[str, ...]:
    """The same, from how many answers had each outcome."""
    total = sum(outcomes.values())
    unresolved = sum(outcomes.get(outcome, 0) for outcome in UNRESOLVED)
    return failure_flags(unresolved / total if total else 0.0)


def result_names(
    context: SummaryContext, metric: str, *, higher_is_better: bool | None = None
) -> dict[str, Any]:
    """The fields in which a result says what it is a number of."""
    is_better = (
        context.higher_is_better if higher_is_better is None else higher_is_better
    )
    names = {
        "task": context.task,
        "model": context.model,
        "metric": metric,
        "protocol": context.protocol,
    }
    return {**names, "higher_is_better": is_better}


def reducer_flags(reducer: str, *, repeated: bool) -> tuple[str, ...]:
    """What a row must say where it is not the mean over the answers to a sample."""
    return (f"reducer {reducer}",) if repeated and reducer != "mean" else ()


def lacking_flags(answers: int) -> tuple[str, ...]:
    """What a number made of counts must say of answers that were judged and have none."""
    return (f"{answers} answers have no counts and are left out",) if answers else ()

"""The units of a mean: one value for each sample, after its answers were reduced to one.

A sample whose answers all lack a value is unresolved. In the worst case of the mean,
unresolved samples have the worst value, and in the best case the best value.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..core import (
    COUNTED_AS_ZERO,
    UNRESOLVED,
    ScoreRecord,
    SummarizerError,
    SummaryContext,
)
from .score_table import DOUBTS, UNKNOWN, Table, vote_of
from .statistics import (
    Decomposition,
    Estimate,
    Reduced,
    decompose,
    estimate_mean,
    ratio_estimate,
    reduce_repeats,
)
from .statistics.estimate import finite

SHOW_BOUNDS_ABOVE, FLAG_ABOVE = 0.01, 0.05
"""The shares of failed samples above which a row shows the worst and the best case, and is flagged as doubtful."""

OUTSIDE = "outside its bounds"
ROUNDING = 1e-9
"""How far a computed value may be outside its bounds before it counts as more than a rounding error."""


@dataclass(slots=True)
class Units:
    """The values that a mean is computed from, one for each sample, with their rows in
    the table and the missing values.
    """

    values: Sequence[float]
    rows: Sequence[int]
    """For each value, the index of one of its sample's rows in the table. This row has
    the sample's tags and cluster.
    """
    unresolved: int
    answers: int
    """The number of rows that should have a value. `unresolved_share` is the part of them that has none."""
    worst: float | None = None
    best: float | None = None
    repeats: Sequence[Sequence[float]] = field(default_factory=tuple)
    """The values of each sample before they were reduced to one, if samples have several epochs."""
    tied: int = 0

    @property
    def unresolved_share(self) -> float:
        """The share of answers without a value."""
        if self.answers:
            return self.unresolved / self.answers
        return 0.0


def units_of(
    table: Table,
    cells: Sequence[float],
    reducer: str,
    bounds: tuple[float, float] | None,
    *,
    metric: str,
) -> Units:
    """Reduce a column of a metric, with one value per answer, to one value per sample.

    Outcomes must already be applied to `cells`. `bounds` are the worst and the best
    value of the metric.
    """
    if table.samples is not None:
        return _reduce_samples(table, cells, reducer, bounds, metric)
    values = [value for value in cells if value < UNKNOWN]
    if values and not _enough(1, reducer):
        raise SummarizerError(
            f"{reducer} needs more than one answer to each sample",
            where=f"metric {metric!r}",
            fix="ask for as many candidates (`n`) or `epochs`, or choose a smaller k",
        )
    if len(values) == len(cells):
        return Units(values, range(len(cells)), 0, len(cells))
    rows = [row for row, value in enumerate(cells) if value < UNKNOWN]
    unresolved = sum(value == UNKNOWN for value in cells)
    units = Units(values, rows, unresolved, len(values) + unresolved)
    if unresolved and bounds is not None:
        due = [row for row, value in enumerate(cells) if not math.isnan(value)]
        weights = table.weights_of(due)
        filled = []
        for end in bounds:
            filled.append([cells[row] if cells[row] < UNKNOWN else end for row in due])
        units.worst, units.best = (mean_by_weight(case, weights) for case in filled)
    return units


def mean_by_weight(
    values: Sequence[float],
    weights: Sequence[float] | None,
) -> float:
    """Return the weighted mean of values."""
    if weights is None:
        return math.fsum(values) / len(values)
    products = (value * weight for value, weight in zip(values, weights, strict=True))
    return math.fsum(products) / math.fsum(weights)


def _reduce_samples(
    table: Table,
    cells: Sequence[float],
    reducer: str,
    bounds: tuple[float, float] | None,
    metric: str,
) -> Units:
    """Reduce the answers of all epochs to one value for each sample."""
    assert table.samples is not None
    answers_of: list[list[float]] = [[] for _ in range(table.n_samples)]
    ballots_of: list[list[Hashable | None]] = [[] for _ in answers_of]
    missing = [0] * len(answers_of)
    first_row = [-1] * len(answers_of)
    for row, (sample, value) in enumerate(zip(table.samples, cells, strict=True)):
        if value < UNKNOWN:
            answers_of[sample].append(value)
            if reducer == "majority":
                ballots_of[sample].append(_ballot_in(table, row, value))
        elif value == UNKNOWN:
            missing[sample] += 1
        if first_row[sample] < 0:
            first_row[sample] = row
    units = Units([], [], sum(missing), sum(map(len, answers_of)) + sum(missing))
    values = []
    rows = []
    repeats = []
    worst: list[float] = []
    best: list[float] = []
    filled_rows: list[int] = []
    try:
        for sample, answers in enumerate(answers_of):
            lost = missing[sample]
            if not answers and not lost:
                continue
            ballots = ballots_of[sample]
            reduced = one_value(answers, lost, reducer, ballots)
            if reduced is not None:
                units.tied += reduced.tied
                values.append(reduced.value)
                rows.append(first_row[sample])
                repeats.append(answers)
            if units.unresolved and bounds is not None:
                # A row that could not be sent is one missing answer. If pass@k needs more, the value is unknown.
                enough = _enough(len(answers) + lost, reducer)
                filled_rows.append(first_row[sample])
                for filled, end in ((worst, bounds[0]), (best, bounds[1])):
                    filled.append(
                        _with_lost(answers, ballots, lost, end, reducer)
                        if enough
                        else end
                    )
    except ValueError as error:
        raise SummarizerError(str(error), where=f"metric {metric!r}") from error
    units.values = values
    units.rows = rows
    units.repeats = repeats
    if worst:
        weights = table.weights_of(filled_rows)
        units.worst = mean_by_weight(worst, weights)
        units.best = mean_by_weight(best, weights)
    return units


def ballot_of(
    answer: str | None,
    outcome: str,
    value: float,
) -> Hashable | None:
    """Return the answer for which a record votes under `majority`; None if it does not vote.

    The record votes for the answer that the scorer read. If an answer could not be
    read, it has no vote. If the scorer does not record what it read, equal values count
    as equal answers.
    """
    if answer is not None:
        return answer
    return None if outcome in COUNTED_AS_ZERO else value


def _ballot_in(
    table: Table,
    row: int,
    value: float,
) -> Hashable | None:
    answer = table.answers[row] if table.answers else None
    outcome = table.outcome_names[table.outcomes[row]]
    return ballot_of(answer, outcome, value)


def _with_lost(
    answers: Sequence[float],
    ballots: Sequence[Hashable | None],
    lost: int,
    end: float,
    reducer: str,
) -> float:
    """Return the value that the sample would have if its missing answers brought it as near to `end` as possible."""
    if reducer != "majority" or not lost:
        votes = None if lost else ballots
        return reduce_repeats([*answers, *[end] * lost], reducer, votes).value
    reachable = []
    for ballot in {*ballots, ("lost",)} - {None}:
        votes = [*ballots, *[ballot] * lost]
        own_values = [a for a, b in zip(answers, ballots, strict=True) if b == ballot]
        if own_values:
            value = math.fsum(own_values) / len(own_values)
        else:
            value = end
        values = [*answers, *[value] * lost]
        reachable.append(reduce_repeats(values, reducer, votes).value)
    return min(reachable, key=lambda value: abs(value - end))


def one_value(
    answers: Sequence[float],
    lost: int,
    reducer: str,
    ballots: Sequence[Hashable | None] | None = None,
) -> Reduced | None:
    """Reduce the answers to one sample to one value. Return None without answers, or if the value is undefined.

    If answers are missing, pass@k of the remaining answers may be undefined. Then the
    whole sample is unresolved.
    """
    if not answers or (lost and not _enough(len(answers), reducer)):
        return None
    return reduce_repeats(answers, reducer, ballots)


def _enough(answers: int, reducer: str) -> bool:
    if reducer.startswith("pass"):
        k = reducer.removeprefix("pass")[1:]
    else:
        k = ""
    return not k.isdigit() or answers >= int(k)


def estimate_units(
    table: Table,
    units: Units,
    reducer: str = "mean",
    *,
    binary: bool,
    ends: tuple[float, float] | None = None,
) -> tuple[Estimate, dict[str, Any]]:
    """Return the mean over units with its interval, and the decomposition of the variance if there are repeats.

    `ends` are the lowest and the highest value of the metric, if they are known.
    """
    if table.clusters is None:
        clusters = None
    else:
        clusters = [table.clusters[row] for row in units.rows]
    weights = table.weights_of(units.rows)
    estimate = estimate_weighted(units.values, weights, clusters, binary, ends)
    if table.samples is None:
        return estimate, {}
    return estimate, _epoch_details(units, decompose(units.repeats, clusters), reducer)


def estimate_weighted(
    values: Sequence[float],
    weights: Sequence[float] | None,
    clusters: Sequence[int] | None,
    binary: bool,
    ends: tuple[float, float] | None,
) -> Estimate:
    """Return the weighted mean of values and its interval."""
    if weights is None:
        return estimate_mean(
            values,
            clusters,
            binary=binary,
            ends=ends,
        )
    products = [value * weight for value, weight in zip(values, weights, strict=True)]
    if binary:
        ends = (0.0, 1.0)
    return ratio_estimate(products, weights, clusters, ends=ends)


def _epoch_details(
    units: Units,
    parts: Decomposition,
    reducer: str,
) -> dict[str, Any]:
    """Return details about repeated answers: the sources of the variance, and advice on how to narrow the interval."""
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
    """Return the flags for a share of samples without a verdict. Above 1 % it is
    reported, above 5 % the result is in doubt.
    """
    if share > FLAG_ABOVE:
        return (f"unresolved {share:.1%}: in doubt",)
    if share > SHOW_BOUNDS_ABOVE:
        return (f"unresolved {share:.1%}",)
    return ()


def doubt_flags(doubts: Mapping[str, int]) -> tuple[str, ...]:
    """Return flags with the number of verdicts that the scorer marked as doubtful. Scorers of code do this."""
    flags = []
    for name, (singular, plural) in DOUBTS.items():
        count = doubts.get(name, 0)
        if count:
            flags.append(f"{count} {singular if count == 1 else plural}")
    return tuple(flags)


def unresolved_flags(outcomes: Mapping[str, int]) -> tuple[str, ...]:
    """Return the flag for samples without a verdict. `outcomes` has the number of answers with each outcome."""
    total = sum(outcomes.values())
    unresolved = sum(outcomes.get(outcome, 0) for outcome in UNRESOLVED)
    return failure_flags(unresolved / total if total else 0.0)


def result_names(
    context: SummaryContext,
    metric: str,
    *,
    higher_is_better: bool | None = None,
) -> dict[str, Any]:
    """Return the fields that name a result: task, model, metric, protocol and direction."""
    is_better = higher_is_better
    if is_better is None:
        is_better = context.of(metric).higher_is_better
    names = {
        "task": context.task,
        "model": context.model,
        "metric": metric,
        "protocol": context.protocol,
    }
    return {**names, "higher_is_better": is_better}


def reducer_flags(reducer: str, *, repeated: bool) -> tuple[str, ...]:
    """Return a flag that names the reducer, unless it is the mean over the answers to a sample."""
    if repeated and reducer != "mean":
        return (f"reducer {reducer}",)
    return ()


def lacking_flags(answers: int) -> tuple[str, ...]:
    """Return a flag that this number of answers have no counts and are left out; none for 0."""
    return (f"{answers} answers have no counts and are left out",) if answers else ()


ValueOf = Callable[[ScoreRecord], float | None]
_OF_ONE_ITSELF = frozenset({"mean", "max", "majority"})
"""Reducers that return a single answer's value unchanged."""


def value_reader(
    metric: str,
    unread: float | None,
) -> ValueOf:
    """Return a function that returns the value of a record: `unread` for an unreadable
    answer, None without a verdict.
    """

    def value_of(record: ScoreRecord) -> float | None:
        if record.outcome in UNRESOLVED:
            return None
        if record.outcome in COUNTED_AS_ZERO:
            return unread
        return record.values.get(metric)

    return value_of


def values_by_sample(
    records: Iterable[ScoreRecord],
    value_of: ValueOf,
    reducer: str = "mean",
) -> tuple[dict[str, float], dict[str, Hashable]]:
    """Return the value of each sample by its id, with its answers reduced, and the cluster of each sample.

    The cluster is the record's cluster, or else its group. Otherwise each sample is a
    separate cluster. Raise `ValueError` if a reducer cannot be applied to the answers.
    """
    values: dict[str, float] = {}
    repeats: dict[str, list[float]] = {}
    ballots: dict[str, list[Hashable | None]] = {}
    lost: Counter[str] = Counter()
    clusters: dict[str, Hashable] = {}
    for record in records:
        id = record.id
        value = value_of(record)
        if value is None:
            lost[id] += 1
            continue
        if id in values:
            repeats.setdefault(id, [values[id]]).append(value)
        else:
            values[id] = value
        if reducer == "majority":
            ballot = ballot_of(vote_of(record), record.outcome, value)
            ballots.setdefault(id, []).append(ballot)
        cluster = record.cluster if record.cluster is not None else record.group
        clusters[id] = ("sample", id) if cluster is None else cluster
    if reducer in _OF_ONE_ITSELF:
        # Most runs have one answer to each sample, so its value is the mean.
        answers_of: dict[str, list[float]] = repeats
        finite(list(values.values()) or [0.0])
    else:
        answers_of = {id: repeats.get(id, [value]) for id, value in values.items()}
    for id, answers in answers_of.items():
        reduced = one_value(answers, lost[id], reducer, ballots.get(id))
        if reduced is None:
            del values[id]
        else:
            values[id] = reduced.value
    return values, clusters


def is_outside(
    value: float | None,
    bounds: Sequence[float],
) -> bool:
    """Return True if a value is outside its bounds by more than rounding."""
    low, high = bounds
    return value is not None and not low - ROUNDING <= value <= high + ROUNDING


def outside_flag(bounds: Sequence[float]) -> str:
    """Return the flag for a value that is not between its bounds."""
    low, high = bounds
    return f"{OUTSIDE} {low:g} … {high:g}"

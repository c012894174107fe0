"""The share of scores that reach a threshold, and the mean of rescaled scores."""

import math
import operator
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ..core import Result, ScoreRecord, SummarizerError, SummaryContext
from ..registry import summarizers
from .mean import mean_of, reducer_of
from .score_table import Table, read_table

_SIGNS = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}


@summarizers.register("threshold")
@dataclass(frozen=True, slots=True)
class Threshold:
    """The share of values that reach the threshold `bar`. Their mean is reported as well."""

    bar: float
    inclusive: bool = True
    """True if a value equal to `bar` reaches it."""

    def __call__(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> Iterator[Result]:
        """Yield `metric>=bar`, the share of values that reach the bar, then `metric`.

        If lower is better, the share is that of values at or below the bar.
        """
        table = read_table(records)
        shares = context.as_share()
        for metric in table.names(context.scorer):
            if context.of(metric).higher_is_better:
                sign = ">"
            else:
                sign = "<"
            sign += "=" if self.inclusive else ""
            name = f"{metric}{sign}{self.bar:g}"
            changed = with_metric(
                table,
                metric,
                name,
                partial(_clears, _SIGNS[sign], self.bar),
            )
            yield mean_of(changed, name, shares, reducer_of(context))
            yield mean_of(table, metric, context, reducer_of(context))


@summarizers.register("rescaled")
@dataclass(frozen=True, slots=True)
class Rescaled:
    """The mean of rescaled values.

    The range `low … high` is mapped to `0 … to`: a value becomes `to * ((value - low) /
    (high - low)) ** power`. An answer that could not be read has the value 0.
    """

    low: float = 0.0
    high: float = 1.0
    to: float = 100.0
    power: float = 1.0
    label: str = ""
    """The suffix of the metric's name that distinguishes it from the plain mean: `rescaled` gives `judge.rescaled`."""

    def __post_init__(self) -> None:
        if self.high <= self.low or self.power <= 0 or self.to <= 0:
            raise SummarizerError(
                f"a scale needs low < high, power > 0 and to > 0, got {self.low}, {self.high}, {self.power}, {self.to}",
                where="summarizer 'rescaled'",
            )

    def __call__(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> Iterator[Result]:
        """Yield one result for each metric. If there is a label, it is added to the name of the metric."""
        table = read_table(records)
        for metric in table.names(context.scorer):
            scale = replace(
                context.of(metric),
                bounds=(0.0, self.to),
                scale=None,
            )
            if self.label:
                name = f"{metric}.{self.label}"
            else:
                name = metric
            yield mean_of(
                with_metric(table, metric, name, self._move),
                name,
                scale,
                reducer_of(context),
            )

    def _move(self, value: float) -> float:
        """Return a value on the new scale. Raise `SummarizerError` if it is outside the old scale."""
        share = (value - self.low) / (self.high - self.low)
        if not 0.0 <= share <= 1.0:
            raise SummarizerError(
                f"a value of {value:g} is outside {self.low:g} … {self.high:g}",
                where="summarizer 'rescaled'",
                fix="give the scale of the scorer as `low` and `high`",
            )
        return float(self.to * share**self.power)


def _clears(
    sign: Callable[[float, float], bool],
    bar: float,
    value: float,
) -> float:
    return float(sign(value, bar))


def with_metric(
    table: Table,
    metric: str,
    name: str,
    change: Callable[[float], float],
) -> Table:
    """Return the table with one metric renamed to `name`. `change` is applied to the metric's value in scored rows."""
    cells = array("d")
    others = {}
    for other, column in table.metrics.items():
        if other != metric:
            others[other] = column
    for value, code in zip(table.metrics.get(metric, ()), table.outcomes, strict=False):
        # A row that was not scored has no value to change: its outcome decides how it is used.
        is_number = math.isfinite(value) and table.outcome_names[code] == "scored"
        cells.append(change(value) if is_number else value)
    return replace(table, metrics={**others, name: cells} if cells else others)

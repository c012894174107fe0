"""Metrics computed from named counts: an F1 of two rates, the worst turn of a dialogue, a ratio of two scorers.

Each count is a sum over all answers. The metric is a formula of these sums. Therefore
it has an interval (from the jackknife, which leaves out one sample or cluster at a
time), a paired comparison between runs, and a value for each tag, like every metric of
assay.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..core import (
    COUNTED_AS_ZERO,
    Result,
    ScoreRecord,
    SummarizerError,
    SummaryContext,
    UsageError,
    nearest,
)
from ..core.errors import plural
from ..registry import summarizers
from .corpus import Pool
from .expressions import Expression
from .mean import unread_value
from .recipes import ROUNDS, Reading, Recipe, names_in, number_named, together
from .statistics.estimate import Ends
from .units import is_outside, outside_flag, result_names

Count = str | int | float | Sequence[str]
WHERE = "summarizer 'formula'"


class UnknownCount(SummarizerError):
    """Raised if a formula uses a name that no scorer has recorded."""


@summarizers.register("formula")
@dataclass(frozen=True, slots=True)
class Formula:
    """A metric computed from named counts, each of them summed over all answers.

    A count is an expression of an answer's values and of the numbers in its `details`.
    The count `1` is the number of answers. `rounds` are the values `round_1`,
    `round_2`, … of a dialogue: `min(rounds)` is the worst, `count(rounds)` their
    number. If a task has several scorers, `SCORER.NAME` selects one of them, and a
    formula may use several.

    Example: `Formula("f1", "2 * correct / (asked + attempted)", {"correct":
    "is_correct", "asked": 1, "attempted": "is_correct + is_incorrect"}, bounds=(0, 1))`
    """

    metric: str
    """The name of the metric."""
    value: str
    """The formula, an expression of the names in `counts`."""
    counts: Mapping[str, Count]
    """For each name, the expression that is summed, or a list of expressions that are added up."""
    bounds: Sequence[float | None] | None = None
    """The lowest and the highest value of the metric. None as the highest value means that it has no upper limit."""
    higher_is_better: bool = True
    pools: ClassVar[bool] = True
    applies_weights: ClassVar[bool] = True
    """Whether the counts of a sample are multiplied by the weight of its row."""

    def __post_init__(self) -> None:
        self._ends()
        names = list(self.counts)
        for name in Expression.parse(self.value, WHERE).names():
            if name not in names:
                close = nearest(name, names)
                if close:
                    fix = f"did you mean {close!r}?"
                else:
                    fix = f"define {name!r}"
                raise UsageError(
                    f"{self.value!r} uses {name!r}, which is not in `counts`",
                    where=WHERE,
                    fix=fix,
                )
        for members in self._members():
            for member in members:
                Expression.parse(member, WHERE)

    def __call__(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> Iterator[Result]:
        """Yield the result once for each scorer whose records have all names.

        If there is none, yield one result for all scorers together.
        """
        reading = self._reading(records, context)
        if reading is None:
            return
        source = records
        if reading.is_joint:
            source = list(together(context.beside))
        recipe = self._recipe(reading)
        pool = Pool.of(source, recipe.read)
        common = result_names(
            context,
            self.metric,
            higher_is_better=self.higher_is_better,
        )
        ends = self._ends()
        fields = pool.result(common, recipe, ends, self._flags(source))
        if ends is not None and is_outside(fields["value"], ends):
            fields["flags"] = (*fields["flags"], outside_flag(ends))
        details: dict[str, Any] = {"recipe": recipe.to_plain()}
        if ends is not None and ends[1] != float("inf"):
            details["scale"] = list(ends)
        yield Result(
            **common,
            **fields,
            n_expected=context.n_expected,
            outcomes=dict(pool.outcomes),
            details=details,
        )

    def _recipe(self, reading: Reading) -> Recipe:
        """Return the recipe of the metric, which is stored with the result so that it can be computed again."""
        value = Expression.parse(self.value, WHERE)
        members = self._members()
        names = list(self.counts)
        ratio = value.as_ratio()
        if ratio is not None:
            weights = [part.linear_weights(names) for part in ratio]
            if weights[0] is not None and weights[1] is not None:
                pair = (weights[0], weights[1])
                return Recipe("ratio", members, pair, reading=reading)
        options = {"value": self.value, "names": names}
        return Recipe(
            "expression",
            members,
            options=options,
            reading=reading,
        )

    def _reading(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> Reading | None:
        """Return how to compute the counts from this scorer's records; None if only another scorer has recorded them.

        Raise `UnknownCount` if no scorer has recorded a name.
        """
        unread = unread_value((), context)
        needed = self._names_to_read()
        own_names = names_in(records)
        if needed <= own_names:
            return Reading(unread)
        beside = context.beside
        others = {scorer: names_in(rows) for scorer, rows in beside.items()}
        if any(needed <= names for names in others.values()):
            return None
        all_names = own_names.union(*others.values(), names_in(together(beside)))
        missing = sorted(needed - all_names)
        if missing:
            close = nearest(missing[0], sorted(all_names))
            listed = ", ".join(sorted(all_names)[:12])
            if close:
                fix = f"did you mean {close!r}?"
            else:
                fix = f"known names: {listed}"
            raise UnknownCount(
                f"no scorer gave {missing[0]!r}",
                where=f"{WHERE}, metric {self.metric!r}",
                fix=fix,
            )
        if _is_first(context):
            return Reading(unread, is_joint=True)
        return None

    def _flags(self, records: Sequence[ScoreRecord]) -> tuple[str, ...]:
        """Return a flag with the number of answers that could not be read and have no counts in `details`."""
        in_values: set[str] = set()
        for record in records:
            prefix = f"{record.scorer}."
            for name in record.values:
                in_values.update((name, name.removeprefix(prefix)))
        in_details = self._names_to_read() - in_values
        lacking = 0
        for record in records:
            if record.outcome not in COUNTED_AS_ZERO:
                continue
            numbers = [number_named(record, name) for name in in_details]
            lacking += None in numbers
        if not lacking:
            return ()
        return (f"{plural(lacking, 'unread answer')} without counts",)

    def _names_to_read(self) -> set[str]:
        """Return the names of all values and details in the expressions of the counts."""
        needed: set[str] = set()
        for members in self._members():
            for member in members:
                needed.update(Expression.parse(member, WHERE).names())
        needed.discard(ROUNDS)
        return needed

    def _members(self) -> list[list[str]]:
        """Return, for each count, the list of expressions to add up."""
        if not self.counts:
            raise UsageError(
                "no counts",
                where=WHERE,
                fix="counts: {right: exact_match}",
            )
        members = []
        for name, count in self.counts.items():
            if isinstance(count, (str, int, float)):
                members.append([str(count)])
                continue
            if not isinstance(count, Sequence):
                raise UsageError(
                    f"count {name!r} is not an expression: {count!r}",
                    where=WHERE,
                    fix="in YAML put an expression with a comma into quotes",
                )
            # Entries of a list are names, not expressions.
            members.append([f"`{entry}`" for entry in count])
            if not members[-1]:
                raise UsageError(f"count {name!r} is empty", where=WHERE)
        return members

    def _ends(self) -> Ends | None:
        """Return the bounds as numbers, infinite without a limit; None if the formula has no bounds."""
        if self.bounds is None:
            return None
        numbers = list(self.bounds)
        if len(numbers) == 2 and numbers[1] is None:
            numbers[1] = float("inf")
        ends = [float(x) for x in numbers if isinstance(x, (int, float))]
        if len(ends) != 2 or not ends[0] < ends[1]:
            raise UsageError(
                f"bounds {list(self.bounds)} are not two numbers",
                where=WHERE,
                fix="bounds: [0, 1], or [0, null] for a number without a highest value",
            )
        return ends[0], ends[1]


def _is_first(context: SummaryContext) -> bool:
    """Return True for the first scorer of the task. Only for this one, a formula of several scorers is computed."""
    return next(iter(context.beside), context.scorer) == context.scorer

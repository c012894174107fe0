"""Named grades of a judge: the replies it may give, and the metric values for each grade.

grades: {A: correct, B: incorrect, C: not_attempted}     each grade is a metric that is 1
grades: {good: 1, fair: 0.5, poor: 0}                    each grade is a number
grades: {A: {right: 1, tried: 1}, B: {tried: 1}, C: {}}  each grade gives several numbers, by default 0
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...core import UsageError, shorten
from ...core.score import Bounds
from .judge_prompts import Scale

FORMS = (
    "write {A: correct, B: incorrect}, {good: 1, poor: 0}, or {A: {right: 1}, B: {}}"
)


@dataclass(frozen=True, slots=True)
class Grades:
    """The named grades of a judge, the best first, with the metric values for each grade."""

    values: Mapping[str, float | Mapping[str, float]]
    metrics: tuple[str, ...] = field(default=())
    """The names of the metrics; empty if each grade is one number."""

    @classmethod
    def of(cls, grades: object, where: str) -> "Grades":
        """Read the scorer option `grades` in any of its three forms. Raise `UsageError` for anything else."""
        if isinstance(grades, (list, tuple)):
            grades = {grade: str(grade).lower() for grade in grades}
        if not isinstance(grades, Mapping) or len(grades) < 2:
            raise UsageError(
                f"grades must name at least two grades, got {shorten(grades)}",
                where=where,
                fix=FORMS,
            )
        names = [_name(grade) for grade in grades]
        numbers: dict[str, float] = {}
        rows: dict[str, dict[str, float]] = {}
        for name, entry in zip(names, grades.values(), strict=True):
            value = _entry(entry)
            if isinstance(value, float):
                numbers[name] = value
            elif value is not None:
                rows[name] = value
        folded = {name.strip().casefold() for name in names} - {""}
        if len(numbers) + len(rows) < len(names) or len(folded) < len(names):
            raise UsageError(
                f"each grade needs a name of its own and a number or metric: {shorten(grades)}",
                where=where,
                fix=FORMS,
            )
        if numbers and rows:
            raise UsageError(
                f"some grades are numbers and others are names: {shorten(grades)}",
                where=where,
                fix=FORMS,
            )
        if numbers:
            return cls(numbers)
        metrics = tuple(dict.fromkeys(name for row in rows.values() for name in row))
        if not metrics:
            raise UsageError("no grade gives a number", where=where, fix=FORMS)
        blank = dict.fromkeys(metrics, 0.0)
        filled = {grade: {**blank, **row} for grade, row in rows.items()}
        return cls(filled, metrics)

    @property
    def scale(self) -> Scale:
        """The replies that the judge may give."""
        listed = ", ".join(f'"{grade}"' for grade in self.values)
        form = f'{{"grade": G, "reason": "…"}} where G is one of {listed}'
        return Scale("grade", form, tuple(self.values))

    @property
    def bounds(self) -> Bounds | Mapping[str, Bounds]:
        """The lowest and the highest value; for named metrics, a mapping from metric to both values."""
        rows: list[Mapping[str, float]] = []
        numbers: list[float] = []
        for value in self.values.values():
            if isinstance(value, Mapping):
                rows.append(value)
            else:
                numbers.append(value)
        if not rows:
            return _ends(numbers)
        ends: dict[str, Bounds] = {}
        for name in self.metrics:
            ends[name] = _ends([row[name] for row in rows])
        return ends

    @property
    def best(self) -> float:
        """The value of the best grade; with named metrics, its value for the first metric."""
        first = next(iter(self.values.values()))
        if isinstance(first, Mapping):
            return next(iter(first.values()))
        return first


def _entry(entry: object) -> float | dict[str, float] | None:
    """Return the value of one grade in the option `grades`, or its values by metric; None if it is not valid."""
    if isinstance(entry, (bool, int, float)):
        return float(entry)
    if isinstance(entry, str) and entry:
        return {entry: 1.0}
    if not isinstance(entry, Mapping):
        return None
    numbers: dict[str, float] = {}
    for name, number in entry.items():
        if not isinstance(number, (bool, int, float)):
            return None
        numbers[str(name)] = float(number)
    return numbers


def _name(grade: object) -> str:
    if isinstance(grade, bool):
        # Other YAML readers read these words as booleans.
        return "yes" if grade else "no"
    return str(grade)


def _ends(numbers: list[float]) -> tuple[float, float]:
    """Return the lowest and the highest value. If all are equal, widen the range to include 0 and 1."""
    low = min(numbers)
    high = max(numbers)
    if low < high:
        return (low, high)
    return (min(low, 0.0), max(high, 1.0))

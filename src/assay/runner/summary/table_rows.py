"""Make the rows of the results table from the results of all summarizers.

The value of a row is finite or missing. If it is missing, the row reports the original
value, such as infinity. A row is flagged if samples have no score. Two results with the
same name get different names from the options of their summarizers. Identical results
become one row.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from ...core import UNRESOLVED, Result, Spec
from ...core.record import CUT_ANSWERS
from ...summarizers.units import failure_flags
from ..plan.labels import differing_options


@dataclass(frozen=True, slots=True)
class SummarizedRow:
    """A result, together with the summarizer that computed it."""

    summarizer: str
    options: Mapping[str, Any]
    code: Any
    """The function of a user's summarizer. Summarizers with the same function count as the same."""
    result: Result

    @classmethod
    def of(
        cls,
        name: str,
        entry: object,
        summarizer: object,
        result: Result,
    ) -> "SummarizedRow":
        """Create an instance from the summarizer's name and its entry in the task."""
        if isinstance(entry, (str, Mapping, Spec)):
            options = dict(Spec.of(entry).options)
        elif is_dataclass(entry) and not isinstance(entry, type):
            options = {
                field.name: getattr(entry, field.name) for field in fields(entry)
            }
        else:
            options = {}
        return cls(
            name,
            options,
            getattr(summarizer, "function", None),
            checked_result(result),
        )


def unique_rows(results: Sequence[SummarizedRow]) -> list[Result]:
    """Return the results without duplicates.

    Results with the same name get their options appended: `overall(by=topic)`.
    """
    by_name: dict[str, list[SummarizedRow]] = {}
    for row in results:
        rivals = by_name.setdefault(row.result.metric, [])
        if not any(_same(row, other) for other in rivals):
            rivals.append(row)
    return [result for rivals in by_name.values() for result in _with_labels(rivals)]


def _same(row: SummarizedRow, other: SummarizedRow) -> bool:
    """Return True if both rows report the same result: the same summarizer twice, or two with equal values."""
    if row.summarizer == other.summarizer:
        return row.options == other.options and row.code is other.code
    value = row.result.value
    other_value = other.result.value
    if value is None or other_value is None:
        return value is other_value
    return math.isclose(value, other_value)


def _with_labels(rivals: Sequence[SummarizedRow]) -> Iterator[Result]:
    """Yield the results that share a name, each with a label added to its name."""
    if len(rivals) == 1:
        yield rivals[0].result
        return
    labels = [_label(row, rivals) for row in rivals]
    for number, row in enumerate(rivals, 1):
        label = labels[number - 1]
        if not label or labels.count(label) > 1:
            label = f"{label}#{number}"
        yield replace(row.result, metric=f"{row.result.metric}({label})")


def _label(
    row: SummarizedRow,
    rivals: Sequence[SummarizedRow],
) -> str:
    """Return the label that distinguishes a row from others with the same name: summarizer name, or else options."""
    alike = [other for other in rivals if other.summarizer == row.summarizer]
    if len(alike) == 1:
        return row.summarizer
    return differing_options(row.options, [other.options for other in alike])


def checked_result(result: Result) -> Result:
    """Return a result that can be written as JSON: other numbers become None.

    Add a flag if many samples have no score.
    """
    flags = result.flags
    if not any(flag.startswith("unresolved") for flag in flags):
        flags = (*flags, *failure_flags(_unresolved(result)))
    if flags != result.flags:
        result = replace(result, flags=flags)
    return _finite_result(result)


def with_cut_answers(
    results: Sequence[Result],
    cut: int,
) -> list[Result]:
    """Add to each result the number of answers that were scored although `max_tokens` cut them."""
    counted = []
    for result in results:
        scored = cut - result.outcomes.get("truncated", 0)
        if scored > 0:
            details = {**result.details, CUT_ANSWERS: scored}
            result = replace(result, details=details)
        counted.append(result)
    return counted


_NUMBERS = ("value", "stderr", "ci", "bounds", "parsed_value", "details", "groups")


def finite(value: object) -> object:
    """Replace every number that is not finite by None. Return the same object if all are finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Result):  # in `groups`
        return _finite_result(value)
    if isinstance(value, Mapping):
        inner = {name: finite(member) for name, member in value.items()}
        if all(inner[name] is value[name] for name in inner):
            return value
        return inner
    if isinstance(value, (list, tuple)):
        listed = [finite(member) for member in value]
        if all(a is b for a, b in zip(listed, value, strict=True)):
            return value
        return type(value)(listed)
    return value


def _finite_result(result: Result) -> Result:
    """Replace non-finite numbers of a result by None. Add a flag if its value is one of them."""
    changes: dict[str, Any] = {}
    for name in _NUMBERS:
        value = getattr(result, name)
        number = finite(value)
        if number is not value:
            # An interval with only one finite end is dropped.
            changes[name] = None if name in ("ci", "bounds") else number
    if "value" in changes:
        changes["flags"] = (*result.flags, f"not a finite number: {result.value}")
    if changes:
        return replace(result, **changes)
    return result


def _unresolved(result: Result) -> float:
    """Return the fraction of samples that have no score."""
    total = sum(result.outcomes.values())
    if total:
        return (
            sum(result.outcomes.get(str(outcome), 0) for outcome in UNRESOLVED) / total
        )
    return 0.0

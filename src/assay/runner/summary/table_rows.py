"""Rows of the table: what holds for the results of every summarizer, shipped or one's own.

A number is finite or it is not there, and the row says what it was. Samples without a verdict are flagged. Two results
of one name are told apart by what sets their summarizers apart; the same result twice is one row.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from ...core import UNRESOLVED, Result, Spec
from ...summarizers.units import failure_flags
from ..plan.labels import differing_options


@dataclass(frozen=True, slots=True)
class Made:
    """A result, and who made it."""

    summarizer: str
    options: Mapping[str, Any]
    code: Any
    """The function behind a summarizer of one's own."""
    result: Result

    @classmethod
    def of(cls, name: str, entry: Any, summarizer: Any, result: Result) -> "Made":
        """By the name and the entry under which a task has the summarizer."""
        if isinstance(entry, (str, Mapping, Spec)):
            options = dict(Spec.of(entry).options)
        else:
            is_built = is_dataclass(entry) and not isinstance(entry, type)
            options = (
                {field.name: getattr(entry, field.name) for field in fields(entry)}
                if is_built
                else {}
            )
        return cls(
            name, options, getattr(summarizer, "function", None), checked_result(result)
        )


def rows_apart(results: Sequence[Made]) -> list[Result]:
    """One row for each number: those of one name get what their summarizers differ in, as `overall(by=topic)`."""
    by_name: dict[str, list[Made]] = {}
    for one in results:
        rivals = by_name.setdefault(one.result.metric, [])
        if not any(_same(one, other) for other in rivals):
            rivals.append(one)
    return [result for rivals in by_name.values() for result in _named(rivals)]


def _same(one: Made, other: Made) -> bool:
    """Whether two speak of one number: one summarizer named twice, or two that agree, as a mean and one beside it."""
    if one.summarizer == other.summarizer:
        return one.options == other.options and one.code is other.code
    mine, its = one.result.value, other.result.value
    return mine is its if mine is None or its is None else math.isclose(mine, its)


def _named(rivals: Sequence[Made]) -> Iterator[Result]:
    if len(rivals) == 1:
        yield rivals[0].result
        return
    labels = [_label(one, rivals) for one in rivals]
    for place, (one, label) in enumerate(zip(rivals, labels, strict=True), 1):
        label = label if label and labels.count(label) == 1 else f"{label}#{place}"
        yield replace(one.result, metric=f"{one.result.metric}({label})")


def _label(one: Made, rivals: Sequence[Made]) -> str:
    """The name of the summarizer where no other has it; else the options in which it differs from those that do."""
    alike = [other for other in rivals if other.summarizer == one.summarizer]
    if len(alike) == 1:
        return one.summarizer
    return differing_options(one.options, [other.options for other in alike])


def checked_result(result: Result) -> Result:
    """The result with nothing in it that JSON has no word for, and with its failures flagged."""
    flags = result.flags
    if not any(flag.startswith("unresolved") for flag in flags):
        flags = (*flags, *failure_flags(_unresolved(result)))
    return finite(result if flags == result.flags else replace(result, flags=flags))  # type: ignore[no-any-return]


_NUMBERS = ("value", "stderr", "ci", "bounds", "parsed_value", "details", "groups")


def finite(value: Any) -> Any:
    """The same with `None` for every number that is not finite; what has none of them is returned as it is."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Result):
        return _finite_result(value)
    if isinstance(value, Mapping):
        inner = {name: finite(one) for name, one in value.items()}
        return value if all(inner[name] is value[name] for name in inner) else inner
    if isinstance(value, (list, tuple)):
        listed = [finite(one) for one in value]
        return (
            value
            if all(a is b for a, b in zip(listed, value, strict=True))
            else type(value)(listed)
        )
    return value


def _finite_result(result: Result) -> Result:
    changes: dict[str, Any] = {}
    for name in _NUMBERS:
        value = getattr(result, name)
        if (number := finite(value)) is not value:
            # Half an interval is none.
            changes[name] = None if name in ("ci", "bounds") else number
    if "value" in changes:
        changes["flags"] = (*result.flags, f"not a finite number: {result.value}")
    return replace(result, **changes) if changes else result


def _unresolved(result: Result) -> float:
    total = sum(result.outcomes.values())
    return (
        sum(result.outcomes.get(str(outcome), 0) for outcome in UNRESOLVED) / total
        if total
        else 0.0
    )

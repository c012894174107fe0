"""The numbers of a score record by name: its values, and the numbers in its details.

`is_correct` is a value or a detail of the record's own scorer; `judge.is_correct` names the scorer, too.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..core import UNRESOLVED, ScoreRecord
from .expressions import ROUNDS, is_number

_ROUND = re.compile(r"(?:^|\.)round_(\d+)$")
__all__ = ["ROUNDS", "names_in", "number_named", "together"]


def number_named(record: ScoreRecord, name: str) -> object:
    """Return a number of a record by its name; None if it has none, a list for `rounds`."""
    if name == ROUNDS:
        return _rounds(record) or None
    for key in (name, f"{record.scorer}.{name}"):
        value = record.values.get(key)
        if value is not None and is_number(value):
            return float(value)
    member = name.removeprefix(f"{record.scorer}.")
    for key in (name, member):
        detail = record.details.get(key)
        if detail is not None and is_number(detail):
            return float(detail)
    return None


def _rounds(record: ScoreRecord) -> list[float]:
    """Return the values of all rounds of a dialogue, in order."""
    numbered = []
    for key, value in record.values.items():
        match = _ROUND.search(key)
        if match is not None and value is not None:
            numbered.append((int(match[1]), float(value)))
    return [value for _, value in sorted(numbered)]


def names_in(records: Iterable[ScoreRecord]) -> set[str]:
    """Return all names under which the records have numbers."""
    names: set[str] = set()
    shapes: set[tuple[str, ...]] = set()
    for record in records:
        members = tuple(k for k, v in record.details.items() if is_number(v))
        shape = (record.scorer, *record.values, "", *members)
        if shape in shapes:
            continue
        shapes.add(shape)
        prefix = f"{record.scorer}."
        for key in record.values:
            names.update((key, key.removeprefix(prefix)))
        for member in members:
            names.update((member, f"{prefix}{member}"))
    return names


def together(beside: Mapping[str, Sequence[ScoreRecord]]) -> Iterator[ScoreRecord]:
    """Yield one record for each answer, with the numbers of all scorers. Those of the first scorer need no prefix.

    An answer without a verdict from one of the scorers is unresolved.
    """
    joined: dict[tuple[str, int], ScoreRecord] = {}
    for records in beside.values():
        for record in records:
            key = record.id, record.epoch
            first = joined.get(key)
            prefixed = _with_prefixes(record)
            joined[key] = prefixed if first is None else _merge(first, prefixed)
    yield from joined.values()


def _with_prefixes(record: ScoreRecord) -> ScoreRecord:
    """Return the record with its scorer's name before the names of its details."""
    details: dict[str, Any] = {}
    for name, value in record.details.items():
        if is_number(value):
            details[name] = value
            details[f"{record.scorer}.{name}"] = value
    return replace(record, details=details, candidates=())


def _merge(first: ScoreRecord, other: ScoreRecord) -> ScoreRecord:
    """Return one record of two scorers' verdicts on the same answer."""
    values = {**other.values, **first.values}
    details = {**other.details, **first.details}
    outcome = first.outcome
    if other.outcome in UNRESOLVED and first.outcome not in UNRESOLVED:
        outcome = other.outcome
    return replace(first, values=values, details=details, outcome=outcome)

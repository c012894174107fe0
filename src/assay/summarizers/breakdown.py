"""Breakdowns: a small result for each value of each tag, and the macro and micro mean over them."""

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..core import Result
from .statistics import Estimate, estimate_mean, macro, micro
from .table import Table
from .units import Units

MAX_GROUPS = 1000
"""A tag with more values than this is a name, not a breakdown: it is counted and left out."""


def break_down(
    table: Table,
    units: Units,
    common: Mapping[str, Any],
    *,
    binary: bool,
    ends: tuple[float, float] | None = None,
) -> tuple[dict[str, dict[str, Result]], dict[str, Any]]:
    """`{tag: {value: result}}`, and for each tag the macro and micro mean over its values; `ends` as for a mean."""
    by_name = _tag_sets_by_name(table)
    if not by_name:
        return {}, {}
    values, clusters = _by_tag_set(table, units)
    outcomes = _outcomes_by_tag_set(table)
    groups: dict[str, dict[str, Result]] = {}
    aggregates: dict[str, Any] = {}
    for name, members in by_name.items():
        if len(members) > MAX_GROUPS:
            aggregates[name] = {
                "values": len(members),
                "note": f"more than {MAX_GROUPS} values: not broken down",
            }
            continue
        estimates: list[Estimate] = []
        groups[name] = {}
        for value in sorted(members):
            codes = members[value]
            numbers = _joined([values[code] for code in codes])
            counts: Counter[str] = Counter()
            for code in codes:
                counts.update(outcomes[code])
            fields: dict[str, Any] = {
                "value": None,
                "interval": "none: nothing was scored",
            }
            if numbers:
                keys = _joined([clusters[code] for code in codes]) if clusters else None
                estimate = estimate_mean(numbers, keys, binary=binary, ends=ends)
                estimates.append(estimate)
                fields = within(interval_of(estimate), ends)
            groups[name][value] = Result(
                **{
                    key: common[key]
                    for key in (
                        "task",
                        "model",
                        "metric",
                        "protocol",
                        "higher_is_better",
                    )
                },
                n=len(numbers),
                n_expected=None,
                outcomes=dict(counts),
                **fields,
            )
        if estimates:
            aggregates[name] = {
                "macro": _plain(macro(estimates), ends),
                "micro": _plain(micro(estimates), ends),
            }
    return groups, aggregates


def interval_of(estimate: Estimate, flags: Sequence[str] = ()) -> dict[str, Any]:
    """An estimate as the fields of a result, with what its interval must say added to its flags.

    Without an interval it has no standard error either, which would be 0.
    """
    ci = (
        None
        if estimate.low is None or estimate.high is None
        else (estimate.low, estimate.high)
    )
    return {
        "value": estimate.value,
        "stderr": estimate.stderr if ci else None,
        "ci": ci,
        "interval": estimate.method
        if ci
        else f"none: {estimate.method.rpartition('n/a: ')[2]}",
        "clusters": estimate.clusters,
        "flags": (*flags, estimate.unreliable) if estimate.unreliable else tuple(flags),
    }


def within(
    interval: dict[str, Any], ends: tuple[float, float] | None
) -> dict[str, Any]:
    """An interval that does not promise values the score cannot have; `ends` are its lowest and highest."""
    ci = interval["ci"]
    if ci is None or ends is None or (ends[0] <= ci[0] and ci[1] <= ends[1]):
        return interval
    return {
        **interval,
        "ci": (max(ci[0], ends[0]), min(ci[1], ends[1])),
        "interval": f"{interval['interval']}, cut to bounds",
    }


def _tag_sets_by_name(table: Table) -> dict[str, dict[str, list[int]]]:
    """For each tag and each of its values, the sets of tags it occurs in."""
    found: dict[str, dict[str, list[int]]] = {}
    for code, tags in enumerate(table.tag_sets):
        for name, value in tags:
            found.setdefault(name, {}).setdefault(value, []).append(code)
    return found


def _by_tag_set(
    table: Table, units: Units
) -> tuple[list["array[float]"], list["array[int]"]]:
    values = [array("d") for _ in table.tag_sets]
    for row, value in zip(units.rows, units.values, strict=True):
        values[table.tags[row]].append(value)
    if table.clusters is None:
        return values, []
    clusters = [array("l") for _ in table.tag_sets]
    for row in units.rows:
        clusters[table.tags[row]].append(table.clusters[row])
    return values, clusters


def _outcomes_by_tag_set(table: Table) -> list[dict[str, int]]:
    counts: list[dict[str, int]] = [{} for _ in table.tag_sets]
    for (tags, outcome), n in Counter(
        zip(table.tags, table.outcomes, strict=True)
    ).items():
        counts[tags][table.outcome_names[outcome]] = n
    return counts


def _joined(parts: Sequence["array[Any]"]) -> Sequence[Any]:
    if len(parts) == 1:
        return parts[0]
    return [number for part in parts for number in part]


def _plain(estimate: Estimate, ends: tuple[float, float] | None) -> dict[str, Any]:
    fields = within(interval_of(estimate), ends)
    plain = {
        "value": fields["value"],
        "stderr": fields["stderr"],
        "ci": fields["ci"] and list(fields["ci"]),
    }
    return (
        {**plain, "unreliable": estimate.unreliable} if estimate.unreliable else plain
    )

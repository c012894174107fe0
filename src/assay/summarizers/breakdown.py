"""Breakdowns: a result for each value of each tag, and the macro and micro mean of these results."""

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..core import Result
from .score_table import Table
from .statistics import Estimate, macro, micro
from .units import Units, estimate_weighted

MAX_GROUPS = 1000
"""The maximum number of values of a tag with a breakdown.

A tag with more values is probably an identifier. Its values are only counted.
"""


def in_order(values: Iterable[str]) -> list[str]:
    """Sort the values of a tag in natural order: 100 before 1600, `step 2` before `step 10`."""
    distinct = list(values)
    numbers: dict[str, float] = {}
    for value in distinct:
        number = _as_number(value)
        if number is not None:
            numbers[value] = number
    if len(numbers) == len(distinct):
        return sorted(distinct, key=lambda value: (numbers[value], value))
    return sorted(distinct, key=lambda value: (_by_digits(value), value))


def _as_number(value: str) -> float | None:
    """Return the value as a finite number; None if it is not a finite number."""
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _by_digits(value: str) -> list[tuple[str, int]]:
    """Return a sort key that compares numbers inside a text as numbers: `level 10` comes after `level 9`."""
    runs = re.findall(r"([^0-9]*)([0-9]*)", value)
    return [(text, int(digits) if digits else -1) for text, digits in runs]


def break_down(
    table: Table,
    units: Units,
    common: Mapping[str, Any],
    *,
    binary: bool,
    ends: tuple[float, float] | None = None,
) -> tuple[dict[str, dict[str, Result]], dict[str, Any]]:
    """Return the results by tag and value, `{tag: {value: result}}`, and the macro and micro mean for each tag."""
    by_name = _tag_sets_by_name(table)
    if not by_name:
        return {}, {}
    values, clusters, weights = _by_tag_set(table, units)
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
        for value in in_order(members):
            codes = members[value]
            numbers = _concatenate([values[code] for code in codes])
            counts: Counter[str] = Counter()
            for code in codes:
                counts.update(outcomes[code])
            fields: dict[str, Any] = {
                "value": None,
                "interval": "none: nothing was scored",
            }
            if numbers:
                if clusters:
                    keys = _concatenate([clusters[code] for code in codes])
                else:
                    keys = None
                if weights:
                    shares = _concatenate([weights[code] for code in codes])
                else:
                    shares = None
                estimate = estimate_weighted(numbers, shares, keys, binary, ends)
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
            aggregates[name] = {"macro": _plain(macro(estimates), ends)}
            if not weights:
                aggregates[name]["micro"] = _plain(micro(estimates), ends)
    return groups, aggregates


def interval_of(
    estimate: Estimate,
    flags: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the fields of a result for an estimate, with a flag if its interval is unreliable.

    An estimate without an interval also gets no standard error, because it would be 0.
    """
    if estimate.low is None or estimate.high is None:
        ci = None
    else:
        ci = (estimate.low, estimate.high)
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
    interval: dict[str, Any],
    ends: tuple[float, float] | None,
) -> dict[str, Any]:
    """Return an interval limited to `ends`, the lowest and the highest value of the score."""
    ci = interval["ci"]
    if ci is None or ends is None or (ends[0] <= ci[0] and ci[1] <= ends[1]):
        return interval
    return {
        **interval,
        "ci": (max(ci[0], ends[0]), min(ci[1], ends[1])),
        "interval": f"{interval['interval']}, cut to bounds",
    }


def _tag_sets_by_name(table: Table) -> dict[str, dict[str, list[int]]]:
    """Return the indexes of the tag sets with each tag and value, by tag and then by value.

    A tag set is a combination of tags that occurs on a sample.
    """
    codes: dict[str, dict[str, list[int]]] = {}
    for code, tags in enumerate(table.tag_sets):
        for name, value in tags:
            codes.setdefault(name, {}).setdefault(value, []).append(code)
    return codes


def _by_tag_set(
    table: Table,
    units: Units,
) -> tuple[list["array[float]"], list["array[int]"], list["array[float]"]]:
    """Split values, clusters and weights by tag set. Each becomes a list with one array for each tag set.

    The list of clusters or weights is empty if the table has none.
    """
    rows = units.rows
    tag_sets = [table.tags[row] for row in rows]
    count = len(table.tag_sets)
    values = _split_by_tag_set(units.values, tag_sets, count, "d")
    clusters: list[array[int]] = []
    weights: list[array[float]] = []
    all_clusters = table.clusters
    if all_clusters is not None:
        own_clusters = [all_clusters[row] for row in rows]
        clusters = _split_by_tag_set(own_clusters, tag_sets, count, "l")
    own_weights = table.weights_of(rows)
    if own_weights is not None:
        weights = _split_by_tag_set(own_weights, tag_sets, count, "d")
    return values, clusters, weights


def _split_by_tag_set(
    numbers: Sequence[Any],
    tag_sets: Sequence[int],
    count: int,
    typecode: str,
) -> list["array[Any]"]:
    """Split numbers into `count` arrays. `tag_sets` has the index of the array for each number."""
    parts: list[array[Any]] = [array(typecode) for _ in range(count)]
    for tag_set, number in zip(tag_sets, numbers, strict=True):
        parts[tag_set].append(number)
    return parts


def _outcomes_by_tag_set(table: Table) -> list[dict[str, int]]:
    counts: list[dict[str, int]] = [{} for _ in table.tag_sets]
    for (tags, outcome), n in Counter(
        zip(table.tags, table.outcomes, strict=True)
    ).items():
        counts[tags][table.outcome_names[outcome]] = n
    return counts


def _concatenate(parts: Sequence["array[Any]"]) -> Sequence[Any]:
    if len(parts) == 1:
        return parts[0]
    return [number for part in parts for number in part]


def _plain(
    estimate: Estimate,
    ends: tuple[float, float] | None,
) -> dict[str, Any]:
    fields = within(interval_of(estimate), ends)
    plain = {
        "value": fields["value"],
        "stderr": fields["stderr"],
        "ci": fields["ci"] and list(fields["ci"]),
    }
    if estimate.unreliable:
        return {**plain, "unreliable": estimate.unreliable}
    return plain

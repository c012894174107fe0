"""Breakdowns: a table for each tag, with a row for each value and a column for each number with its interval."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..core import Result
from ..core.record import result_from_plain
from .grid import text_grid
from .table import format_interval, format_value, short_names

MOST_NUMBERS = 4
"""Maximum number of number columns. `summary.json` has all of them."""


class GroupTable(NamedTuple):
    """The groups of one tag for one task and model."""

    title: str
    headings: tuple[str, ...]
    rows: list[tuple[str, ...]]


def group_tables(results: Sequence[Result]) -> list[GroupTable]:
    """Return the breakdowns of some results. A tag with a single value is left out."""
    names = short_names({result.model for result in results})
    tasks = {result.task for result in results}
    by_pair: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        pair = (result.task, result.model)
        by_pair.setdefault(pair, []).append(result)

    tables = []
    for (task, model), members in by_pair.items():
        title = []
        if len(tasks) > 1:
            title.append(task)
        if len(names) > 1:
            title.append(names[model])
        for tag in _tags_of(members):
            table = _table(" · ".join(title), tag, members)
            if table is not None:
                tables.append(table)
    return tables


def _tags_of(results: Sequence[Result]) -> list[str]:
    """Return the tags of all results, each once."""
    tags: dict[str, None] = {}
    for result in results:
        tags.update(dict.fromkeys(result.groups))
    return list(tags)


def group_lines(results: Sequence[Result]) -> list[str]:
    """Return the breakdowns as lines for a terminal."""
    lines: list[str] = []
    for table in group_tables(results):
        lines.append("")
        if table.title:
            lines.append(table.title)
        lines += text_grid(table.headings, table.rows, (1,), indent="  ")
    return lines[1:]


def _table(title: str, tag: str, results: Sequence[Result]) -> GroupTable | None:
    """Return the breakdown by one tag, or None if it has a single value."""
    columns: dict[str, dict[str, Result]] = {}
    for result in results:
        groups = _groups_of(result, tag)
        if groups:
            columns[_short(result)] = groups
    counts: dict[str, int] = {}
    for groups in columns.values():
        for name, group in groups.items():
            counts.setdefault(name, group.n)
    if len(counts) < 2:
        return None

    headings = list(columns)[:MOST_NUMBERS]
    rows = []
    for name, n in counts.items():
        row = [name, str(n)]
        for heading in headings:
            group_result = columns[heading].get(name)
            row.append("" if group_result is None else _number(group_result))
        rows.append(tuple(row))
    more = len(columns) - len(headings)
    if more:
        title += f" ({more} more numbers in summary.json)"
    return GroupTable(title, (tag, "n", *headings), rows)


def _groups_of(result: Result, tag: str) -> dict[str, Result]:
    """Return the results of one number by the values of a tag."""
    groups = result.groups.get(tag)
    if not isinstance(groups, Mapping):
        return {}
    results = {}
    for name, group in groups.items():
        group_result = _result(group)
        if group_result is not None:
            results[str(name)] = group_result
    return results


def _result(group: object) -> Result | None:
    if isinstance(group, Mapping):
        return result_from_plain(group) if "metric" in group else None
    return group if isinstance(group, Result) else None


def _short(result: Result) -> str:
    """Return the metric, with its direction if lower is better."""
    if result.higher_is_better:
        return result.metric
    return f"{result.metric} ↓"


def _number(result: Result) -> str:
    """Return a number with its interval."""
    value = format_value(result.value)
    interval = format_interval(result)
    return f"{value} {interval}"

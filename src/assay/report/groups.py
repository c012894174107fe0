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
    models = short_names({result.model for result in results})
    cells: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        cells.setdefault((result.task, result.model), []).append(result)
    tables = []
    for (task, model), cell_results in cells.items():
        whose = " · ".join(
            [task] * (len({t for t, _ in cells}) > 1)
            + [models[model]] * (len(models) > 1)
        )
        tags = dict.fromkeys(tag for result in cell_results for tag in result.groups)
        for tag in tags:
            table = _table(whose, tag, cell_results)
            if table:
                tables.append(table)
    return tables


def group_lines(results: Sequence[Result]) -> list[str]:
    """Return the breakdowns as lines for a terminal."""
    lines: list[str] = []
    for table in group_tables(results):
        lines += ["", table.title] if table.title else [""]
        lines += text_grid(table.headings, table.rows, (1,), indent="  ")
    return lines[1:]


def _table(whose: str, tag: str, results: Sequence[Result]) -> GroupTable | None:
    columns: dict[str, dict[str, Result]] = {}
    for result in results:
        groups = result.groups.get(tag)
        if isinstance(groups, Mapping):
            results_of = {name: _result(group) for name, group in groups.items()}
        else:
            results_of = {}
        by_name = {
            str(name): group for name, group in results_of.items() if group is not None
        }
        if by_name:
            columns[_short(result)] = by_name
    names = list(dict.fromkeys(name for groups in columns.values() for name in groups))
    if len(names) < 2:
        return None
    first_columns = dict(list(columns.items())[:MOST_NUMBERS])
    rows = []
    for name in names:
        first = next(groups[name] for groups in columns.values() if name in groups)
        cells = [
            _number(groups[name]) if name in groups else ""
            for groups in first_columns.values()
        ]
        rows.append((name, str(first.n), *cells))
    more = len(columns) - len(first_columns)
    title = whose + (f" ({more} more numbers in summary.json)" if more else "")
    return GroupTable(title, (tag, "n", *first_columns), rows)


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
    return f"{format_value(result.value)} {format_interval(result)}"

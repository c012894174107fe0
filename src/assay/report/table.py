"""The result table, and the tables of its breakdowns."""

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from ..core import Result
from ..core.record import CUT_ANSWERS, FLOOR, result_from_plain
from .grid import html_grid, markdown_grid, printable, text_grid

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

LONGEST_NAME = 40
"""Maximum width of a model's name on a terminal. The middle of a longer name is cut out."""
HEADINGS = (
    "Task",
    "Model",
    "Metric",
    "",
    "Value",
    "95 % interval",
    "n / expected",
    "Failures",
)
FLOOR_HEADING = "Floor"
"""The heading of the column with the score of an agent that does nothing, or the chance level."""
RIGHT = frozenset({"Value", "n / expected"})
GAP = 2
"""Blanks between two columns of the table."""
NARROWEST_FAILURES = 24
"""Width that the failures need beside the other columns. With less, the results are printed as blocks."""


def rows_of(results: Sequence[Result]) -> list[tuple[str, ...]]:
    """Return the cells of the table as text, in the order of `headings_of`."""
    has_floors = FLOOR_HEADING in headings_of(results)
    rows = []
    for result in results:
        expected = "?" if result.n_expected is None else result.n_expected
        rows.append(
            (
                result.protocol or result.task,
                result.model,
                result.metric,
                "↑" if result.higher_is_better else "↓",
                format_value(result.value),
                format_interval(result),
                *((format_floor(result),) if has_floors else ()),
                f"{result.n} / {expected}",
                format_failures(result),
            )
        )
    return rows


def headings_of(results: Sequence[Result]) -> tuple[str, ...]:
    """Return the headings of the columns. There is one for floors only if a result has a floor."""
    if not any(format_floor(result) for result in results):
        return HEADINGS
    return (*HEADINGS[:6], FLOOR_HEADING, *HEADINGS[6:])


def format_floor(result: Result) -> str:
    """Return the score of an agent that does nothing, or the chance level: `0.380
    (null)`; empty if the result has neither.
    """
    floor = result.details.get(FLOOR)
    if not isinstance(floor, Mapping):
        return ""
    return f"{format_value(floor.get('value'))} ({floor.get('agent')})"


def format_value(value: float | None) -> str:
    """Return a number rounded to its meaningful digits."""
    if value is None:
        return "n/a"
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    if abs(value) >= 1000:
        return f"{value:,.1f}"
    return f"{value:.3f}"


def format_interval(result: Result) -> str:
    """Return an interval as `[0.61, 0.78]`, or the reason why there is none."""
    if result.ci is None:
        if result.interval.startswith("none"):
            reason = result.interval.partition(":")[2].strip()
        else:
            reason = ""
        return f"none ({reason})" if reason else "n/a"
    low, high = result.ci
    return f"[{format_value(low)}, {format_value(high)}]"


def format_failures(result: Result) -> str:
    """Return the failures as text: `3 unparsed, 1 model_error`. Bounds and flags of the
    result follow, if there are any.
    """
    counts = []
    for name, count in result.outcomes.items():
        if name != "scored" and count:
            counts.append(f"{count} {name}")
    text = ", ".join(counts) or "none"
    cut = result.details.get(CUT_ANSWERS)
    if cut:
        text += f" ({cut} cut by max_tokens, scored)"
    if result.bounds is not None:
        text += f" → {format_value(result.bounds[0])}…{format_value(result.bounds[1])}"
    if result.flags:
        return " ⚑ ".join([text, *result.flags])
    return text


def show_table(
    results: Sequence[Result],
    console: "Console",
) -> None:
    """Print the table to a rich console. Text from models and data is never read as markup.

    Names and numbers are never broken: if the console is too narrow for them, each result is printed on lines of
    its own.
    """
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    names = short_names({result.model for result in results})
    rows = []
    for task, model, *rest in rows_of(results):
        rows.append(
            tuple(Text(printable(cell)) for cell in (task, names[model], *rest))
        )
    headings = headings_of(results)
    widths = []
    for position, heading in enumerate(headings):
        cells = [row[position].cell_len for row in rows]
        widths.append(max([cell_len(heading), *cells]))
    failures_width = console.width - sum(widths[:-1]) - GAP * (len(headings) - 1)
    if failures_width < min(widths[-1], NARROWEST_FAILURES):
        _show_blocks(headings, rows, console)
        return
    table = Table(
        box=None,
        header_style="bold",
        pad_edge=False,
        padding=(0, GAP // 2),
    )
    widths[-1] = min(widths[-1], failures_width)
    for heading, width in zip(headings, widths, strict=True):
        justify: Literal["left", "right"] = "right" if heading in RIGHT else "left"
        table.add_column(
            heading,
            justify=justify,
            overflow="fold",
            width=width,
        )
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _show_blocks(
    headings: Sequence[str],
    rows: Sequence[tuple["Text", ...]],
    console: "Console",
) -> None:
    """Print each result as lines: task and model (once for all their metrics), the numbers, and the failures."""
    from rich.padding import Padding
    from rich.text import Text

    last_title = None
    for row in rows:
        cells = dict(zip(headings, row, strict=True))
        title = f"{cells['Task']} · {cells['Model']}"
        if title != last_title:
            console.print(Text(title, style="bold"))
            last_title = title
        pieces = [
            f"{cells['Metric']} {cells['']}",
            str(cells["Value"]),
            str(cells["95 % interval"]),
        ]
        floor = cells.get(FLOOR_HEADING)
        if floor:
            pieces.append(f"floor {floor}")
        pieces.append(f"n {cells['n / expected']}")
        numbers = Text("  ".join(pieces))
        console.print(Padding(numbers, (0, 0, 0, 2), expand=False))
        failures = str(cells["Failures"])
        if failures != "none":
            line = Text(f"failures: {failures}")
            console.print(Padding(line, (0, 0, 0, 4), expand=False))


def short_names(models: Iterable[str]) -> dict[str, str]:
    """Shorten long paths to their ends, `hf/…/weights.gguf`, unless two models would get the same name."""
    models = sorted(models)
    short = {name: _shorten(name) for name in models}
    return {
        name: name if list(short.values()).count(short[name]) > 1 else short[name]
        for name in models
    }


def _shorten(name: str) -> str:
    pieces = name.split("/")
    if len(name) <= LONGEST_NAME or len(pieces) < 3:
        return name
    first = f"{pieces[0]}/" if pieces[0] else "/"
    return f"{first}…/{pieces[-1]}"


def plain_table(
    results: Sequence[Result],
    width: int = 140,
) -> str:
    """Return the table as text."""
    from rich.console import Console

    buffer = io.StringIO()
    show_table(
        results,
        Console(
            file=buffer,
            width=width,
            no_color=True,
            highlight=False,
        ),
    )
    return buffer.getvalue().rstrip()


def html_table(results: Sequence[Result]) -> str:
    """Return the table for a notebook, with drawn intervals and outcomes. Everything else is escaped."""
    from .charts import interval_dot, outcome_strip
    from .svg import domain_of

    rows = []
    headings = headings_of(results)
    for result, cells in zip(results, rows_of(results), strict=True):
        alike = [other for other in results if other.metric == result.metric]
        scale = result.details.get("scale")
        domain = domain_of(
            [r.value for r in alike],
            [r.ci for r in alike],
            None if scale is None else tuple(scale),
        )
        drawings = (
            interval_dot(result.value, result.ci, domain),
            outcome_strip(result.outcomes),
        )
        rows.append((*cells[:6], drawings[0], *cells[6:], drawings[1]))
    return html_grid((*headings[:6], "", *headings[6:], ""), rows)


def markdown_table(results: Sequence[Result]) -> str:
    """Return the table as Markdown. Names are escaped."""
    return markdown_grid(headings_of(results), rows_of(results))


def result_names(results: Sequence[Result]) -> list[str]:
    """Return `task.metric` for each result, followed by the model if there are several."""
    models = short_names({result.model for result in results})
    several = len(models) > 1
    names = []
    for result in results:
        name = f"{result.task}.{result.metric}"
        if several:
            name += f" ({models[result.model]})"
        names.append(name)
    return names


MOST_NUMBERS = 4
"""The maximum number of metrics in a breakdown table. `summary.json` has all of them."""


class GroupTable(NamedTuple):
    """The breakdown of one task and model by one tag."""

    title: str
    headings: tuple[str, ...]
    rows: list[tuple[str, ...]]


def group_tables(results: Sequence[Result]) -> list[GroupTable]:
    """Return the breakdowns of some results. A tag with only one value is left out."""
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
    """Return the names of all tags for which the results have breakdowns."""
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


def _table(
    title: str,
    tag: str,
    results: Sequence[Result],
) -> GroupTable | None:
    """Return the table of results by one tag; None if the tag has fewer than two values."""
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
    """Return one metric's results for the groups of a tag, by the value of the tag."""
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
    """Return the name of a metric, with its direction if lower is better."""
    if result.higher_is_better:
        return result.metric
    return f"{result.metric} ↓"


def _number(result: Result) -> str:
    """Return a value and its interval as the text of a table cell."""
    value = format_value(result.value)
    interval = format_interval(result)
    return f"{value} {interval}"

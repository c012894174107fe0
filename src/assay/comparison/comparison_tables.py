"""Render a comparison of runs as text, Markdown or HTML: caveats, sentences, results and changed samples."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from ..core import shorten
from ..core.errors import note_line
from ..report import (
    format_value,
    html_grid,
    markdown_grid,
    markdown_text,
    printable,
    text_grid,
)
from ..report.charts import difference_dot
from ..report.grid import TEXT_WIDTH, fits, wrap_line
from ..store import RunReader
from ..store.export import answer_text
from ..store.imported import open_run
from .comparison_rows import Comparison, Flip, Row, format_p, signed
from .several import RunComparison

HEADINGS = (
    "Task",
    "Metric",
    "",
    "Before",
    "After",
    "Difference",
    "95 % interval",
    "p",
    "Better",
    "Worse",
    "n",
    "Verdict",
)
NUMBERS = (3, 4, 5, 7, 8, 9, 10)
FLIPS = 50
"""The number of changed samples that are listed by default for each compared result."""
MOST_SETTINGS = 8
COMPARED = frozenset({"models"})
"""Settings whose differences are not listed, because the user compares exactly these."""
ANSWER_CHARACTERS = 48
FEWEST_ANSWER_CHARACTERS = 10
FLIP_HEADINGS = ("Sample", "Before", "After", "", "Answer before", "Answer after")
Headings = tuple[str, ...]


def text_lines(
    report: RunComparison,
    flips: int | None = None,
    width: int = TEXT_WIDTH,
) -> Iterator[str]:
    """Yield the comparison for a terminal: a table if it fits into `width`, otherwise two lines for each result."""
    for line in (*caveats(report), *report.sentences):
        yield printable(line)
    yield ""
    yield from _numbers(report, width)
    for note in footnotes(report):
        yield from wrap_line(note_line(note), width)
    for title, changed in flip_tables(report, flips):
        yield ""
        yield printable(title)
        yield from _flip_grid(changed, width)


def _numbers(report: RunComparison, width: int) -> Iterator[str]:
    """Yield the table of compared results, or a few lines for each if the table is too wide."""
    headings, rows = table(report)
    shift = len(headings) - len(HEADINGS)
    grid = text_grid(headings, rows, [column + shift for column in NUMBERS])
    if fits(grid, width):
        yield from grid
        return
    for run, name in _named_runs(report):
        for row in run.rows:
            if len(report.runs) > 1:
                run_name = f"{name}: "
            else:
                run_name = ""
            yield from _number_lines(row, run_name, width)


def _number_lines(
    row: Row,
    run_name: str,
    width: int,
) -> Iterator[str]:
    """Yield lines about one compared result: its name and verdict, the values, and the
    number of samples that changed.
    """
    arrow = "↑" if row.higher_is_better else "↓"
    name = f"{run_name}{row.task}.{row.metric}"
    heading = f"{name} {arrow}  {row.verdict}"
    yield from wrap_line(heading, width)
    if row.paired is None:
        return

    cells = _cells(row)
    before, after, difference, interval, p = cells[3:8]
    better, worse, n = cells[8:11]
    values = f"  {before} → {after}, "
    values += f"difference {difference} {interval}, p {p}"
    yield from wrap_line(values, width)

    changed = f"  {better} better, {worse} worse of {n}"
    yield from wrap_line(changed, width)


def _flip_grid(
    changed: Sequence[Sequence[str]],
    width: int,
) -> list[str]:
    """Return the changed samples as a table. Answers are cut so that it fits."""
    rows = [FLIP_HEADINGS, *changed]
    columns = len(FLIP_HEADINGS)
    widths = []
    for column in range(columns):
        longest = max(len(row[column]) for row in rows)
        widths.append(longest)
    *fixed, before, after = widths
    separators = 2 * columns
    free = width - sum(fixed) - separators
    free = max(free, 2 * FEWEST_ANSWER_CHARACTERS)
    # If one column is short, the other gets the free width.
    before = min(before, max(free // 2, free - after))
    after = min(after, free - before)
    cells = []
    for *values, old, new in rows:
        old_cell = _shorten(old, before)
        new_cell = _shorten(new, after)
        cells.append([*values, old_cell, new_cell])
    return text_grid(cells[0], cells[1:], (1, 2), indent="  ")


def _shorten(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    return text[: length - 1] + "…"


def markdown(
    report: RunComparison,
    flips: int | None = None,
    *,
    for_github: bool = False,
) -> str:
    """Return the comparison as Markdown. For GitHub, caveats are an alert and long lists are folded."""
    warnings = [markdown_text(line) for line in caveats(report)]
    parts = [_alert(warnings) if for_github else _bullets(warnings)]
    for sentence in map(markdown_text, report.sentences):
        parts.append(f"### {sentence}" if for_github else f"**{sentence}**")
    parts.append(markdown_grid(*table(report)))
    parts.append(_bullets(map(markdown_text, footnotes(report))))
    for title, changed in flip_tables(report, flips):
        name = markdown_text(title)
        grid = markdown_grid(FLIP_HEADINGS, changed)
        if for_github:
            summary = f"<details><summary>{name}</summary>"
            parts.append(f"{summary}\n\n{grid}\n\n</details>")
        else:
            parts += [name, grid]
    return "\n\n".join(part for part in parts if part) + "\n"


def _alert(lines: Sequence[str]) -> str:
    """Return lines of Markdown as a warning box for GitHub; an empty text if there are no lines."""
    if not lines:
        return ""
    return "> [!WARNING]\n" + "\n".join(f"> {line}<br>" for line in lines)


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def html(report: RunComparison) -> str:
    """Return the comparison as HTML for a notebook, with a drawing of each difference."""
    ranges = _chart_ranges(report)
    headings, rows = table(report)
    column = headings.index("95 % interval") + 1
    body = []
    for row, cells in zip(report.rows, rows, strict=True):
        drawing = _dot(row, ranges)
        body.append(_insert(cells, column, drawing))
    parts = [_paragraph(line) for line in caveats(report)]
    parts += [_paragraph(line, "b") for line in report.sentences]
    parts.append(html_grid(_insert(headings, column, ""), body))
    parts += [_paragraph(line) for line in footnotes(report)]
    return "".join(parts)


def _insert(
    cells: Sequence[str],
    column: int,
    cell: str,
) -> tuple[str, ...]:
    """Return the cells with `cell` inserted before index `column`."""
    return (*cells[:column], cell, *cells[column:])


def _paragraph(line: str, tag: str = "") -> str:
    text = escape(printable(line))
    if tag:
        return f"<p><{tag}>{text}</{tag}></p>"
    return f"<p>{text}</p>"


def _chart_ranges(report: RunComparison) -> dict[str, float]:
    """Return, for each metric, the largest difference or interval end. Charts of the metric use it as their scale."""
    ranges: dict[str, float] = {}
    for row in report.rows:
        if row.paired is None:
            continue
        difference = row.paired.difference
        ends = (difference.value, difference.low or 0.0, difference.high or 0.0)
        largest = 1.1 * max(map(abs, ends))
        ranges[row.metric] = max(ranges.get(row.metric, 1e-9), largest)
    return ranges


def _dot(
    row: Row,
    ranges: Mapping[str, float],
) -> str:
    """Return a small chart of a row's difference. Return an empty text if the row was not compared."""
    if row.paired is None:
        return ""
    difference = row.paired.difference
    ends = None
    if difference.low is not None and difference.high is not None:
        ends = difference.low, difference.high
    return difference_dot(difference.value, ends, row.verdict, ranges[row.metric])


def caveats(report: RunComparison) -> list[str]:
    """Return warnings about other differences between the runs, which might explain differences in the results."""
    lines = []
    for run, name in _named_runs(report):
        prefix = f"{name}: " if len(report.runs) > 1 else ""
        lines += [f"{prefix}{note}" for note in run.notes]
        settings = [row for row in run.settings if row[0] not in COMPARED]
        if settings:
            lines.append(f"{prefix}also different: {_settings(settings)}")
    return lines


def _settings(settings: Sequence[Sequence[str]]) -> str:
    """Return the first few differing settings in one line."""
    texts = []
    for name, before, after in settings[:MOST_SETTINGS]:
        texts.append(f"{name} {before} → {after}")
    more = len(settings) - len(texts)
    if more:
        texts.append(f"and {more} more (--format json has all)")
    return "; ".join(texts)


def table(report: RunComparison) -> tuple[Headings, list[tuple[str, ...]]]:
    """Return the headings and one row for each compared result.

    With several runs or models, the first column names them.
    """
    owners: set[tuple[str, str]] = set()
    names: list[str] = []
    rows: list[tuple[str, ...]] = []
    for run, name in _named_runs(report):
        models = {row.model for row in run.rows}
        for row in run.rows:
            owners.add((run.run, row.model))
            owner = name
            if len(models) > 1:
                owner = f"{name} {row.model}"
            names.append(owner)
            rows.append(_cells(row))
    if len(owners) < 2:
        return HEADINGS, rows
    named_rows = []
    for owner, cells in zip(names, rows, strict=True):
        named_rows.append((owner, *cells))
    return ("Run", *HEADINGS), named_rows


def _named_runs(report: RunComparison) -> Iterator[tuple[Comparison, str]]:
    """Yield each compared run with its short name."""
    yield from zip(report.runs, report.names[1:], strict=True)


def _cells(row: Row) -> tuple[str, ...]:
    """Return the cells of one compared result, in the order of `HEADINGS`."""
    begin = (row.task, row.metric, "↑" if row.higher_is_better else "↓")
    if row.paired is None:
        blanks = [""] * (len(HEADINGS) - len(begin) - 1)
        return (*begin, *blanks, "not compared")
    paired = row.paired
    better = paired.wins
    worse = paired.losses
    if not row.higher_is_better:
        better, worse = worse, better
    return (
        *begin,
        format_value(paired.mean_b),
        format_value(paired.mean_a),
        signed(paired.difference.value, 3),
        _interval_text(paired.difference.low, paired.difference.high),
        format_p(row.p_adjusted),
        f"{better:,}",
        f"{worse:,}",
        f"{paired.n:,}",
        row.verdict,
    )


def _interval_text(
    low: float | None,
    high: float | None,
) -> str:
    if low is None or high is None:
        return "none"
    return f"[{signed(low, 3)}, {signed(high, 3)}]"


def footnotes(report: RunComparison) -> Iterator[str]:
    """Yield the notes below the table: results that were not compared or are unreliable, and bootstrap intervals."""
    compared = 0
    for run, name in _named_runs(report):
        prefix = f"{name} " if len(report.runs) > 1 else ""
        for row in run.rows:
            title = f"{prefix}{row.task}.{row.metric}"
            yield from _row_notes(row, title)
            compared += row.paired is not None
    if compared > 1:
        yield "p values are adjusted over all rows by Holm's method"


def _row_notes(row: Row, title: str) -> Iterator[str]:
    """Yield the notes below the table about one compared result."""
    if row.paired is None:
        yield f"{title} not compared: {row.refused}"
        return
    if row.model != row.baseline_model:
        yield f"{title}: {row.model} against {row.baseline_model}"
    if row.paired.difference.unreliable:
        yield f"{title}: {row.paired.difference.unreliable}"
    bootstrap = row.paired.bootstrap
    if bootstrap is not None:
        ends = _interval_text(bootstrap.low, bootstrap.high)
        count = f"{bootstrap.resamples:,} resamples"
        yield f"{title}: paired bootstrap {ends}, p {format_p(bootstrap.p)} ({count})"


def flip_tables(
    report: RunComparison,
    most: int | None,
) -> Iterator[tuple[str, Sequence[Sequence[str]]]]:
    """Yield a title and a table of changed samples, with both answers, for each compared result.

    Yield nothing if `most` is None.
    """
    if most is None:
        return
    before = open_run(report.baseline)
    for run, name in _named_runs(report):
        after = open_run(run.run)
        for row in run.rows:
            flips = row.flips()
            if row.paired is None or not flips:
                continue
            title = f"{name} {row.task}.{row.metric}: {len(flips):,} changed"
            more = len(flips) - most
            if more > 0:
                title += f"; {more:,} more: --limit {len(flips)}"
            rows = [_flip_cells(flip, row, before, after) for flip in flips[:most]]
            yield title, rows


def _flip_cells(
    flip: Flip,
    row: Row,
    before: RunReader,
    after: RunReader,
) -> tuple[str, ...]:
    """Return the cells of one changed sample."""
    went_up = flip.after > flip.before
    if went_up == row.higher_is_better:
        way = "better"
    else:
        way = "worse"
    baseline_model = row.baseline_model or row.model
    baseline_task = row.baseline_task or row.task
    baseline_id = row.baseline_ids.get(flip.id, flip.id)
    return (
        flip.id,
        format_value(flip.before),
        format_value(flip.after),
        way,
        _answer(before, baseline_task, baseline_model, baseline_id),
        _answer(after, row.task, row.model, flip.id),
    )


def _answer(
    reader: RunReader,
    task: str,
    model: str,
    id: str,
) -> str:
    """Return the last answer to a sample, shortened to one line."""
    rounds = reader.rounds(task, model, (id, 0))
    if not rounds:
        return ""
    text = " ".join(answer_text(rounds[-1].output).split())
    return shorten(text, ANSWER_CHARACTERS)

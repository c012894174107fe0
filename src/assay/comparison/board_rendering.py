"""Render a leaderboard as aligned text, Markdown, CSV or a self-contained HTML page."""

from collections.abc import Iterator, Sequence
from typing import Any

from ..core import Result
from ..core.errors import note_line
from ..report import (
    format_value,
    html_grid,
    markdown_grid,
    markdown_text,
    printable,
    text_grid,
)
from ..report.grid import TEXT_WIDTH, fits, wrap_line
from ..store import export
from .leaderboard import Column, Entry, Leaderboard

MISSING = "–"
CSV_COLUMNS = (
    "model",
    "protocol",
    "metric",
    "value",
    "low",
    "high",
    "n",
    "rank_best",
    "rank_worst",
    "run",
)
MOST_NAMED = 6
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Leaderboard</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>:root{{color-scheme:light dark}}body{{font:15px/1.5 system-ui,sans-serif;margin:2rem}}
div{{overflow-x:auto}}table{{border-collapse:collapse}}th{{min-width:7rem}}th:first-child{{min-width:0}}li{{overflow-wrap:anywhere}}
td,th{{padding:.35rem .8rem;text-align:left;vertical-align:top;border-bottom:1px solid #8884}}
td{{font-variant-numeric:tabular-nums}}@media(max-width:40rem){{body{{margin:1rem}}}}</style></head>
<body><h1>Leaderboard</h1><div tabindex="0" role="region" aria-label="Ranks">{table}</div><ul>{notes}</ul></body></html>
"""


def cells_of(board: Leaderboard) -> tuple[list[str], list[list[str]]]:
    """Return the headings and rows of the table.

    The columns are the rank, the model, the mean if there is one, and each column of
    the leaderboard with its own rank.
    """
    has_mean = _has_mean(board)
    headings = ["Rank", "Model"]
    if has_mean:
        headings.append("Mean")
    headings += [column.title for column in board.columns]
    rows = []
    for entry in board.entries:
        row = [_overall(board, entry), entry.name]
        if has_mean:
            row.append(_mean(entry))
        row += [_cell(board, entry, column) for column in board.columns]
        rows.append(row)
    return headings, rows


def _has_mean(board: Leaderboard) -> bool:
    if len(board.columns) < 2:
        return False
    return any(entry.mean is not None for entry in board.entries)


def _overall(board: Leaderboard, entry: Entry) -> str:
    ranks = board.overall
    if entry.name in ranks:
        return str(ranks[entry.name])
    return MISSING


def _cell(
    board: Leaderboard,
    entry: Entry,
    column: Column,
) -> str:
    """Return the text of a cell: a value with its interval. If the board has several
    columns, add the rank in the column.
    """
    if column not in entry.numbers:
        return MISSING
    text = _number(entry.numbers[column][0])
    rank = board.ranks.get(column, {}).get(entry.name)
    if rank is None or len(board.columns) == 1:
        return text
    return f"{text} #{rank}"


def _number(result: Result) -> str:
    flag = " ⚑" if result.flags else ""
    return f"{format_value(result.value)} {_interval(result.ci)}{flag}".rstrip()


def _mean(entry: Entry) -> str:
    mean = entry.mean
    if mean is None:
        return MISSING
    if mean.low is None or mean.high is None:
        ends = None
    else:
        ends = (mean.low, mean.high)
    return f"{format_value(mean.value)} {_interval(ends)}".rstrip()


def _interval(ends: tuple[float, float] | None) -> str:
    if ends is None:
        return ""
    return f"[{format_value(ends[0])}, {format_value(ends[1])}]"


def remarks(board: Leaderboard) -> Iterator[str]:
    """Yield notes below the table, for example about ties and missing values."""
    ranks = board.overall
    names = [entry.name for entry in board.entries if entry.name in ranks]
    for index, name in enumerate(names):
        behind = [other for other in names[index + 1 :] if other in ranks[name].ties]
        if behind:
            yield f"{name} cannot be distinguished from {_join_names(behind)}"
    if len(board.columns) > 1 and board.ranks:
        yield "#: the rank in a column; a range of ranks says that those in it cannot be distinguished"
    for entry in board.entries:
        gaps = [column.title for name, column in board.missing if name == entry.name]
        if gaps:
            yield f"{entry.name} has no number in {_join_names(gaps)}"
    if any(_is_flagged(entry) for entry in board.entries):
        yield "⚑: failures or an interval to be careful with; `assay show RUN` says which"
    yield from board.notes


def _is_flagged(entry: Entry) -> bool:
    return any(result.flags for result, _ in entry.numbers.values())


def _join_names(names: list[str]) -> str:
    more = len(names) - MOST_NAMED
    listed = ", ".join(names[:MOST_NAMED])
    if more > 0:
        return f"{listed} and {more} more"
    return listed


def text(
    board: Leaderboard,
    width: int = TEXT_WIDTH,
) -> str:
    """Return the leaderboard for a terminal: a table if it fits into `width`, otherwise a block for each model."""
    headings, rows = cells_of(board)
    lines = text_grid(headings, rows)
    if not fits(lines, width):
        lines = list(_blocks(headings, rows, width))
    lines.append("")
    for line in remarks(board):
        lines += wrap_line(note_line(line), width)
    return "\n".join(lines).rstrip() + "\n"


def _blocks(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int,
) -> Iterator[str]:
    """Yield a block for each model: its rank and name in one line, then a line for each of its values."""
    names = headings[2:]
    longest = max((len(name) for name in names), default=0)
    for rank, model, *numbers in rows:
        yield from wrap_line(f"{rank:<4}  {model}", width)
        for name, number in zip(names, numbers, strict=True):
            line = f"      {name:<{longest}}  {number}"
            if fits([line], width):
                yield printable(line)
            else:
                yield printable(f"      {name}")
                yield printable(f"        {number}")


def markdown(board: Leaderboard) -> str:
    """Return the leaderboard as Markdown."""
    headings, rows = cells_of(board)
    notes = "\n".join(f"- {markdown_text(line)}" for line in remarks(board))
    return (
        markdown_grid([markdown_text(heading) for heading in headings], rows)
        + f"\n\n{notes}".rstrip()
        + "\n"
    )


def html(board: Leaderboard) -> str:
    """Return a self-contained HTML page in which all texts are escaped."""
    from html import escape

    notes = "".join(f"<li>{escape(printable(line))}</li>" for line in remarks(board))
    return PAGE.format(
        table=html_grid(*cells_of(board)),
        notes=notes,
    )


def csv_text(board: Leaderboard) -> str:
    """Return the leaderboard as CSV, with a row for each model and column."""
    rows: list[list[Any]] = []
    for entry in board.entries:
        for column in board.columns:
            head = [entry.name, column.protocol, column.metric]
            if column not in entry.numbers:
                rows.append([*head, *[""] * (len(CSV_COLUMNS) - len(head))])
                continue
            result, reader = entry.numbers[column]
            low, high = result.ci or ("", "")
            rank = board.ranks.get(column, {}).get(entry.name)
            rank_cells: list[int | str] = ["", ""]
            if rank is not None:
                rank_cells = [rank.best, rank.worst]
            rows.append(
                [
                    *head,
                    result.value,
                    low,
                    high,
                    result.n,
                    *rank_cells,
                    str(reader.layout.folder),
                ]
            )
    return export.csv_text(CSV_COLUMNS, rows)

"""A leaderboard for people: aligned text, Markdown, CSV, or a page of HTML that stands alone."""

from collections.abc import Iterator
from typing import Any

from ..core import Result
from ..report import (
    format_value,
    html_grid,
    markdown_grid,
    markdown_text,
    printable,
    text_grid,
)
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
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>body{{font:15px/1.5 system-ui,sans-serif;margin:2rem;color-scheme:light dark}}
table{{border-collapse:collapse}}td,th{{padding:.35rem .8rem;text-align:left;border-bottom:1px solid #8884}}
td{{font-variant-numeric:tabular-nums}}</style></head>
<body><h1>Leaderboard</h1>{table}<ul>{notes}</ul></body></html>
"""


def cells_of(board: Leaderboard) -> tuple[list[str], list[list[str]]]:
    """Headings and rows: rank, model, the mean where there is one, then each column with its own rank."""
    has_mean = (
        any(entry.mean is not None for entry in board.entries)
        and len(board.columns) > 1
    )
    headings = [
        "Rank",
        "Model",
        *(["Mean"] if has_mean else []),
        *(column.title for column in board.columns),
    ]
    rows = []
    for entry in board.entries:
        mean = [_mean(entry)] if has_mean else []
        rows.append(
            [
                _overall(board, entry),
                entry.name,
                *mean,
                *(_cell(board, entry, c) for c in board.columns),
            ]
        )
    return headings, rows


def _overall(board: Leaderboard, entry: Entry) -> str:
    ranks = board.overall
    return str(ranks[entry.name]) if entry.name in ranks else MISSING


def _cell(board: Leaderboard, entry: Entry, column: Column) -> str:
    if column not in entry.numbers:
        return MISSING
    result = entry.numbers[column][0]
    place = board.ranks.get(column, {}).get(entry.name)
    behind = f" #{place}" if place is not None and len(board.columns) > 1 else ""
    return f"{_number(result)}{behind}"


def _number(result: Result) -> str:
    return f"{format_value(result.value)} {_interval(result.ci)}{' ⚑' if result.flags else ''}".rstrip()


def _mean(entry: Entry) -> str:
    mean = entry.mean
    if mean is None:
        return MISSING
    ends = None if mean.low is None or mean.high is None else (mean.low, mean.high)
    return f"{format_value(mean.value)} {_interval(ends)}".rstrip()


def _interval(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f"[{format_value(ends[0])}, {format_value(ends[1])}]"


def remarks(board: Leaderboard) -> Iterator[str]:
    """Who cannot be told apart, which cells are missing, and what else is worth knowing."""
    ranks = board.overall
    names = [entry.name for entry in board.entries if entry.name in ranks]
    for place, name in enumerate(names):
        behind = [other for other in names[place + 1 :] if other in ranks[name].ties]
        if behind:
            yield f"{name} cannot be told apart from {_listed(behind)}"
    if len(board.columns) > 1 and board.ranks:
        yield "#: the rank in a column; a range of ranks says that those in it cannot be told apart"
    for entry in board.entries:
        gaps = [column.title for name, column in board.missing if name == entry.name]
        if gaps:
            yield f"{entry.name} has no number in {_listed(gaps)}"
    if any(
        result.flags for entry in board.entries for result, _ in entry.numbers.values()
    ):
        yield "⚑: failures or an interval to be careful with; `assay show RUN` says which"
    yield from board.notes


def _listed(names: list[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def text(board: Leaderboard) -> str:
    """For a terminal."""
    lines = [
        *text_grid(*cells_of(board)),
        "",
        *(printable(f"note: {line}") for line in remarks(board)),
    ]
    return "\n".join(lines).rstrip() + "\n"


def markdown(board: Leaderboard) -> str:
    """For a document."""
    headings, rows = cells_of(board)
    notes = "\n".join(f"- {markdown_text(line)}" for line in remarks(board))
    return (
        markdown_grid([markdown_text(heading) for heading in headings], rows)
        + f"\n\n{notes}".rstrip()
        + "\n"
    )


def html(board: Leaderboard) -> str:
    """A page that needs nothing else; everything escaped."""
    from html import escape

    notes = "".join(f"<li>{escape(printable(line))}</li>" for line in remarks(board))
    return PAGE.format(table=html_grid(*cells_of(board)), notes=notes)


def csv_text(board: Leaderboard) -> str:
    """A row for each model and column."""
    rows: list[list[Any]] = []
    for entry in board.entries:
        for column in board.columns:
            head = [entry.name, column.protocol, column.metric]
            if column not in entry.numbers:
                rows.append([*head, *[""] * (len(CSV_COLUMNS) - len(head))])
                continue
            result, reader = entry.numbers[column]
            low, high = result.ci or ("", "")
            place = board.ranks.get(column, {}).get(entry.name)
            places = ["", ""] if place is None else [place.best, place.worst]
            rows.append(
                [
                    *head,
                    result.value,
                    low,
                    high,
                    result.n,
                    *places,
                    str(reader.layout.folder),
                ]
            )
    return export.csv_text(CSV_COLUMNS, rows)

"""A comparison for people: what else differs above everything, a sentence for each run, a table, who changed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from ..core import shorten
from ..report import (
    format_value,
    html_grid,
    markdown_grid,
    markdown_text,
    printable,
    text_grid,
)
from ..report.charts import difference_dot
from ..store import RunReader
from ..store.export import answer_text
from .rows import Flip, Row, format_p
from .several import RunComparison
from .words import signed

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
"""Changed samples of a number that are listed unless more are asked for."""
MOST_SETTINGS = 8
COMPARED = frozenset({"models"})
"""Settings that are expected to differ: they are what is compared."""
ANSWER_CHARACTERS = 48
FLIP_HEADINGS = ("Sample", "Before", "After", "", "Answer before", "Answer after")


def text_lines(report: RunComparison, flips: int | None = None) -> Iterator[str]:
    """For a terminal."""
    yield from (printable(line) for line in caveats(report))
    yield from map(printable, report.sentences)
    yield ""
    headings, rows = table(report)
    shift = len(headings) - len(HEADINGS)
    yield from text_grid(headings, rows, [column + shift for column in NUMBERS])
    yield from (printable(f"note: {line}") for line in footnotes(report))
    for title, changed in flip_tables(report, flips):
        yield from ("", printable(title))
        yield from text_grid(FLIP_HEADINGS, changed, (1, 2), indent="  ")


def markdown(
    report: RunComparison, flips: int | None = None, *, for_github: bool = False
) -> str:
    """For a document; for a job summary or a comment on GitHub with caveats as an alert and long lists folded."""
    warned = [markdown_text(line) for line in caveats(report)]
    alert = (
        "> [!WARNING]\n" + "\n".join(f"> {line}<br>" for line in warned)
        if warned
        else ""
    )
    parts = [alert if for_github else _bullets(warned)]
    for sentence in map(markdown_text, report.sentences):
        parts.append(f"### {sentence}" if for_github else f"**{sentence}**")
    parts += [
        markdown_grid(*table(report)),
        _bullets(map(markdown_text, footnotes(report))),
    ]
    for title, changed in flip_tables(report, flips):
        name, grid = markdown_text(title), markdown_grid(FLIP_HEADINGS, changed)
        folded = [f"<details><summary>{name}</summary>\n\n{grid}\n\n</details>"]
        parts += folded if for_github else [name, grid]
    return "\n\n".join(part for part in parts if part) + "\n"


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def html(report: RunComparison) -> str:
    """For a notebook: the same, each difference drawn."""
    reach: dict[str, float] = {}
    for row in report.rows:
        if row.paired is not None:
            ends = [
                row.paired.difference.value,
                row.paired.difference.low or 0.0,
                row.paired.difference.high or 0.0,
            ]
            reach[row.metric] = max(
                reach.get(row.metric, 1e-9), *(abs(end) * 1.1 for end in ends)
            )
    headings, rows = table(report)
    place = headings.index("95 % interval") + 1
    body = [
        (*cells[:place], _dot(row, reach), *cells[place:])
        for row, cells in zip(report.rows, rows, strict=True)
    ]
    parts = [*(f"<p>{escape(printable(line))}</p>" for line in caveats(report))]
    parts += [
        f"<p><b>{escape(printable(sentence))}</b></p>" for sentence in report.sentences
    ]
    parts.append(html_grid((*headings[:place], "", *headings[place:]), body))
    parts += [f"<p>{escape(printable(line))}</p>" for line in footnotes(report)]
    return "".join(parts)


def _dot(row: Row, reach: Mapping[str, float]) -> str:
    if row.paired is None:
        return ""
    difference = row.paired.difference
    ends = (
        None
        if difference.low is None or difference.high is None
        else (difference.low, difference.high)
    )
    return difference_dot(difference.value, ends, row.verdict, reach[row.metric])


def caveats(report: RunComparison) -> list[str]:
    """What else differs between the runs and could be mistaken for a difference of models."""
    lines = []
    for run, name in zip(report.runs, report.names[1:], strict=True):
        whose = f"{name}: " if len(report.runs) > 1 else ""
        lines += [f"{whose}{note}" for note in run.notes]
        if settings := [one for one in run.settings if one[0] not in COMPARED]:
            lines.append(f"{whose}also different: {_settings(settings)}")
    return lines


def _settings(settings: Sequence[Sequence[str]]) -> str:
    texts = [
        f"{name} {before} → {after}" for name, before, after in settings[:MOST_SETTINGS]
    ]
    more = len(settings) - len(texts)
    return "; ".join(texts) + (
        f"; and {more} more (--format json has all)" if more else ""
    )


def table(report: RunComparison) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Headings and rows: one for each number; whose it is, where there are several runs or models."""
    several = len({(run.run, row.model) for run in report.runs for row in run.rows}) > 1
    rows = []
    for run, name in zip(report.runs, report.names[1:], strict=True):
        models = {row.model for row in run.rows}
        for row in run.rows:
            whose = f"{name} {row.model}" if len(models) > 1 else name
            rows.append(((whose,) if several else ()) + _cells(row))
    return ("Run", *HEADINGS) if several else HEADINGS, rows


def _cells(row: Row) -> tuple[str, ...]:
    begin = (row.task, row.metric, "↑" if row.higher_is_better else "↓")
    if row.paired is None:
        return (*begin, *[""] * (len(HEADINGS) - len(begin) - 1), "not compared")
    paired = row.paired
    low, high = paired.difference.low, paired.difference.high
    counts = (
        (paired.wins, paired.losses)
        if row.higher_is_better
        else (paired.losses, paired.wins)
    )
    interval = (
        "none"
        if low is None or high is None
        else f"[{signed(low, 3)}, {signed(high, 3)}]"
    )
    return (
        *begin,
        format_value(paired.mean_b),
        format_value(paired.mean_a),
        signed(paired.difference.value, 3),
        interval,
        format_p(row.p_adjusted),
        *(f"{count:,}" for count in counts),
        f"{paired.n:,}",
        row.verdict,
    )


def footnotes(report: RunComparison) -> Iterator[str]:
    """Why numbers were not compared, what makes an interval unreliable, and the bootstrap of corpus numbers."""
    for run, name in zip(report.runs, report.names[1:], strict=True):
        for row in run.rows:
            title = (
                f"{name} {row.task}.{row.metric}"
                if len(report.runs) > 1
                else f"{row.task}.{row.metric}"
            )
            if row.paired is None:
                yield f"{title} not compared: {row.refused}"
                continue
            if row.model != row.baseline_model:
                yield f"{title}: {row.model} against {row.baseline_model}"
            if row.paired.difference.unreliable:
                yield f"{title}: {row.paired.difference.unreliable}"
            if (bootstrap := row.paired.bootstrap) is not None:
                ends = f"[{signed(bootstrap.low, 3)}, {signed(bootstrap.high, 3)}]"
                yield f"{title}: paired bootstrap {ends}, p {format_p(bootstrap.p)} ({bootstrap.resamples:,} resamples)"
    if sum(row.paired is not None for row in report.rows) > 1:
        yield "p values are adjusted over all rows by Holm's method"


def flip_tables(
    report: RunComparison, most: int | None
) -> Iterator[tuple[str, Sequence[Sequence[str]]]]:
    """A title and the changed samples of each number, with both answers; nothing where `most` is none."""
    if most is None:
        return
    before = RunReader(report.baseline)
    for run, name in zip(report.runs, report.names[1:], strict=True):
        after = RunReader(run.run)
        for row in run.rows:
            flips = row.flips()
            if row.paired is None or not flips:
                continue
            more = (
                f"; {len(flips) - most:,} more: --limit {len(flips)}"
                if len(flips) > most
                else ""
            )
            yield (
                f"{name} {row.task}.{row.metric}: {len(flips):,} changed{more}",
                [_flip_cells(flip, row, before, after) for flip in flips[:most]],
            )


def _flip_cells(
    flip: Flip, row: Row, before: RunReader, after: RunReader
) -> tuple[str, ...]:
    is_better = (flip.after > flip.before) == row.higher_is_better
    old = _answer(before, row.task, row.baseline_model or row.model, flip.id)
    new = _answer(after, row.task, row.model, flip.id)
    way = "better" if is_better else "worse"
    return (flip.id, format_value(flip.before), format_value(flip.after), way, old, new)


def _answer(reader: RunReader, task: str, model: str, id: str) -> str:
    rounds = reader.rounds(task, model, (id, 0))
    return (
        shorten(" ".join(answer_text(rounds[-1].output).split()), ANSWER_CHARACTERS)
        if rounds
        else ""
    )

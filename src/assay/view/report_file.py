"""`report.html`: one file with the numbers, the drawings, a choice of samples with their media, and the methods.

The samples are chosen without favour: of each outcome some, wrong before right, spread evenly over the data.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..core import UsageError
from ..core.record import result_from_plain
from ..report import markdown_table, markdown_text
from ..report.methods import methods_paragraph
from ..store.export import csv_text
from .bundle import comparisons
from .comparison import comparison_page
from .folders import RunFolders
from .media import Found, MediaShelf
from .pages import single_page
from .run_view import RunView, rows_of
from .saved import SavedRun, data_address, runs_document

SAMPLES = 24
"""Samples of a run that a report shows unless more are asked for."""
MOST_MEDIA_BYTES = 24 << 20
"""Of a report; what is beyond is named and not held."""
CSV_COLUMNS = (
    "run",
    "task",
    "protocol",
    "model",
    "metric",
    "value",
    "low",
    "high",
    "interval",
    "n",
    "n_expected",
    "higher_is_better",
    "outcomes",
)


def open_runs(folders: Sequence[Path]) -> list[tuple[RunView, RunFolders]]:
    """The runs of some folders, each once."""
    found: dict[Path, tuple[RunView, RunFolders]] = {}
    for folder in folders:
        collection = RunFolders(folder)
        runs = collection.refresh()
        if not runs:
            raise UsageError(
                "there is no run here", where=str(folder), fix="name a run folder"
            )
        for run in runs:
            named = RunView(run.layout.folder, f"r{len(found)}", _name(run, folder))
            found.setdefault(run.layout.folder, (named, collection))
    return list(found.values())


def html_report(folders: Sequence[Path], samples: int = SAMPLES) -> str:
    """The report as one page."""
    opened = open_runs(folders)
    runs = [run for run, _ in opened]
    budget = _Budget(MOST_MEDIA_BYTES)
    documents: dict[str, Any] = {
        "runs": runs_document(runs, "report"),
        "report": {"runs": [run.id for run in runs]},
    }
    for run, collection in opened:
        shelf = collection.media(run)
        saved = SavedRun(run, shelf, partial(budget.keep, shelf), choose(run, samples))
        documents.update(saved.documents())
    documents.update(comparisons(runs))
    documents["report"] |= {"media_left_out": budget.left_out}
    documents["media"] = budget.held
    title = runs[0].name if len(runs) == 1 else f"{len(runs)} runs"
    return single_page(documents, f"{title} · assay report")


def choose(run: RunView, most: int) -> list[int]:
    """Rows to show: those that were not scored, then low scores, then the others, each spread over the data."""
    columns = run.columns()
    scored = (
        columns["outcomes"].index("scored") if "scored" in columns["outcomes"] else -1
    )
    kinds: dict[str, list[int]] = {"failed": [], "low": [], "rest": []}
    for place, row in enumerate(rows_of(columns)):
        cell = columns["cells"][columns["cell"][place] if columns["cell"] else 0]
        values = columns["metrics"].get(cell["metric"]) or ()
        value = values[place] if place < len(values) else None
        scale = cell["scale"] or (0, 1)
        best = scale[1] if cell["higher_is_better"] else scale[0]
        is_low = value is not None and (
            value < best if cell["higher_is_better"] else value > best
        )
        kinds[
            "failed"
            if columns["outcome"][place] != scored
            else "low"
            if is_low
            else "rest"
        ].append(row)
    shares = {"failed": most // 4, "low": most // 2, "rest": most}
    chosen: list[int] = []
    for kind, rows in kinds.items():
        room = (
            min(shares[kind], most - len(chosen))
            if kind != "rest"
            else most - len(chosen)
        )
        chosen += _spread(rows, room)
    return sorted(chosen)


def _spread(rows: Sequence[int], count: int) -> list[int]:
    if len(rows) <= count or count <= 0:
        return list(rows[: max(0, count)])
    return [rows[i * len(rows) // count] for i in range(count)]


class _Budget:
    """Media inside the page, up to a size; those beyond it are counted."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._kept: dict[tuple[str, str], str] = {}
        self.left_out = 0
        self.held: dict[str, str] = {}
        """By digest and form: the media, once each."""

    def keep(self, shelf: MediaShelf, found: Found, form: str) -> str | None:
        """The name under which the page holds the medium; `None` where there is no room for it."""
        name = found.digest, form
        if name in self._kept:
            return self._kept[name]
        data = shelf.thumbnail(found) if form == "small" else found.data()
        if len(data) > self._room:
            self.left_out += form == "full"
            return None
        self._room -= len(data)
        self.held[":".join(name)] = data_address(
            found, data, "image/webp" if form == "small" else None
        )
        self._kept[name] = f"held:{found.digest}:{form}"
        return self._kept[name]


def markdown_report(folders: Sequence[Path]) -> str:
    """The numbers, the comparisons and the methods as Markdown."""
    runs = [run for run, _ in open_runs(folders)]
    parts = [
        f"# {markdown_text(run.name)}" if len(runs) == 1 else "" for run in runs[:1]
    ]
    for run in runs:
        manifest, summary = run.documents()
        results = [result_from_plain(row) for row in summary.get("results", ())]
        parts.append(f"## {markdown_text(run.name)}" if len(runs) > 1 else "")
        parts.append(
            markdown_table(results) if results else "No numbers: the run has not ended."
        )
        parts.append(
            "\n\n".join(
                markdown_text(text) for text in methods_paragraph(manifest, summary)
            )
        )
    for before, after in pairwise(runs):
        page = comparison_page(before, after)
        parts.append(f"## {markdown_text(before.name)} → {markdown_text(after.name)}")
        parts += [f"- {markdown_text(note)}" for note in page["notes"]]
        parts += [f"- {markdown_text(_line(row))}" for row in page["rows"]]
    return "\n\n".join(part for part in parts if part) + "\n"


def _line(row: Mapping[str, Any]) -> str:
    return f"{row['task']} {row['metric']}: {row['words']}"


def csv_report(folders: Sequence[Path]) -> str:
    """Every number on a row of its own."""
    rows = []
    for run, _ in open_runs(folders):
        for row in run.documents()[1].get("results", ()):
            low, high = row.get("ci") or (None, None)
            outcomes = row.get("outcomes")
            counts = (
                "; ".join(f"{n} {name}" for name, n in outcomes.items())
                if isinstance(outcomes, Mapping)
                else ""
            )
            plain = {
                **row,
                "run": run.name,
                "low": low,
                "high": high,
                "outcomes": counts,
            }
            rows.append([plain.get(name) for name in CSV_COLUMNS])
    return csv_text(CSV_COLUMNS, rows)


def _name(run: RunView, folder: Path) -> str:
    return run.name if run.layout.folder == folder else f"{folder.name}/{run.name}"

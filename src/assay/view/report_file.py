"""`report.html`: one file with results, charts, selected samples with their media, and methods.

Failed samples come first, then those with low scores, then others. If there are too
many, the selected ones are spread evenly over the data.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..core import AssayError, UsageError
from ..core.record import result_from_plain
from ..report import markdown_table, markdown_text
from ..report.methods import methods_paragraph
from ..store.export import csv_text
from .comparison_pages import comparison_page
from .run_folders import RunFolders, metric_domains
from .run_media import Found, MediaShelf
from .run_view import SCORED, RunView, rows_of
from .saved_pages import SavedRun, comparisons, data_address, saved_runs, single_page

SAMPLES = 24
"""Default number of samples per run."""
MOST_MEDIA_BYTES = 24 << 20
"""Maximum size of the media in a report. Media beyond it are listed by name only."""
FLIPS_WITH_TEXT = 60
"""How many changed samples per metric are shown with question and answer. The others are only listed."""
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
    """Open the runs in the given folders, each once."""
    views: dict[Path, tuple[RunView, RunFolders]] = {}
    for folder in folders:
        collection = RunFolders(folder)
        runs = collection.refresh()
        if not runs:
            raise UsageError(
                "there is no run here",
                where=str(folder),
                fix="name a run folder",
            )
        for run in runs:
            named = RunView(run.layout.folder, f"r{len(views)}", _name(run, folder))
            views.setdefault(run.layout.folder, (named, collection))
    return list(views.values())


def html_report(
    folders: Sequence[Path],
    samples: int = SAMPLES,
) -> str:
    """Return the report as one HTML page."""
    opened = open_runs(folders)
    runs = [run for run, _ in opened]
    budget = _Budget(MOST_MEDIA_BYTES)
    documents: dict[str, Any] = {
        "runs": saved_runs(runs, "report"),
        "report": {"runs": [run.id for run in runs]},
    }
    domains = metric_domains(runs)
    compared = dict(comparisons(runs))
    documents.update(compared)
    changed = _changed_rows(compared.values())
    for run, collection in opened:
        shelf = collection.media(run)
        keep = partial(budget.keep, shelf)
        rows = choose(run, samples)
        saved = SavedRun(run, shelf, keep, rows, domains, changed.get(run.id, ()))
        documents.update(saved.documents())
    documents["report"] |= {"media_left_out": budget.left_out}
    documents["media"] = budget.held
    if len(runs) == 1:
        title = runs[0].name
    else:
        title = f"{len(runs)} runs"
    return single_page(documents, f"{title} · assay report")


def _changed_rows(pages: Iterable[Mapping[str, Any]]) -> dict[str, list[int]]:
    """Return the rows of the first changed samples on each comparison page, by the id of its second run."""
    changed: dict[str, list[int]] = {}
    for page in pages:
        rows = changed.setdefault(page["after"]["id"], [])
        for number in page["rows"]:
            for flip in number["flips"][:FLIPS_WITH_TEXT]:
                row_of_second_run = flip[-1]
                if row_of_second_run is not None:
                    rows.append(row_of_second_run)
    return changed


def choose(run: RunView, most: int) -> list[int]:
    """Choose at most `most` rows to show: failures first, then low scores, then the others.

    If there are more rows, each of these three kinds gets a share of `most`. The chosen
    rows of a kind are spread evenly over the data.
    """
    kinds = _by_kind(run.columns())
    shares = {"failed": most // 2, "low": most // 4, "rest": most // 4}
    counts = {kind: min(len(rows), shares[kind]) for kind, rows in kinds.items()}
    for kind, rows in kinds.items():
        free = most - sum(counts.values())
        counts[kind] += min(free, len(rows) - counts[kind])
    chosen: list[int] = []
    for kind, rows in kinds.items():
        chosen += _spread(rows, counts[kind])
    return chosen


def _by_kind(columns: Mapping[str, Any]) -> dict[str, list[int]]:
    """Return the rows as three lists by name: `failed` (not scored), `low` (below the best score), `rest`."""
    kinds: dict[str, list[int]] = {"failed": [], "low": [], "rest": []}
    for index, row in enumerate(rows_of(columns)):
        code = columns["cell"][index] if columns["cell"] else 0
        cell = columns["cells"][code]
        outcome_code = columns["outcome"][index]
        outcome = columns["outcomes"][outcome_code]
        if outcome != SCORED:
            kinds["failed"].append(row)
        elif _is_low(columns, cell, index):
            kinds["low"].append(row)
        else:
            kinds["rest"].append(row)
    return kinds


def _is_low(
    columns: Mapping[str, Any],
    cell: Mapping[str, Any],
    place: int,
) -> bool:
    """Return True if the sample's score is below the best score of its scale."""
    values = columns["metrics"].get(cell["metric"])
    if not values:
        return False
    value = values[place]
    if value is None or math.isnan(value):
        return False
    low, high = cell["scale"] or (0, 1)
    if cell["higher_is_better"]:
        return bool(value < high)
    return bool(value > low)


def _spread(
    rows: Sequence[int],
    count: int,
) -> list[int]:
    """Return `count` of the rows, evenly spread over all of them."""
    if len(rows) <= count or count <= 0:
        return list(rows[: max(0, count)])
    chosen_rows = []
    for i in range(count):
        chosen_rows.append(rows[i * len(rows) // count])
    return chosen_rows


class _Budget:
    """The media stored inside the page, up to a total size. Further media are only counted."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._kept: dict[tuple[str, str], str] = {}
        self._left_out: set[str] = set()
        """Digests of the media that did not fit."""
        self.held: dict[str, str] = {}
        """The data of each stored medium, by a name made of digest and form."""

    @property
    def left_out(self) -> int:
        """The number of media that did not fit."""
        return len(self._left_out)

    def keep(
        self,
        shelf: MediaShelf,
        found: Found,
        form: str,
    ) -> str | None:
        """Store a medium in the page and return its name; None if the page would become too large."""
        name = found.digest, form
        if name in self._kept:
            return self._kept[name]
        if form == "small":
            data = shelf.thumbnail(found)
        else:
            data = found.data()
        if len(data) > self._room:
            if form == "full":
                self._left_out.add(found.digest)
            return None
        self._room -= len(data)
        self.held[":".join(name)] = data_address(
            found,
            data,
            "image/webp" if form == "small" else None,
        )
        self._kept[name] = f"held:{found.digest}:{form}"
        return self._kept[name]


def markdown_report(folders: Sequence[Path]) -> str:
    """Return the results, comparisons and methods of the runs as Markdown."""
    runs = [run for run, _ in open_runs(folders)]
    heading = "#" if len(runs) == 1 else "##"
    parts: list[str] = []
    for run in runs:
        parts.append(f"{heading} {markdown_text(run.name)}")
        parts += _run_paragraphs(run)
    # `report.js` compares the same pairs.
    for after in runs[1:]:
        parts += _comparison_paragraphs(runs[0], after)
    return "\n\n".join(part for part in parts if part) + "\n"


def _run_paragraphs(run: RunView) -> Iterator[str]:
    """Yield the parts of a run's Markdown report: the results table and the paragraphs about its methods."""
    manifest, summary = run.documents()
    results = [result_from_plain(row) for row in summary.get("results", ())]
    if results:
        yield markdown_table(results)
    else:
        yield "No numbers: the run has not ended."
    for text in methods_paragraph(manifest, summary):
        yield markdown_text(text)


def _comparison_paragraphs(before: RunView, after: RunView) -> Iterator[str]:
    """Yield the comparison of two runs: a heading, the notes, and a line for each result."""
    yield f"## {markdown_text(before.name)} → {markdown_text(after.name)}"
    try:
        page = comparison_page(before, after)
    except AssayError as error:  # for example, a run without results
        yield f"Not compared: {markdown_text(error.what)}."
        return
    for note in page["notes"]:
        yield f"- {markdown_text(note)}"
    for row in page["rows"]:
        line = f"{row['task']} {row['metric']}: {row['words']}"
        yield f"- {markdown_text(line)}"


def csv_report(folders: Sequence[Path]) -> str:
    """Return the results of all runs as CSV, one row for each result."""
    rows = []
    for run, _ in open_runs(folders):
        for row in run.documents()[1].get("results", ()):
            low, high = row.get("ci") or (None, None)
            outcomes = row.get("outcomes")
            if isinstance(outcomes, Mapping):
                counts = "; ".join(f"{n} {name}" for name, n in outcomes.items())
            else:
                counts = ""
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
    if run.layout.folder == folder:
        return run.name
    return f"{folder.name}/{run.name}"

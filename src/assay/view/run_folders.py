"""List the runs of a folder."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core import AssayError, StoreError, UsageError
from ..imports import is_result_name
from ..report.svg import domain_of
from ..store.imported import holds_results, imported_folder, is_run_folder
from .run_media import DataMedia, MediaShelf, data_files
from .run_view import RunView

DEEPEST = 4
MOST_RUNS = 5000
RESULT = (
    "task",
    "protocol",
    "model",
    "metric",
    "value",
    "ci",
    "interval",
    "n",
    "n_expected",
    "outcomes",
    "bounds",
    "flags",
    "higher_is_better",
)
"""The fields of a result that are needed in the list of runs."""
MOST_RESULTS = 40


class RunFolders:
    """The runs of a folder. The folder is searched for each list of runs; the index of a known run is reused."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._runs: dict[str, RunView] = {}
        self._media: dict[str, MediaShelf] = {}
        self.unreadable: dict[Path, str] = {}
        """Results of other tools that cannot be read, with the reason."""
        if not root.exists():
            raise UsageError(
                f"there is no folder {root}",
                fix="name a run folder, or the folder of your runs",
            )
        if root.is_file() and not holds_results(root):
            raise UsageError(
                f"{root} is a file",
                fix="name a run folder, results of another tool, or the folder of your runs",
            )
        self._is_results = not is_run_folder(root) and _is_results(root)
        if self._is_results:
            imported_folder(root)

    def refresh(self) -> list[RunView]:
        """Search the folder, and return all runs in it."""
        views = {}
        paths: Iterable[Path] = [self.root]
        if not self._is_results:
            paths = run_paths(self.root)
        for path in paths:
            folder = self._folder_of(path)
            if folder is None:
                continue
            if path == self.root:
                name = "."
            else:
                name = path.relative_to(self.root).as_posix()
            id = hashlib.sha256(os.fsencode(name)).hexdigest()[:10]
            view = self._runs.get(id)
            if view is None or view.layout.folder != folder:
                view = RunView(folder, id, path.name if name == "." else name)
            views[id] = view
        self._runs = views
        return list(views.values())

    def _folder_of(self, path: Path) -> Path | None:
        """Return the run folder for a path. Another tool's results are converted first;
        None if they cannot be converted.
        """
        if is_run_folder(path):
            return path
        if path in self.unreadable:
            return None
        try:
            return imported_folder(path)
        except AssayError as error:
            self.unreadable[path] = str(error)
            return None

    def run(self, id: str) -> RunView:
        """Return a run. Raise if it no longer exists."""
        if id not in self._runs:
            self.refresh()
        run = self._runs.get(id)
        if run is None or not (
            run.layout.manifest.exists() or run.layout.journal.exists()
        ):
            raise StoreError(
                "this run is no longer there",
                where=str(self.root),
                fix="go back to the list of runs",
            )
        return run

    def media(self, run: RunView) -> MediaShelf:
        """Return the media of a run."""
        if run.id not in self._media:
            self._media[run.id] = MediaShelf(run.reader().blobs, _data_of(run))
        return self._media[run.id]


def _data_of(run: RunView) -> Callable[[str, str], DataMedia | None]:
    """Return a function that returns the media in the data files of a task and model.

    If several of them use the same files, each file is read once.
    """
    by_files: dict[tuple[Path, ...], DataMedia] = {}

    def inside(task: str, model: str) -> DataMedia | None:
        for cell in run.documents()[0].get("cells", ()):
            if isinstance(cell, Mapping) and (cell.get("task"), cell.get("model")) == (
                task,
                model,
            ):
                files = tuple(data_files(cell))
                return by_files.setdefault(files, DataMedia(files))
        return None

    return inside


def _is_results(path: Path) -> bool:
    """Return True if a path contains results of another tool.

    For a folder, only the name is checked, not the files in it.
    """
    if path.is_dir():
        return is_result_name(path)
    return holds_results(path)


def run_paths(root: Path, depth: int = 0) -> Iterator[Path]:
    """Yield the run folders in a folder (or itself), and the results of other tools.

    Links are not followed, and run folders are not searched.
    """
    try:
        entries = sorted(os.scandir(root), key=lambda entry: entry.name)
    except OSError:
        return
    names = {entry.name for entry in entries}
    if "run.json" in names or "records.jsonl" in names:
        yield root
        return
    if depth == DEEPEST:
        return
    for entry in entries:
        path = Path(entry.path)
        if entry.is_symlink() or entry.name.startswith("."):
            continue
        if is_result_name(path):
            yield path
        elif entry.is_dir(follow_symlinks=False):
            yield from run_paths(path, depth + 1)


def listed(run: RunView) -> dict[str, Any]:
    """Return the entry of a run in the list. For an unreadable run it contains the reason."""
    plain: dict[str, Any] = {"id": run.id, "name": run.name, "live": run.is_live}
    try:
        manifest, summary = run.documents()
    except AssayError as error:
        return {**plain, "status": "unreadable", "error": error.what, "results": []}
    results = [row for row in summary.get("results", ()) if isinstance(row, Mapping)]
    cells = []
    for cell in manifest.get("cells", ()):
        if isinstance(cell, Mapping):
            names = ("task", "model", "protocol", "n_expected")
            cells.append({name: cell.get(name) for name in names})
    plain |= {
        "status": "running" if plain["live"] else stopped(manifest),
        "started": manifest.get("started"),
        "finished": manifest.get("finished"),
        "results": [result_row(row) for row in results[:MOST_RESULTS]],
        "more": max(0, len(results) - MOST_RESULTS),
        "cells": cells[:MOST_RESULTS],
        "usage": _total(summary.get("usage", {})),
        "notes": len(summary.get("notes", ())),
    }
    return plain


def result_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a result that are needed in the list of runs."""
    plain = {name: row.get(name) for name in RESULT}
    details = row.get("details")
    if isinstance(details, Mapping):
        plain["scale"] = details.get("scale")
    return plain


def metric_domains(runs: Sequence[RunView]) -> dict[str, list[float]]:
    """Return the range of the axis for each metric. The list of runs and the pages of all runs use the same range."""
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for run in runs:
        try:
            summary = run.documents()[1]
        except AssayError:
            continue  # the list of runs shows the error
        for row in summary.get("results", ()):
            if isinstance(row, Mapping):
                rows.setdefault(str(row.get("metric")), []).append(row)
    return {metric: _domain(values) for metric, values in rows.items()}


def _domain(rows: Sequence[Mapping[str, Any]]) -> list[float]:
    """Return the range that contains the values of a metric, their intervals, and the values of groups.

    The interval of a small group may be so long that all others would look like points. It is drawn up to the end.
    """
    scale = None
    values = []
    intervals = []
    for row in rows:
        values.append(_number(row.get("value")))
        intervals.append(_ends(row.get("ci")))
        details = row.get("details")
        if scale is None and isinstance(details, Mapping):
            scale = _ends(details.get("scale"))
        groups = row.get("groups")
        for tag in groups.values() if isinstance(groups, Mapping) else ():
            if isinstance(tag, Mapping):
                for group in tag.values():
                    if isinstance(group, dict):
                        values.append(_number(group.get("value")))
    return list(domain_of(values, intervals, scale))


def _number(value: object) -> float | None:
    if isinstance(value, (int, float)):
        return float(value)
    return None


def _ends(pair: object) -> tuple[float, float] | None:
    """Return both ends of an interval; None if they are not two numbers."""
    if not isinstance(pair, (list, tuple)) or len(pair) != 2:
        return None
    low = _number(pair[0])
    high = _number(pair[1])
    if low is None or high is None:
        return None
    return (low, high)


def runs_document(
    runs: Sequence[RunView],
    folder: str,
) -> dict[str, Any]:
    """Return the list of runs of a folder as JSON, with the axes of their metrics."""
    return {
        "folder": folder,
        "domains": metric_domains(runs),
        "runs": [listed(run) for run in runs],
    }


def stopped(manifest: Mapping[str, Any]) -> str:
    """Return the status of a run to which no process is writing.

    If it is still marked `running`, the run was killed.
    """
    status = str(manifest.get("status", "unknown"))
    return "killed" if status in ("running", "new") else status


def _total(usage: object) -> dict[str, float]:
    """Add up tokens, cost and seconds of all tasks. Usage that is not a mapping is ignored."""
    if not isinstance(usage, Mapping):
        return {}
    totals: dict[str, float] = {}
    for cell in usage.values():
        if not isinstance(cell, Mapping):
            continue
        for name in ("input_tokens", "output_tokens", "cost", "seconds"):
            amount = cell.get(name)
            if isinstance(amount, (int, float)):
                totals[name] = totals.get(name, 0) + amount
    return totals

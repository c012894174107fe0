"""Which runs a folder holds, and each as a line of the list."""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..core import AssayError, StoreError, UsageError
from .data_media import DataMedia, data_files
from .media import MediaShelf
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
"""What the list of runs needs of a number."""
MOST_RESULTS = 40


class RunFolders:
    """The runs in a folder, found anew for each list; one that was seen keeps its index."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._runs: dict[str, RunView] = {}
        self._media: dict[str, MediaShelf] = {}
        if not root.exists():
            raise UsageError(
                f"there is no folder {root}",
                fix="name a run folder, or the folder that holds your runs",
            )
        if not root.is_dir():
            raise UsageError(
                f"{root} is a file",
                fix="name a run folder, or the folder that holds your runs",
            )

    def refresh(self) -> list[RunView]:
        """All runs that are there now."""
        found = {}
        for folder in run_folders(self.root):
            name = (
                "." if folder == self.root else folder.relative_to(self.root).as_posix()
            )
            id = hashlib.sha256(os.fsencode(name)).hexdigest()[:10]
            found[id] = self._runs.get(id) or RunView(
                folder, id, folder.name if name == "." else name
            )
        self._runs = found
        return list(found.values())

    def run(self, id: str) -> RunView:
        """One of them; raises where it is gone."""
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
        """The media of a run."""
        if run.id not in self._media:
            self._media[run.id] = MediaShelf(run.reader().blobs, _data_of(run))
        return self._media[run.id]


def _data_of(run: RunView) -> Callable[[str, str], DataMedia | None]:
    """What the data files of each task and model of a run hold; files that several share are read once."""
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


def run_folders(root: Path, depth: int = 0) -> Iterator[Path]:
    """Run folders at and below a folder; links are not followed, and nothing inside a run is looked at."""
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
        if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
            yield from run_folders(Path(entry.path), depth + 1)


def listed(run: RunView) -> dict[str, Any]:
    """A run as the list shows it; one that cannot be read says why."""
    plain: dict[str, Any] = {"id": run.id, "name": run.name, "live": run.is_live}
    try:
        manifest, summary = run.documents()
    except AssayError as error:
        return {**plain, "status": "unreadable", "error": error.what, "results": []}
    results = [row for row in summary.get("results", ()) if isinstance(row, Mapping)]
    plain |= {
        "status": "running" if plain["live"] else stopped(manifest),
        "started": manifest.get("started"),
        "finished": manifest.get("finished"),
        "results": [
            {name: row.get(name) for name in RESULT} for row in results[:MOST_RESULTS]
        ],
        "more": max(0, len(results) - MOST_RESULTS),
        "cells": [
            {
                name: cell.get(name)
                for name in ("task", "model", "protocol", "n_expected")
            }
            for cell in manifest.get("cells", ())
            if isinstance(cell, Mapping)
        ][:MOST_RESULTS],
        "usage": _total(summary.get("usage", {})),
        "notes": len(summary.get("notes", ())),
    }
    return plain


def stopped(manifest: Mapping[str, Any]) -> str:
    """The status of a run that nobody writes to: one that says `running` was killed."""
    status = str(manifest.get("status", "unknown"))
    return "killed" if status in ("running", "new") else status


def _total(usage: Any) -> dict[str, float]:
    totals: dict[str, float] = {}
    for cell in usage.values() if isinstance(usage, Mapping) else ():
        for name in ("input_tokens", "output_tokens", "cost", "seconds"):
            amount = cell.get(name) if isinstance(cell, Mapping) else None
            if isinstance(amount, (int, float)):
                totals[name] = totals.get(name, 0) + amount
    return totals

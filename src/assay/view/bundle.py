"""A static folder of runs: the app, the index and chunks of the samples, media and thumbnails. Any file host serves it.

No server code and no range requests are needed: a page reads small JSON files beside it.
"""

from collections.abc import Iterator, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

from ..core import AssayError, UsageError
from ..store.layout import disk_error
from .comparison import comparison_page
from .folders import RunFolders
from .media import TYPES, Found, MediaShelf
from .pages import assets, folder_page
from .plain_json import json_bytes
from .run_view import RunView
from .saved import SavedRun, runs_document

MOST_COMPARED = 8
"""Runs of which every pair is compared when they are saved."""
ROBOTS = "User-agent: *\nDisallow: /\n"
_SUFFIX = {type: f".{kind}" for kind, type in TYPES.items()}


def write_bundle(folder: Path, target: Path) -> tuple[int, int]:
    """Writes the folder; returns how many runs it holds, and its size in bytes."""
    folders = RunFolders(folder)
    runs = folders.refresh()
    if not runs:
        raise UsageError(
            "there are no runs here", where=str(folder), fix="name a run folder"
        )
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(
            "a bundle needs a new or an empty folder",
            where=str(target),
            fix="name another one",
        )
    try:
        for name in ("app", "data", "media"):
            (target / name).mkdir(parents=True, exist_ok=True)
        for name, data in assets().items():
            (target / "app" / name).write_bytes(data)
        (target / "index.html").write_text(folder_page(), "utf-8")
        (target / "robots.txt").write_text(ROBOTS, "utf-8")
        for name, document in _documents(runs, folders, target):
            (target / "data" / f"{name}.json").write_bytes(json_bytes(document))
    except OSError as error:
        raise disk_error(error, target) from error
    return len(runs), sum(
        path.stat().st_size for path in target.rglob("*") if path.is_file()
    )


def _documents(
    runs: Sequence[RunView], folders: RunFolders, target: Path
) -> Iterator[tuple[str, Any]]:
    yield "runs", runs_document(runs, folders.root.name)
    for run in runs:
        shelf = folders.media(run)
        yield from SavedRun(run, shelf, _Copies(target, shelf)).documents()
    yield from comparisons(runs)


def comparisons(runs: Sequence[RunView]) -> Iterator[tuple[str, Any]]:
    """Every pair of a few runs that can be compared."""
    for before, after in permutations(runs, 2) if len(runs) <= MOST_COMPARED else ():
        try:
            page = comparison_page(before, after)
        except AssayError:
            continue  # one has no numbers: the page says that the pair was not saved
        if any("refused" not in row for row in page["rows"]):
            yield f"compare-{before.id}-{after.id}", page


class _Copies:
    """Media copied into the bundle, once each."""

    def __init__(self, target: Path, shelf: MediaShelf) -> None:
        self._target = target
        self._shelf = shelf

    def __call__(self, found: Found, form: str) -> str:
        small = form == "small"
        name = f"{found.digest}{'.small.webp' if small else _SUFFIX[found.type]}"
        path = self._target / "media" / name
        if not path.exists():
            path.write_bytes(self._shelf.thumbnail(found) if small else found.data())
        return f"media/{name}"

"""Write runs as a static folder for any file host.

The folder has the app, indexes and chunks of samples, media and thumbnails.

It needs no server code and no range requests: a page reads small JSON files next to it.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import permutations
from pathlib import Path
from typing import Any

from ..core import AssayError, UsageError
from ..store.layout import disk_error
from .comparison import comparison_page
from .leaderboard_page import leaderboard_page
from .pages import assets, folder_page
from .plain_json import json_bytes
from .run_folders import RunFolders, metric_domains
from .run_media import TYPES, Found, MediaShelf
from .run_view import RunView
from .saved_pages import SavedRun, saved_runs

MOST_COMPARED = 8
"""Number of runs up to which every pair is compared in the bundle."""
ROBOTS = "User-agent: *\nDisallow: /\n"
_SUFFIX = {type: f".{kind}" for kind, type in TYPES.items()}


def write_bundle(folder: Path, target: Path) -> tuple[int, int]:
    """Write the folder. Return the number of runs in it, and its size in bytes."""
    folders = RunFolders(folder)
    runs = folders.refresh()
    if not runs:
        raise UsageError(
            "there are no runs here",
            where=str(folder),
            fix="name a run folder",
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
    runs: Sequence[RunView],
    folders: RunFolders,
    target: Path,
) -> Iterator[tuple[str, Any]]:
    yield "runs", saved_runs(runs, folders.root.name)
    domains = metric_domains(runs)
    for run in runs:
        shelf = folders.media(run)
        saved = SavedRun(run, shelf, _Copies(target, shelf), domains=domains)
        yield from saved.documents()
    yield from comparisons(runs)
    with suppress(AssayError):  # no run has numbers: the page says that it is missing
        yield "leaderboard", leaderboard_page(runs)


def comparisons(runs: Sequence[RunView]) -> Iterator[tuple[str, Any]]:
    """Return every pair of a few runs that can be compared."""
    for before, after in permutations(runs, 2) if len(runs) <= MOST_COMPARED else ():
        try:
            page = comparison_page(before, after)
        except AssayError:
            continue  # one has no numbers: the page says that the pair was not saved
        if any("refused" not in row for row in page["rows"]):
            yield f"compare-{before.id}-{after.id}", page


class _Copies:
    """Media copied into the bundle, each once."""

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

"""`assay leaderboard`: rank the models of several runs, with intervals. Models may share a rank."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..core import UsageError
from .arguments import Parser, check_output_file, flatten_list, write_text

if TYPE_CHECKING:
    from ..comparison.leaderboard import Leaderboard

KINDS = {
    ".txt": "text",
    ".md": "md",
    ".csv": "csv",
    ".json": "json",
    ".html": "html",
    ".htm": "html",
}


def command(arguments: Sequence[str]) -> int:
    """Rank the models of several runs. Print the leaderboard or the ratings, or write them to a file."""
    p = Parser(
        prog="assay leaderboard",
        description="Print models in rows and protocols in columns: values with 95 % intervals, and\n"
        "ranks. Models are compared on the samples they share. Models without a\n"
        "significant difference share ranks.",
    )
    p.add_argument(
        "folders",
        nargs="*",
        metavar="DIR",
        help="run folders, or folders of runs (default: runs)",
    )
    p.add_argument(
        "--tasks",
        "--task",
        action="append",
        metavar="NAME",
        help="only these tasks or protocols",
    )
    p.add_argument(
        "--metric",
        action="append",
        metavar="NAME",
        help="instead of the first of each task",
    )
    p.add_argument(
        "--ratings",
        nargs="?",
        const="bradley-terry",
        choices=("bradley-terry", "elo"),
        help="ratings from battles between models instead of values (default bradley-terry)",
    )
    p.add_argument(
        "--format",
        choices=sorted(set(KINDS.values())),
        help="default: text, or by the suffix of FILE",
    )
    p.add_argument("--json", action="store_true", help="the same as --format json")
    p.add_argument(
        "-o",
        "--output",
        default="-",
        metavar="FILE",
        help="default: stdout",
    )
    options = p.parse(arguments)
    if options.json:
        kind = "json"
    else:
        suffix = Path(options.output).suffix.lower()
        kind = options.format or KINDS.get(suffix, "text")
        if suffix and suffix not in KINDS and not options.format:
            raise UsageError(
                f"a leaderboard is not written as {suffix}",
                where=options.output,
                fix=f"use a name that ends in {', '.join(KINDS)}, or say --format",
            )
    from ..comparison.leaderboard import make_leaderboard

    check_output_file(options.output)
    folders = _run_folders(options.folders or ["runs"])
    metrics = flatten_list(options.metric)
    tasks = flatten_list(options.tasks)
    board = make_leaderboard(folders, metrics, tasks)
    if options.ratings is None:
        text = _board_text(board, kind)
    else:
        text = _ratings_text(board, options.ratings, kind)
    path = write_text(text, options.output)
    if path:
        counts = f"{len(board.entries)} models, {len(board.columns)} columns"
        sys.stdout.write(f"{path}: {counts}\n")
    return 0


def _run_folders(names: Sequence[str]) -> list[Path]:
    """Return the run folders in or below the named folders. Raise if a named folder contains none."""
    from ..view.run_folders import RunFolders

    folders: dict[Path, None] = {}
    for name in names:
        folder = Path(name).expanduser()
        collection = RunFolders(folder)
        runs = collection.refresh()
        for fault in collection.unreadable.values():
            sys.stderr.write(f"assay: left out: {fault}\n")
        if not runs:
            raise UsageError(
                "there are no runs here",
                where=str(folder),
                fix="name a folder of runs",
            )
        folders.update(dict.fromkeys(run.layout.folder for run in runs))
    return list(folders)


def _board_text(board: "Leaderboard", kind: str) -> str:
    """Return the leaderboard as text in the requested format."""
    from ..comparison import board_rendering as render
    from ..report.grid import output_width

    if kind == "json":
        return json.dumps(board.to_plain(), ensure_ascii=False) + "\n"
    writers = {
        "text": lambda board: render.text(board, output_width(sys.stdout)),
        "md": render.markdown,
        "csv": render.csv_text,
        "html": render.html,
    }
    return writers[kind](board)


def _ratings_text(
    board: "Leaderboard",
    method: str,
    kind: str,
) -> str:
    """Return the ratings of the models as text in the requested format."""
    from ..comparison import ratings

    if kind == "html":
        raise UsageError(
            "ratings are not written as HTML", fix="--format md, csv, json or text"
        )
    rated = ratings.rate(board, method)
    if kind == "json":
        plain = [column.to_plain() for column in rated]
        return json.dumps({"ratings": plain}, ensure_ascii=False) + "\n"
    writers = {"text": ratings.text, "md": ratings.markdown, "csv": ratings.csv}
    return writers[kind](rated)

"""`assay leaderboard`: the models of some runs over their tasks, with intervals, and ranks with ties."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from ..core import UsageError
from .arguments import Parser, flatten_list, write_text

KINDS = {
    ".txt": "text",
    ".md": "md",
    ".csv": "csv",
    ".json": "json",
    ".html": "html",
    ".htm": "html",
}


def command(arguments: Sequence[str]) -> int:
    """Prints the leaderboard, or writes it to a file."""
    p = Parser(
        prog="assay leaderboard",
        description="Models in rows, protocols in columns: values with 95 % intervals, ranks with ties. Models are\n"
        "compared on the samples they share; those that cannot be told apart share ranks. Missing cells are shown.",
    )
    p.add_argument(
        "folders",
        nargs="*",
        metavar="DIR",
        help="run folders, or folders that hold runs (default: runs)",
    )
    p.add_argument(
        "--tasks",
        "--task",
        action="append",
        metavar="NAME",
        help="these tasks or protocols only",
    )
    p.add_argument(
        "--metric",
        action="append",
        metavar="NAME",
        help="instead of the first of each task",
    )
    p.add_argument(
        "--format",
        choices=sorted(set(KINDS.values())),
        help="default: text, or as FILE is called",
    )
    p.add_argument("--json", action="store_true", help="the same as --format json")
    p.add_argument(
        "-o", "--output", default="-", metavar="FILE", help="default: stdout"
    )
    options = p.parse(arguments)
    kind = (
        "json"
        if options.json
        else options.format or KINDS.get(Path(options.output).suffix.lower(), "text")
    )
    from ..comparison import board_rendering as render
    from ..comparison.leaderboard import make_leaderboard
    from ..view.folders import RunFolders

    found: dict[Path, None] = {}
    for name in options.folders or ["runs"]:
        folder = Path(name).expanduser()
        runs = RunFolders(folder).refresh()
        if not runs:
            raise UsageError(
                "there are no runs here",
                where=str(folder),
                fix="name a folder that holds runs",
            )
        found.update(dict.fromkeys(run.layout.folder for run in runs))
    board = make_leaderboard(
        list(found), flatten_list(options.metric), flatten_list(options.tasks)
    )
    if kind == "json":
        text = json.dumps(board.to_plain(), ensure_ascii=False) + "\n"
    else:
        writers = {
            "text": render.text,
            "md": render.markdown,
            "csv": render.csv_text,
            "html": render.html,
        }
        text = writers[kind](board)
    if path := write_text(text, options.output, "leaderboard.md"):
        sys.stdout.write(
            f"{path}: {len(board.entries)} models, {len(board.columns)} columns\n"
        )
    return 0

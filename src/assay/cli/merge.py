"""`assay merge`: join the shards of a run into one new run folder."""

import shlex
import sys
from collections.abc import Sequence

from ..core import UsageError
from ..core.errors import plural
from ..report.grid import write_lines
from .arguments import Parser
from .display import typed_command


def command(arguments: Sequence[str]) -> int:
    """Merge the shards into a new folder, and print the next commands."""
    p = Parser(
        prog="assay merge",
        description="Copy the answers and scores of several runs of the same questions into one new\n"
        "run folder. Then run the command of the parts again without --shard: it asks\n"
        "what is missing and prints the table.",
    )
    p.add_argument(
        "parts",
        nargs="+",
        metavar="RUN",
        help="run folders of --shard 1/N … N/N",
    )
    p.add_argument(
        "-o",
        "--output",
        default=None,
        metavar="DIR",
        help="a new folder",
    )
    options = p.parse(arguments)
    if options.output is None:
        raise UsageError("the merged run has no folder", fix="-o DIR, a new one")
    from ..store.merging import merge_runs

    merged = merge_runs(options.parts, options.output)
    damaged = ""
    if merged.damaged:
        damaged = f", {plural(merged.damaged, 'damaged line')} left out"
    runs = plural(len(options.parts), "run")
    records = plural(merged.lines, "record")
    next_command = f"{typed_command()} run … -o {shlex.quote(options.output)}"
    lines = [
        f"{options.output}: {records} and {merged.media} media of {runs}{damaged}",
        f"next: {next_command}     as the parts were, without --shard",
    ]
    write_lines(lines, sys.stdout)
    return 0

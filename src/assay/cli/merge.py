"""`assay merge`: the parts of a run that was asked in shards, as one new run folder."""

import shlex
import sys
from collections.abc import Sequence

from ..core import UsageError
from .arguments import Parser
from .display import typed_command


def command(arguments: Sequence[str]) -> int:
    """Writes the folder and says what to type next."""
    p = Parser(
        prog="assay merge",
        description="Bring the answers and verdicts of several runs of the same questions into one new run folder.\n"
        "The command that ran the parts, without --shard, then makes their table; it asks for what is missing.",
    )
    p.add_argument(
        "parts", nargs="+", metavar="RUN", help="run folders of --shard 1/N … N/N"
    )
    p.add_argument("-o", "--output", default=None, metavar="DIR", help="a new folder")
    options = p.parse(arguments)
    if options.output is None:
        raise UsageError("the merged run has no folder", fix="-o DIR, a new one")
    from ..store.merging import merge_runs

    merged = merge_runs(options.parts, options.output)
    damaged = f", {merged.damaged} damaged lines left out" if merged.damaged else ""
    sys.stdout.write(
        f"{options.output}: {merged.lines} records and {merged.media} media of {len(options.parts)} runs{damaged}\n"
        f"next: {typed_command()} run … -o {shlex.quote(options.output)}     as the parts were, without --shard\n"
    )
    return 0

"""`assay compare`: compare finished runs with a baseline, sample by sample."""

import json
import sys
from collections.abc import Sequence

from ..core import UsageError
from ..store.imported import open_run
from .arguments import Parser
from .display import DAMAGED, say_damage

NOTHING_COMPARED = 3


def command(arguments: Sequence[str]) -> int:
    """Compare the runs and print the result. Return 3 if nothing could be compared or a run is damaged."""
    p = Parser(
        prog="assay compare",
        description="Compare runs with the first one named, paired by sample. Prints what else\n"
        "differs, a summary, and every number with its difference, 95 % interval and\n"
        "p value (adjusted by Holm's method).\n"
        "Exit codes: 0 compared; 3 nothing could be compared, or a run is damaged.",
    )
    p.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="run folders or results of other tools: the baseline, then the runs to compare with it",
    )
    p.add_argument(
        "--flips",
        action="store_true",
        help="list the samples that changed, with both answers",
    )
    p.add_argument(
        "-L",
        "--limit",
        type=int,
        default=None,
        help="how many changed samples for each number (default 50)",
    )
    p.add_argument(
        "--force",
        action="store_true",
        help="compare results of other tools also if their data is different or unknown",
    )
    p.add_argument(
        "--format",
        default="text",
        choices=("text", "md", "github", "json"),
    )
    p.add_argument("--json", action="store_true", help="the same as --format json")
    options = p.parse(arguments)
    if options.limit is not None and options.limit < 0:
        raise UsageError(
            f"--limit {options.limit} is not a number of samples", fix="0 or more"
        )
    from ..comparison.comparison_tables import FLIPS, markdown, text_lines
    from ..comparison.several import compare
    from ..report.grid import output_width, write_lines

    flips = options.limit
    if flips is None and options.flips:
        flips = FLIPS
    report = compare(*options.runs, force=options.force)
    if options.json or options.format == "json":
        text = json.dumps(report.to_plain(flips), ensure_ascii=False) + "\n"
    elif options.format == "text":
        write_lines(text_lines(report, flips, output_width(sys.stdout)), sys.stdout)
        text = ""
    else:
        text = markdown(report, flips, for_github=options.format == "github")
    sys.stdout.write(text)
    damaged = [say_damage(open_run(run.run)) for run in report.runs]
    if any(damaged) or any(run.is_damaged for run in report.runs):
        return DAMAGED
    return 0 if report.compared else NOTHING_COMPARED

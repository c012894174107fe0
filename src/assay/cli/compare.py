"""`assay compare`: finished runs against a baseline, sample by sample, the result in one sentence first."""

import json
import sys
from collections.abc import Sequence

from ..core import UsageError
from ..store import RunReader
from .arguments import Parser
from .display import DAMAGED, say_damage

NOTHING_COMPARED = 3


def command(arguments: Sequence[str]) -> int:
    """Prints the comparison; leaves with 3 where nothing could be compared, or a run is damaged."""
    p = Parser(
        prog="assay compare",
        description="Runs against the first one named, paired by sample: a sentence, then every number with its\n"
        "difference, 95 % interval and p (Holm). What else differs between the runs is said above everything.\n"
        "Exit code 0: compared. 3: nothing could be compared, or a run is damaged.",
    )
    p.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="run folders: the baseline, then what is compared with it",
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
        help="how many of them for each number (default 50)",
    )
    p.add_argument("--format", default="text", choices=("text", "md", "github", "json"))
    p.add_argument("--json", action="store_true", help="the same as --format json")
    options = p.parse(arguments)
    if options.limit is not None and options.limit < 0:
        raise UsageError(
            f"--limit {options.limit} is not a number of samples", fix="0 or more"
        )
    from ..comparison.rendering import FLIPS, markdown, text_lines
    from ..comparison.several import compare

    flips = (
        (FLIPS if options.limit is None else options.limit)
        if options.flips or options.limit is not None
        else None
    )
    report = compare(*options.runs)
    if options.json or options.format == "json":
        text = json.dumps(report.to_plain(flips), ensure_ascii=False) + "\n"
    elif options.format == "text":
        text = "".join(f"{line}\n" for line in text_lines(report, flips))
    else:
        text = markdown(report, flips, for_github=options.format == "github")
    sys.stdout.write(text)
    damaged = [say_damage(RunReader(run.run)) for run in report.runs]
    if any(damaged) or any(run.is_damaged for run in report.runs):
        return DAMAGED
    return 0 if report.compared else NOTHING_COMPARED

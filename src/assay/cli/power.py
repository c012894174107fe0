"""`assay power`: compute which difference N samples can detect, and how many samples a difference needs.

The spread of the scores is taken from a run, or from assumptions in the options.
"""

import json
import sys
from collections.abc import Sequence

from ..core import AssayError, UsageError
from ..core.errors import raise_all
from ..report import printable
from ..report.grid import write_lines
from .arguments import Parser


def command(arguments: Sequence[str]) -> int:
    """Print, for each metric, its interval, the detectable difference, and the samples
    needed for a given difference.
    """
    p = Parser(
        prog="assay power",
        usage="assay power [RUN [--baseline RUN]] [--n N] [--rate X]\n"
        "                   [--pairs X] [--difference D]",
        description="Print what can be detected with a number of samples: the interval of one run, the smallest\n"
        "difference that two runs on the same samples show with 80 % power, and how many\n"
        "samples a difference needs.",
        epilog="examples:\n"
        "  assay power runs/pilot --n 500\n"
        "  assay power runs/new --baseline runs/old\n"
        "  assay power --n 200 --rate 0.7 --pairs 0.2",
    )
    p.add_argument(
        "run",
        nargs="?",
        default=None,
        help="a finished run of any size",
    )
    p.add_argument(
        "--baseline",
        default=None,
        metavar="RUN",
        help="a second run, to measure how much two runs differ",
    )
    p.add_argument(
        "--n",
        type=int,
        action="append",
        default=None,
        metavar="N",
        help="samples; repeat for several",
    )
    p.add_argument(
        "--rate",
        type=float,
        default=None,
        metavar="X",
        help="the share of right answers (default 0.5)",
    )
    p.add_argument(
        "--sd",
        type=float,
        default=None,
        metavar="X",
        help="standard deviation of scores, for --rate",
    )
    p.add_argument(
        "--pairs",
        type=float,
        default=None,
        metavar="X",
        help="the share of samples on which two runs differ",
    )
    p.add_argument(
        "--difference",
        type=float,
        action="append",
        default=None,
        metavar="D",
        help="how many samples a difference of D needs",
    )
    p.add_argument("--json", action="store_true", help="one JSON document")
    options = p.parse(arguments)
    _check(options)
    from ..comparison.showing import assumed_scores, pilot_scores

    if options.run is None:
        numbers = [
            assumed_scores(
                (options.n or [100])[0],
                options.rate,
                options.sd,
                options.pairs,
            )
        ]
    else:
        numbers = pilot_scores(options.run, options.baseline, options.pairs)
    rows = [
        (scores, options.n or [scores.n], options.difference or scores.steps())
        for scores in numbers
    ]
    if options.json:
        document = [
            scores.to_plain(counts, differences) for scores, counts, differences in rows
        ]
        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        return 0
    for scores, counts, differences in rows:
        for line in scores.lines(counts, differences):
            write_lines([printable(line)], sys.stdout)
    return 0


def _check(options: "object") -> None:
    """Raise if an option's value is not a valid count, share or difference. All faults are reported at once."""
    values = vars(options)
    faults: list[AssayError] = []
    for n in values["n"] or ():
        if n < 2:
            faults.append(
                UsageError(
                    f"--n {n} is not a number of samples from 2 on", fix="--n 200"
                )
            )
    for name, low, high in (("rate", 0.0, 1.0), ("pairs", 0.0, 1.0)):
        value = values[name]
        if value is not None and not (
            low < value < high or (name == "pairs" and value == high)
        ):
            fault = UsageError(
                f"--{name} {value:g} is not a share between 0 and 1",
                fix=f"--{name} 0.2",
            )
            faults.append(fault)
    for name, several in (
        ("difference", values["difference"] or ()),
        ("sd", [values["sd"]]),
    ):
        for value in several:
            if value is not None and not 0 < value < float("inf"):
                fault = UsageError(
                    f"--{name} {value:g} is not a number above 0",
                    fix=f"--{name} 0.05",
                )
                faults.append(fault)
    if values["run"] is not None and (
        values["rate"] is not None or values["sd"] is not None
    ):
        faults.append(
            UsageError(
                "--rate and --sd are assumptions, and a run was given",
                fix="leave them out",
            )
        )
    if values["sd"] is not None and (
        values["rate"] is not None or values["pairs"] is not None
    ):
        faults.append(
            UsageError(
                "--sd is for scores that are not right or wrong",
                fix="leave --rate and --pairs out",
            )
        )
    if values["run"] is None and values["baseline"] is not None:
        faults.append(
            UsageError(
                "--baseline needs a run to compare",
                fix="assay power RUN --baseline RUN",
            )
        )
    if values["run"] is None and not any(
        values[name] for name in ("n", "rate", "sd", "pairs", "difference")
    ):
        faults.append(
            UsageError(
                "neither a run nor an assumption",
                fix="assay power RUN, or --n 200 --rate 0.7",
            )
        )
    raise_all(faults)

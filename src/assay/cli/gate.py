"""`assay gate`: decide in CI whether a run passes, by a policy file and an earlier run."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..core import AssayError, UsageError
from ..core.errors import note_line
from .arguments import Parser

if TYPE_CHECKING:
    from rich.console import Console

    from ..comparison.gate import Verdict

EXIT_CODES = {"pass": 0, "fail": 4, "inconclusive": 5}
SUMMARY = "GITHUB_STEP_SUMMARY"
"""GitHub sets this variable to the path of the job summary, which is shown on the page of the job."""
COLOURS = {"pass": "bold green", "fail": "bold red", "inconclusive": "bold yellow"}
MARKS = {"pass": "✅ PASS", "fail": "❌ FAIL", "inconclusive": "❔ INCONCLUSIVE"}


def command(arguments: Sequence[str]) -> int:
    """Decide whether a run passes, and print the verdict.

    Return 0 for a pass, 4 for a failure, 5 if it is undecided.
    """
    p = Parser(
        prog="assay gate",
        description="Decide by 95 % intervals whether a run passes: no task may be worse than the\n"
        "baseline by more than `max_drop`, and none below `min_value`.\n"
        "Exit codes: 0 PASS; 4 FAIL; 5 INCONCLUSIVE, with the number of samples that\n"
        "would decide; 2 the policy or a run cannot be used.",
    )
    p.add_argument("policy", help="a YAML file: max_drop: 0.02")
    p.add_argument("run", help="the run to check")
    p.add_argument(
        "--baseline",
        default=None,
        metavar="RUN",
        help="the run to compare with",
    )
    p.add_argument(
        "--format",
        default="text",
        choices=("text", "json", "github"),
        help="github: Markdown",
    )
    p.add_argument("--json", action="store_true", help="the same as --format json")
    options = p.parse(arguments)
    from ..comparison.gate import judge_run
    from ..comparison.policy import read_policy

    try:
        policy = read_policy(options.policy)
        verdict = judge_run(policy, options.run, options.baseline)
    except UsageError:
        raise
    except AssayError as error:
        # Here every error about an unusable policy or run is a usage error.
        raise UsageError(
            error.what,
            where=error.where,
            fix=error.fix,
        ) from error
    kind = "json" if options.json else options.format
    if kind == "text":
        print_text(verdict)
    else:
        writer = json_of if kind == "json" else markdown_of
        sys.stdout.write(writer(verdict) + "\n")
    if os.environ.get(SUMMARY):
        _append(os.environ[SUMMARY], markdown_of(verdict))
    return EXIT_CODES[verdict.decision]


def print_text(verdict: "Verdict") -> None:
    """Print the verdict on a terminal, wrapped to its width, with the decisions in colour."""
    from rich.console import Console

    from ..report.grid import output_width

    width = output_width(sys.stdout)
    console = Console(
        file=sys.stdout,
        highlight=False,
        width=width,
    )
    _print(console, verdict.headline(), verdict.decision)
    for check in verdict.checks:
        first, *others = check.lines()
        _print(console, f"  {first}", check.decision)
        for line in others:
            _print(console, line, indent=" " * 16)
    for note in verdict.notes:
        _print(console, note_line(note))


def _print(
    console: "Console",
    line: str,
    decision: str = "",
    indent: str = "",
) -> None:
    """Print one line that begins with the decision in colour, wrapped between words."""
    from rich.text import Text

    from ..report.grid import wrap_line

    width = console.width - len(indent)
    wrapped = wrap_line(line, width, "" if indent else "    ")
    for part in wrapped:
        text = Text(f"{indent}{part}")
        if decision:
            text.highlight_words([decision.upper()], COLOURS[decision])
        console.print(text, soft_wrap=True)


def json_of(verdict: "Verdict") -> str:
    """Return the verdict as JSON."""
    plain = {**verdict.to_plain(), "exit_code": EXIT_CODES[verdict.decision]}
    return json.dumps(plain, indent=2, ensure_ascii=False)


def markdown_of(verdict: "Verdict") -> str:
    """Return the verdict as a job summary in Markdown. Names are escaped."""
    from ..report import markdown_text

    lines = [f"### {MARKS[verdict.decision]}: {markdown_text(verdict.run)}", ""]
    if verdict.baseline:
        lines += [
            f"Against {markdown_text(verdict.baseline)}, by paired 95 % intervals.",
            "",
        ]
    lines += ["| | number | limit | found | |", "|---|---|---|---|---|"]
    for check in verdict.checks:
        cells = (check.name, check.limit, check.found, check.reason)
        line = (
            " | ".join([f"| {MARKS[check.decision]}", *map(markdown_text, cells)])
            + " |"
        )
        lines.append(line)
    return (
        "\n".join(
            [*lines, "", *(f"- {markdown_text(note)}" for note in verdict.notes)]
        ).rstrip()
        + "\n"
    )


def _append(path: str, text: str) -> None:
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text + "\n")
    except OSError as error:
        fix = f"unset {SUMMARY}, or give it a file that can be written"
        raise UsageError(
            f"cannot write the job summary: {error.strerror}",
            where=path,
            fix=fix,
        ) from error

"""`assay gate`: whether a run may pass, by a policy and an earlier run; for CI."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..core import UsageError
from .arguments import Parser

if TYPE_CHECKING:
    from ..comparison.gate import Verdict

EXIT_CODES = {"pass": 0, "fail": 4, "inconclusive": 5}
SUMMARY = "GITHUB_STEP_SUMMARY"
"""The file whose text GitHub shows beneath a job."""
MARKS = {"pass": "✅ PASS", "fail": "❌ FAIL", "inconclusive": "❔ INCONCLUSIVE"}


def command(arguments: Sequence[str]) -> int:
    """Prints the verdict; leaves with 0 for a pass, 4 for a failure, 5 where it is not decided."""
    p = Parser(
        prog="assay gate",
        description="Decides by 95 % intervals whether a run passes: no task worse than the baseline by more than\n"
        "`max_drop`, none below `min_value`. Exit code 0: PASS. 4: FAIL. 5: INCONCLUSIVE, with the number of\n"
        "samples that would decide. 2: a policy or a run that cannot be used.",
    )
    p.add_argument("policy", help="a YAML file: max_drop: 0.02")
    p.add_argument("run", help="the run that is to pass")
    p.add_argument(
        "--baseline",
        default=None,
        metavar="RUN",
        help="the run it must not be worse than",
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

    verdict = judge_run(read_policy(options.policy), options.run, options.baseline)
    kind = "json" if options.json else options.format
    text = {"text": text_of, "json": json_of, "github": markdown_of}[kind](verdict)
    sys.stdout.write(text + "\n")
    if os.environ.get(SUMMARY):
        _append(os.environ[SUMMARY], markdown_of(verdict))
    return EXIT_CODES[verdict.decision]


def text_of(verdict: "Verdict") -> str:
    """The verdict for a terminal."""
    from ..report import printable

    lines = [verdict.headline(), *(f"  {check.line()}" for check in verdict.checks)]
    return "\n".join(
        map(printable, [*lines, *(f"note: {note}" for note in verdict.notes)])
    )


def json_of(verdict: "Verdict") -> str:
    """The verdict for programs."""
    plain = {**verdict.to_plain(), "exit_code": EXIT_CODES[verdict.decision]}
    return json.dumps(plain, indent=2, ensure_ascii=False)


def markdown_of(verdict: "Verdict") -> str:
    """The verdict as a job summary; names are text in it, never markup."""
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
        lines.append(
            " | ".join([f"| {MARKS[check.decision]}", *map(markdown_text, cells)])
            + " |"
        )
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
            f"cannot write the job summary: {error.strerror}", where=path, fix=fix
        ) from error

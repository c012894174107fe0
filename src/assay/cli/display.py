"""What a run shows on the terminal: progress, the table, the folder, what to try next."""

import json
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from ..runner.result import RunResult


def watcher(is_json: bool) -> Any:
    """A live bar on a terminal, lines elsewhere; nothing but lines under `--json`."""
    from ..report import LineProgress, LiveProgress

    if is_json or not sys.stderr.isatty():
        return LineProgress(sys.stderr)
    from rich.console import Console

    return LiveProgress(Console(stderr=True))


def finish(result: RunResult, stdout: TextIO, is_json: bool, comparison: Any = None) -> None:
    """The table, or the one JSON document."""
    if is_json:
        document = result.to_plain()
        if comparison is not None:
            document["baseline"] = comparison.to_plain()
        stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
        return
    from rich.console import Console

    from ..report import group_rows, printable, show_table
    from ..runner.ledger import spent

    console = Console(file=stdout, highlight=False, width=None if stdout.isatty() else 150)
    console.print()
    show_table(result.results, console)
    breakdown = group_rows(result.results)
    if breakdown and len({r.task for r in result.results}) == 1 and len(breakdown) <= 60:
        console.print()
        for metric, group, value, n in breakdown:
            console.print(printable(f"  {metric}  {group}  {value}  n={n}"), markup=False)
    _epochs(result, console)
    if comparison is not None:
        console.print()
        for line in comparison.lines():
            console.print(printable(line), markup=False, soft_wrap=True)
    console.print()
    for note in result.notes:
        console.print(printable(f"note: {note}"), markup=False, soft_wrap=True)
    total = spent(result.usage)
    if total:
        console.print(f"asked in all: {total}", markup=False)
    console.print(f"{result.status}: {result.folder}", markup=False, soft_wrap=True)
    for line in next_steps(result):
        console.print(f"  {line}", markup=False, soft_wrap=True)


def _epochs(result: RunResult, console: Any) -> None:
    for r in result.results:
        advice = r.details.get("epochs", {}).get("advice") if isinstance(r.details.get("epochs"), dict) else None
        if advice:
            console.print(f"  {r.task}.{r.metric}: {advice}", markup=False)


def next_steps(result: RunResult) -> Sequence[str]:
    """The next two commands to try."""
    command, folder = typed_command(), shlex.quote(str(result.folder))
    return (
        f"{command} show {folder}     every sample: prompt, answer, verdict",
        f"{command} score {folder}    score again without asking the model",
    )


def typed_command() -> str:
    """How assay is called here, as it can be typed again: as it was just now, as far as that is known."""
    called = Path(sys.argv[0])
    if called.name != "__main__.py":
        if shutil.which("assay"):
            return "assay"
        if called.stem == "assay":
            return shlex.quote(sys.argv[0])
    return "python -m assay"

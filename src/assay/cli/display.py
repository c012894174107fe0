"""What a run shows on the terminal: progress, the table, the folder, what to try next."""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TextIO

from ..core.errors import AssayError
from ..runner.result import RunResult
from ..store import RunReader

DAMAGED = 3
"""The exit code of a reader of a run that met damage: part of what it shows is missing."""


def watcher(is_json: bool) -> Any:
    """A live bar on a terminal, lines elsewhere; nothing but lines under `--json`."""
    from ..report import LineProgress, LiveProgress

    if is_json or not sys.stderr.isatty():
        return LineProgress(sys.stderr)
    from rich.console import Console

    return LiveProgress(Console(stderr=True))


def finish(
    result: RunResult,
    stdout: TextIO,
    is_json: bool,
    comparison: Any = None,
    watching: Any = None,
) -> None:
    """The table, or the one JSON document; where all goes to one place, notes that `watching` has said stay said."""
    if is_json:
        document = result.to_plain()
        if comparison is not None:
            document["baseline"] = comparison.to_plain()
        stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
        return
    from rich.console import Console

    from ..report import group_lines, printable, show_table
    from ..runner.counts.spending import spent

    console = Console(
        file=stdout, highlight=False, width=None if stdout.isatty() else 150
    )
    console.print()
    show_table(result.results, console)
    breakdown = group_lines(result.results)
    if (
        breakdown
        and len({r.task for r in result.results}) == 1
        and len(breakdown) <= 60
    ):
        console.print()
        for line in breakdown:
            console.print(line, markup=False, soft_wrap=True)
    _epochs(result, console)
    if comparison is not None:
        console.print()
        for line in comparison.lines():
            console.print(printable(line), markup=False, soft_wrap=True)
    console.print()
    progress_notes = (
        getattr(watching, "said", ()) if _same_place(stdout, sys.stderr) else ()
    )
    for note in result.notes:
        if note in progress_notes:
            continue
        console.print(printable(f"note: {note}"), markup=False, soft_wrap=True)
    total = spent(result.usage)
    if total:
        console.print(f"asked in all: {total}", markup=False)
    console.print(f"{result.status}: {result.folder}", markup=False, soft_wrap=True)
    for line in next_steps(result):
        console.print(f"  {line}", markup=False, soft_wrap=True)


def finish_all(
    results: Iterable[RunResult | AssayError], stdout: TextIO, is_json: bool
) -> list[int]:
    """The tables of several runs as they end, or one JSON document of all; returns their exit codes."""
    codes, documents = [0], []
    for result in results:
        codes.append(result.exit_code)
        if isinstance(result, AssayError):
            print(f"assay: {result}", file=sys.stderr)
        elif is_json:
            documents.append(result.to_plain())
        else:
            finish(result, stdout, False)
    if is_json:
        stdout.write(json.dumps({"runs": documents}, ensure_ascii=False) + "\n")
    return codes


def _same_place(one: TextIO, other: TextIO) -> bool:
    """Whether two streams end in one terminal, file or pipe."""
    try:
        return os.path.sameopenfile(one.fileno(), other.fileno())
    except (OSError, ValueError, AttributeError):
        return False  # no file behind one of them


def _epochs(result: RunResult, console: Any) -> None:
    from ..report import printable, result_names

    for r, name in zip(result.results, result_names(result.results), strict=True):
        advice = (
            r.details.get("epochs", {}).get("advice")
            if isinstance(r.details.get("epochs"), dict)
            else None
        )
        if advice:
            console.print(
                printable(f"  {name}: {advice}"), markup=False, soft_wrap=True
            )


def next_steps(result: RunResult) -> Sequence[str]:
    """The next two commands to try; of a run that was interrupted, that it can be gone on with."""
    command, folder = typed_command(), shlex.quote(str(result.folder))
    again = (
        ("the same command again goes on where it stopped",)
        if result.status == "interrupted"
        else ()
    )
    return (
        *again,
        f"{command} show {folder}     every sample: prompt, answer, verdict",
        f"{command} score {folder}    score again without asking the model",
    )


def typed_command() -> str:
    """How assay is called here, as it can be typed again: as it was just now, as far as that is known."""
    program = Path(sys.argv[0])
    if program.name != "__main__.py":
        if shutil.which("assay"):
            return "assay"
        if program.stem == "assay":
            return shlex.quote(sys.argv[0])
    return "python -m assay"


def say_damage(reader: RunReader) -> int:
    """Says what is damaged of a run on stderr, a line each; returns the exit code."""
    from ..report import printable

    for line in reader.damage_lines():
        print(printable(f"assay: {line}"), file=sys.stderr)
    return DAMAGED if reader.damage else 0

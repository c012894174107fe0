"""Show a run on the terminal: progress, table, long output through a pager."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ..core.errors import AssayError, note_line
from ..runner.result import RunResult
from ..store import RunReader

if TYPE_CHECKING:
    from rich.console import Console

    from ..comparison.comparison_rows import Comparison
    from ..report import LineProgress, LiveProgress

USUAL = "less"
LESS = "FRX"
"""Options of `less`: quit if everything fits on one screen, show colours, and do not clear the screen at the end."""


def find_pager() -> list[str] | None:
    """Return the pager command: `$PAGER`, or else `less`.

    Return None without a terminal, or if `$PAGER` is empty or `cat`.
    """
    if not sys.stdout.isatty() or not sys.stdin.isatty():
        return None
    command = shlex.split(os.environ.get("PAGER", USUAL))
    if not command or command[0] == "cat" or shutil.which(command[0]) is None:
        return None
    return command


def print_folded(
    lines: Iterable[str],
    pager: list[str] | None,
) -> None:
    """Print prose, wrapped between words if the output has a width."""
    from ..report.grid import fixed_width, fold_line

    width = fixed_width(sys.stdout)
    if width is None:
        print_lines(lines, pager)
    else:
        print_lines((part for line in lines for part in fold_line(line, width)), pager)


def print_lines(
    lines: Iterable[str],
    pager: list[str] | None,
) -> None:
    """Write the lines one by one. Stop if the user quits the pager."""
    if pager is None:
        for line in lines:
            sys.stdout.write(line + "\n")
        return
    sys.stdout.flush()
    environment = {**os.environ, "LESS": os.environ.get("LESS", LESS)}
    process = subprocess.Popen(
        pager,
        stdin=subprocess.PIPE,
        env=environment,
        encoding="utf-8",
        errors="replace",
    )
    assert process.stdin is not None
    try:
        for line in lines:
            process.stdin.write(line + "\n")
    except BrokenPipeError:
        pass  # the user quit the pager
    finally:
        try:
            process.stdin.close()
        except BrokenPipeError:
            pass
        process.wait()


DAMAGED = 3
"""Exit code of a command that found a damaged run. It printed what it could read."""


def watcher(is_json: bool) -> "LineProgress | LiveProgress":
    """Return a progress bar for a terminal. Without a terminal, or with `--json`,
    return an object that prints lines.
    """
    from ..report import LineProgress, LiveProgress

    if is_json or not sys.stderr.isatty():
        return LineProgress(sys.stderr)
    from rich.console import Console

    return LiveProgress(Console(stderr=True))


def finish(
    result: RunResult,
    stdout: TextIO,
    is_json: bool,
    comparison: "Comparison | None" = None,
    watching: "LineProgress | LiveProgress | None" = None,
) -> None:
    """Print the table of a finished run, or one JSON document.

    Notes that the terminal already showed during the run are not printed again.
    """
    if is_json:
        document = result.to_plain()
        if comparison is not None:
            document["baseline"] = comparison.to_plain()
        stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
        return
    from rich.console import Console

    from ..report import group_lines, printable, show_table
    from ..report.grid import FILE_WIDTH, fixed_width
    from ..runner.counts.spending import spent

    width = fixed_width(stdout)
    console = Console(
        file=stdout,
        highlight=False,
        width=width or FILE_WIDTH,
    )
    cause = _why_nothing_was_scored(result)
    if cause:
        print(printable(f"assay: {cause}"), file=sys.stderr)
        console.print(
            f"{result.status}: {result.folder}",
            markup=False,
            soft_wrap=True,
        )
        return
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
            _print_note(console, printable(line), width)
    console.print()
    if _same_place(stdout, sys.stderr):
        progress_notes = getattr(watching, "said", ())
    else:
        progress_notes = ()
    for note in result.notes:
        if note in progress_notes:
            continue
        _print_note(console, printable(note_line(note)), width)
    total = spent(_usage_of_all_runs(result))
    if total:
        console.print(f"asked in all: {total}", markup=False)
    console.print(
        f"{result.status}: {result.folder}",
        markup=False,
        soft_wrap=True,
    )
    for line in next_steps(result):
        console.print(
            f"  {line}",
            markup=False,
            soft_wrap=True,
        )


def _print_note(
    console: "Console",
    line: str,
    width: int | None,
) -> None:
    """Print a note, wrapped between words if the output has a width."""
    from ..report.grid import fold_line

    for part in fold_line(line, width) if width else [line]:
        console.print(part, markup=False, soft_wrap=True)


def _usage_of_all_runs(result: RunResult) -> dict[str, Any]:
    """Return the token usage of this run. If the run reused answers, add the usage of
    the earlier runs in its folder.
    """
    from ..runner.resume.spent import tokens_in_journal

    if not any(cell.get("reused") for cell in result.usage.values()):
        return result.usage
    journal = RunReader(result.folder).layout.journal
    return {"all runs": tokens_in_journal(journal)}


def _why_nothing_was_scored(result: RunResult) -> str | None:
    """Return the note that explains why the run stopped, if it stopped before it scored any sample."""
    if result.status != "failed" or any(row.n for row in result.results):
        return None
    return next((note for note in result.notes if note.startswith("stopped")), None)


def finish_all(
    results: Iterable[RunResult | AssayError],
    stdout: TextIO,
    is_json: bool,
) -> list[int]:
    """Print the table of each run when it ends, or one JSON document for all. Return the exit codes."""
    codes = [0]
    documents = []
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
    """Return True if two streams write to the same terminal, file or pipe."""
    try:
        return os.path.sameopenfile(one.fileno(), other.fileno())
    except (OSError, ValueError, AttributeError):
        return False  # one of the streams has no file


def _epochs(result: RunResult, console: "Console") -> None:
    from ..report import printable, result_names

    for r, name in zip(result.results, result_names(result.results), strict=True):
        if isinstance(r.details.get("epochs"), dict):
            advice = r.details.get("epochs", {}).get("advice")
        else:
            advice = None
        if advice:
            console.print(
                printable(f"  {name}: {advice}"),
                markup=False,
                soft_wrap=True,
            )


def next_steps(result: RunResult) -> Sequence[str]:
    """Return two commands that the user may try next. After an interrupted run, one of them continues it."""
    command = typed_command()
    folder = shlex.quote(str(result.folder))
    again = (
        ("the same command again continues where it stopped",)
        if result.status == "interrupted"
        else ()
    )
    return (
        *again,
        f"{command} show {folder}     every sample: prompt, answer, verdict",
        f"{command} score {folder}    score again without asking the model",
    )


def typed_command() -> str:
    """Return how the user started assay, such as `assay` or `python -m assay`, for messages."""
    program = Path(sys.argv[0])
    if program.name != "__main__.py":
        if shutil.which("assay"):
            return "assay"
        if program.stem == "assay":
            return shlex.quote(sys.argv[0])
    return "python -m assay"


def say_damage(reader: RunReader) -> int:
    """Print one line to stderr for each kind of damage to the run. Return the exit code."""
    from ..report import printable

    for line in reader.damage_lines():
        print(printable(f"assay: {line}"), file=sys.stderr)
    return DAMAGED if reader.damage else 0

"""Send long output through the user's pager on a terminal, and print it anywhere else."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable

USUAL = "less"
LESS = "FRX"
"""Options for `less`: quit if everything fits on one screen, show colours, and keep the text on the screen."""


def find_pager() -> list[str] | None:
    """Return the pager command: `$PAGER`, else `less`.

    Return None without a terminal, or if `$PAGER` is empty or `cat`.
    """
    if not sys.stdout.isatty() or not sys.stdin.isatty():
        return None
    command = shlex.split(os.environ.get("PAGER", USUAL))
    if not command or command[0] == "cat" or shutil.which(command[0]) is None:
        return None
    return command


def print_folded(lines: Iterable[str], pager: list[str] | None) -> None:
    """Print prose, wrapped between words if the output has a width."""
    from ..report.grid import fixed_width, fold_line

    width = fixed_width(sys.stdout)
    if width is None:
        print_lines(lines, pager)
    else:
        print_lines((part for line in lines for part in fold_line(line, width)), pager)


def print_lines(lines: Iterable[str], pager: list[str] | None) -> None:
    """Write lines one after another, and stop when the user quits the pager."""
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
        pass  # the reader has seen enough
    finally:
        try:
            process.stdin.close()
        except BrokenPipeError:
            pass
        process.wait()

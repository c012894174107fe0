"""Long output on a terminal goes through the user's pager, as it comes; anywhere else it is printed."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable

USUAL = "less"
LESS = "FRX"
"""For `less`: end by itself where all fits on the screen, show colours, leave the text on the screen."""


def find_pager() -> list[str] | None:
    """The command of the pager: `$PAGER`, else `less`; none off a terminal, or where it is set to nothing or `cat`."""
    if not sys.stdout.isatty() or not sys.stdin.isatty():
        return None
    command = shlex.split(os.environ.get("PAGER", USUAL))
    if not command or command[0] == "cat" or shutil.which(command[0]) is None:
        return None
    return command


def print_lines(lines: Iterable[str], pager: list[str] | None) -> None:
    """Writes lines one after another; a pager that is left early ends it."""
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

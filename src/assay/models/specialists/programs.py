"""System programs as models: found on PATH, called with a list of arguments, never through a shell."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...core import ModelError, UsageError

SECONDS = 120.0
SHOWN = 200


def find_program(name: str, apt: str) -> str:
    """Return the path of a program, or raise an error with the command that installs it."""
    path = shutil.which(name)
    if path is None:
        raise UsageError(
            f"the program {name!r} is not installed", fix=f"apt-get install -y {apt}"
        )
    return path


def call(
    arguments: Sequence[str],
    *,
    folder: Path | None = None,
    more: Mapping[str, str] | None = None,
) -> str:
    """Return the output of a program.

    Raise a `ModelError` with its last line of stderr if it fails or takes too long.
    """
    name = Path(arguments[0]).name
    try:
        done = subprocess.run(
            list(arguments),
            capture_output=True,
            cwd=folder,
            env={**os.environ, **(more or {})},
            stdin=subprocess.DEVNULL,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ModelError(f"{name} took more than {SECONDS:g} seconds") from error
    except OSError as error:
        raise ModelError(f"{name} could not be started: {error.strerror}") from error
    if done.returncode != 0:
        words = done.stderr.decode("utf-8", "replace").strip()[-SHOWN:]
        raise ModelError(f"{name} left with {done.returncode}: {words}")
    return done.stdout.decode("utf-8", "replace")


def version_of(program: str) -> str:
    """Return the first line of a program's `--version` that looks like a version."""
    words = [program, "--version"]
    done = subprocess.run(
        words,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=SECONDS,
        check=False,
    )
    lines = (done.stdout + done.stderr).decode("utf-8", "replace").splitlines()
    return next(
        (
            line.strip()
            for line in lines
            if "version" in line.lower() or line[-1:].isdigit()
        ),
        "unknown",
    )

"""The files of the host that an interpreter needs: its own tree and the system libraries."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from ..core import UsageError
from .launch import Command

SYSTEM_LIBRARIES = ("/usr/lib", "/usr/lib32", "/usr/lib64", "/lib", "/lib32", "/lib64")
PYTHON = ("python", "python3")
"""Names of the interpreter that runs assay."""
TIME_ZONES = Path("/usr/share/zoneinfo")
"""The time zones of the machine, which `zoneinfo` reads."""
_SHARED = (Path("/usr"), Path("/usr/local"), Path("/"))
"""Prefixes that contain far more than an interpreter."""


@cache
def own_python() -> Path:
    """Return the interpreter behind this process, not the link of a virtual environment."""
    return Path(os.path.realpath(sys.executable))


@cache
def readable_for(program: Path) -> tuple[Path, ...]:
    """Return the files and folders that a program needs besides the system libraries."""
    if program != own_python():
        paths = [program, *_linked(program), TIME_ZONES]
        return tuple(path for path in paths if path.exists())
    prefix = Path(sys.base_prefix).resolve()
    # Not the prefix itself: other environments and caches may be beside it.
    folders = ["lib", "lib64"]
    if prefix in _SHARED:
        major, minor = sys.version_info[:2]
        folders = [f"lib/python{major}.{minor}"]
    paths = [program]
    for folder in folders:
        paths.append(prefix / folder)
    paths += [*_linked(program), TIME_ZONES]
    return tuple(path for path in paths if path.exists())


@cache
def find_program(name: str) -> Path:
    """Find a program by name or path, and follow links. `python` is the interpreter of this process."""
    if name in PYTHON:
        return own_python()
    program = shutil.which(name)
    if program is None:
        raise UsageError(
            f"there is no interpreter {name!r} on this machine",
            fix=f"install {name}, or name its path",
        )
    return Path(os.path.realpath(program))


def program_of(command: Command) -> Path:
    """Return the program of this machine that runs a command."""
    return find_program(command.argv[0]) if command.role == "program" else own_python()


def resolved(command: Command) -> Command:
    """Return the command with the full path of its program."""
    if command.role != "program":
        return command
    return replace(command, argv=[str(program_of(command)), *command.argv[1:]])


@cache
def _linked(program: Path) -> Sequence[Path]:
    """Return the shared libraries of a program that are outside the system's folders."""
    try:
        listed = subprocess.run(
            ["ldd", str(program)],
            capture_output=True,
            text=True,
            timeout=10,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ()
    paths = (Path(word) for word in listed.split() if word.startswith("/"))
    return tuple(
        path
        for path in paths
        if path.exists() and not str(path).startswith(SYSTEM_LIBRARIES)
    )

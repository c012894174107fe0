"""What of the host an interpreter needs to run: its own tree, the system's libraries, and nothing else."""

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
_SHARED = (Path("/usr"), Path("/usr/local"), Path("/"))
"""Prefixes that hold far more than an interpreter."""


@cache
def own_python() -> Path:
    """The interpreter behind this process, not the link of a virtual environment."""
    return Path(os.path.realpath(sys.executable))


@cache
def readable_for(program: Path) -> tuple[Path, ...]:
    """The files and folders that a program needs besides the system's libraries."""
    if program != own_python():
        return (program, *_linked(program))
    prefix = Path(sys.base_prefix).resolve()
    # Not the prefix itself: other environments, caches and whatever else may lie beside.
    folders = ["lib", "lib64"]
    if prefix in _SHARED:
        folders = [f"lib/python{sys.version_info.major}.{sys.version_info.minor}"]
    places = (program, *(prefix / folder for folder in folders), *_linked(program))
    return tuple(path for path in places if path.exists())


@cache
def find_program(name: str) -> Path:
    """A program by name or path, with links followed; `python` is the interpreter of this process."""
    if name in PYTHON:
        return own_python()
    found = shutil.which(name)
    if found is None:
        raise UsageError(
            f"there is no interpreter {name!r} on this machine",
            fix=f"install {name}, or name its path",
        )
    return Path(os.path.realpath(found))


def program_of(command: Command) -> Path:
    """The program of this machine that a command is run by."""
    return find_program(command.argv[0]) if command.role == "program" else own_python()


def resolved(command: Command) -> Command:
    """The command with its program by path."""
    if command.role != "program":
        return command
    return replace(command, argv=[str(program_of(command)), *command.argv[1:]])


@cache
def _linked(program: Path) -> Sequence[Path]:
    """Shared libraries outside the system's folders that a program is linked with."""
    try:
        listed = subprocess.run(
            ["ldd", str(program)], capture_output=True, text=True, timeout=10
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ()
    paths = (Path(word) for word in listed.split() if word.startswith("/"))
    return tuple(
        path
        for path in paths
        if path.exists() and not str(path).startswith(SYSTEM_LIBRARIES)
    )

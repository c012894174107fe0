"""Confines a process with Landlock, inside the sandbox and before any code of a model runs.

The process can then open only the given files. Landlock also prevents signals and
connections to abstract sockets outside the sandbox. A system-call filter does the rest.
Neither can be undone.
"""

import ctypes
import os

_CREATE, _ADD, _RESTRICT = 444, 445, 446
OLDEST = 6
"""The lowest supported Landlock version (Linux 6.12), the first that confines signals and abstract sockets."""
_FILES = (1 << 16) - 1
_READ_FILE, _READ_FOLDER = 1 << 0 | 1 << 2, 1 << 3
"""Landlock's rights to execute and read files, and its right to list folders."""
_WRITE_DEVICE = 1 << 1
_OF_FILES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
"""Landlock's rights that apply to files. All its other rights apply only to folders."""
_MAKE_SPECIAL = 1 << 6 | 1 << 9 | 1 << 11
"""Landlock's rights to make character devices, sockets and block devices."""
_NETWORK, _SCOPES = 3, 3
_PARENT_DEATH, _KILL = 1, 9
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2


class _Rules(ctypes.Structure):
    _fields_ = [
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scopes", ctypes.c_uint64),
    ]


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32)]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


_libc = ctypes.CDLL(None, use_errno=True)


def landlock_version() -> int:
    """Return the kernel's Landlock version; 0 if the kernel does not support it."""
    return max(
        0, int(_libc.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1)))
    )


def end_with(parent: int) -> None:
    """Make the kernel end this process when its parent ends. If the parent has already ended, end it now.

    A change of the user cancels this, so call it afterwards.
    """
    _check_result(_libc.prctl(_PARENT_DEATH, _KILL, 0, 0, 0))
    if os.getppid() != parent:
        os._exit(1)


def confine(readable: list | None, writable: list, calls: bytes) -> None:  # type: ignore[type-arg]
    """Confine this process and its children to the given files, and to the system calls that a filter allows.

    With `readable=None`, they can read all files.
    """
    _check_result(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    if readable is not None:
        _open_only(readable, writable)
    code = ctypes.create_string_buffer(calls, len(calls))
    address = ctypes.cast(code, ctypes.c_void_p)
    program = _Program(len(calls) // 8, address)
    _check_result(_libc.prctl(_SECCOMP, _FILTER, ctypes.byref(program), 0, 0))


def _open_only(readable: list, writable: list) -> None:  # type: ignore[type-arg]
    """Use Landlock to allow only these files and folders."""
    rules = _Rules(_FILES, _NETWORK, _SCOPES)
    ruleset = _check_result(
        _libc.syscall(
            _CREATE,
            ctypes.byref(rules),
            ctypes.c_size_t(ctypes.sizeof(rules)),
            0,
        )
    )
    for path in readable:
        _allow(
            ruleset,
            path,
            _READ_FILE
            | _READ_FOLDER
            | (_WRITE_DEVICE if path.startswith("/dev/") else 0),
        )
    for path in writable:
        # Neither devices nor sockets can be made there.
        _allow(ruleset, path, _FILES & ~_MAKE_SPECIAL)
    _check_result(_libc.syscall(_RESTRICT, ruleset, 0))
    os.close(ruleset)


def _allow(
    ruleset: int,
    path: str,
    allowed: int,
) -> None:
    """Add a Landlock rule that allows access to one file or folder."""
    folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
    if not os.path.isdir(path):
        allowed &= _OF_FILES
    beneath = _Beneath(allowed, folder)
    _check_result(
        _libc.syscall(
            _ADD,
            ruleset,
            1,
            ctypes.byref(beneath),
            0,
        )
    )
    os.close(folder)


def _check_result(result: int) -> int:
    """Return the result of a system call. Raise `OSError` if it failed."""
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result

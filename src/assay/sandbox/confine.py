"""Runs inside, before anything a model wrote: this process may open nothing but what it is told, by Landlock.

Signals and abstract sockets stay within, the system-call filter does the rest; neither can be taken back.
"""

import ctypes
import os

_CREATE, _ADD, _RESTRICT = 444, 445, 446
OLDEST = 6
"""The version of Landlock (Linux 6.12) that keeps signals and abstract sockets in."""
_FILES = (1 << 16) - 1
_READ_FILE, _READ_FOLDER = 1 << 0 | 1 << 2, 1 << 3
"""Execute and read; list."""
_WRITE_DEVICE = 1 << 1
_NETWORK, _SCOPES = 3, 3
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
    """Which Landlock the kernel has; 0 for none."""
    return max(
        0, int(_libc.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1)))
    )


def confine(readable: list | None, writable: list, calls: bytes) -> None:  # type: ignore[type-arg]
    """Leaves this process, and all it starts, these files and folders (all, for `None`) and the calls of a filter."""
    _checked(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    if readable is not None:
        _open_only(readable, writable)
    code = ctypes.create_string_buffer(calls, len(calls))
    program = _Program(len(calls) // 8, ctypes.cast(code, ctypes.c_void_p))
    _checked(_libc.prctl(_SECCOMP, _FILTER, ctypes.byref(program), 0, 0))


def _open_only(readable: list, writable: list) -> None:  # type: ignore[type-arg]
    rules = _Rules(_FILES, _NETWORK, _SCOPES)
    ruleset = _checked(
        _libc.syscall(
            _CREATE, ctypes.byref(rules), ctypes.c_size_t(ctypes.sizeof(rules)), 0
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
        # Neither devices nor sockets are made there.
        _allow(ruleset, path, _FILES & ~(1 << 6 | 1 << 9 | 1 << 11))
    _checked(_libc.syscall(_RESTRICT, ruleset, 0))
    os.close(ruleset)


def _allow(ruleset: int, path: str, allowed: int) -> None:
    folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
    if not os.path.isdir(path):
        allowed &= 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
    _checked(
        _libc.syscall(_ADD, ruleset, 1, ctypes.byref(_Beneath(allowed, folder)), 0)
    )
    os.close(folder)


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result

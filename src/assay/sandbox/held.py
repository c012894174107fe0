"""The memory used by executions: the sum over the processes of each.

A process belongs to an execution if it is in its process group, or descends from its first process.

The buffers of sockets are kernel memory, which is not counted for any process. So each descriptor above a small
number counts as a socket with a full buffer.
"""

import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

LOOK_SECONDS = 0.1
"""Seconds between two checks of an execution's total. Limits of single processes and files apply at once."""
_FREE_DESCRIPTORS = 32
"""Descriptors of a process that are not counted: most programs have fewer."""
_SOCKET_BYTES = 208 << 10
"""The usual size of a socket's buffer. The system-call filter refuses larger ones."""
_PAGE = os.sysconf("SC_PAGE_SIZE")
_LOOKS_AT_ALL = 10

_looking = threading.Lock()
_latest: tuple[float, Mapping[int, int]] = (0.0, {})
_groups: set[int] = set()
"""Process groups of executions."""
_others: set[str] = set()
"""Processes that belong to no execution."""
_looks = 0


class _Process(NamedTuple):
    """The entry of a process in `/proc`."""

    parent: int
    group: int
    resident_bytes: int


@contextmanager
def starting() -> Iterator[set[int]]:
    """Hold the lock while a process is started, so that it is not mistaken for an unrelated one."""
    with _looking:
        yield _groups


def watch_group(pid: int) -> None:
    """Count the memory of a process group from now on."""
    with _looking:
        _groups.add(pid)
        _others.discard(str(pid))


def forget_group(pid: int) -> None:
    """Stop counting a group that has ended."""
    with _looking:
        _groups.discard(pid)


def held_by_groups() -> Mapping[int, int]:
    """Return bytes in memory by process group. One check serves all executions."""
    global _latest
    with _looking:
        now = time.monotonic()
        if now - _latest[0] >= LOOK_SECONDS / 2:
            _latest = now, _memory_by_group()
        return _latest[1]


def _memory_by_group() -> dict[int, int]:
    """Return bytes in memory by process group.

    Processes known to belong to no execution are skipped. Since a pid may be reused, every tenth check reads all.
    """
    global _others, _looks
    memory: dict[int, int] = {}
    processes: dict[int, _Process] = {}
    previous, others = _others if _looks % _LOOKS_AT_ALL else set(), set()
    _looks += 1
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        if name in previous:
            others.add(name)
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                words = file.read().rpartition(b")")[2].split()
        except OSError:
            continue  # it has ended
        size = int(words[21]) * _PAGE
        processes[int(name)] = _Process(int(words[1]), int(words[2]), size)
    for pid, process in processes.items():
        group = _group_of(pid, processes)
        if group is None:
            others.add(str(pid))
        else:
            used_bytes = process.resident_bytes + _buffers(str(pid))
            memory[group] = memory.get(group, 0) + used_bytes
    _others = others
    return memory


def _group_of(pid: int, processes: Mapping[int, _Process]) -> int | None:
    """Return the execution to which a process belongs, or None.

    The programs of a workspace may leave its process group, but not its process namespace: there, an orphan becomes
    a child of the first process.
    """
    visited: set[int] = set()
    while pid in processes and pid not in visited:
        visited.add(pid)
        if pid in _groups:
            return pid
        process = processes[pid]
        if process.group in _groups:
            return process.group
        pid = process.parent
    return None


def _buffers(pid: str) -> int:
    """Return the bytes that the sockets of a process may use; 0 before Linux 6.2, which does not count them."""
    try:
        descriptors = os.stat(f"/proc/{pid}/fd").st_size
    except OSError:
        return 0
    return max(0, descriptors - _FREE_DESCRIPTORS) * _SOCKET_BYTES

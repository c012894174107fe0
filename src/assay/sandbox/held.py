"""What executions hold: the memory of all processes of each, by their process group, and the files in a folder."""

import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

LOOK_SECONDS = 0.1
"""How often is looked at what executions hold together; the limits of single processes and files hold at once."""
_MOST_FILES = 4096
_PAGE = os.sysconf("SC_PAGE_SIZE")
_LOOKS_AT_ALL = 10

_looking = threading.Lock()
_latest: tuple[float, Mapping[int, int]] = (0.0, {})
_groups: set[int] = set()
"""Process groups of executions."""
_others: set[str] = set()
"""Processes that were seen to be of no execution."""
_looks = 0


@contextmanager
def starting() -> Iterator[set[int]]:
    """While a process is started whose group is put into the set: nobody may take it for a process of others before."""
    with _looking:
        yield _groups


def watch_group(pid: int) -> None:
    """From now on counts what the group of a process that was there already holds, and what it starts."""
    with _looking:
        _groups.add(pid)
        _others.discard(str(pid))


def forget_group(pid: int) -> None:
    """The group has ended."""
    with _looking:
        _groups.discard(pid)


def held_by_groups() -> Mapping[int, int]:
    """Bytes in memory by process group; looked up once for all executions of a moment."""
    global _latest
    with _looking:
        now = time.monotonic()
        if now - _latest[0] >= LOOK_SECONDS / 2:
            _latest = now, _memory_by_group()
        return _latest[1]


def _memory_by_group() -> dict[int, int]:
    """Of all processes only those of executions are read each time: who is not of them cannot become so.

    A number may be given to a new process, so all are read again at every tenth look.
    """
    global _others, _looks
    memory: dict[int, int] = {}
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
            continue  # it has ended meanwhile
        group = int(words[2])
        if group in _groups:
            memory[group] = memory.get(group, 0) + int(words[21]) * _PAGE
        else:
            others.add(name)
    _others = others
    return memory


def is_full(folder: str, most: int) -> bool:
    """Whether the files in a folder take more bytes than this, or are too many."""
    size = count = 0
    for place, folders, files in os.walk(folder, onerror=None):
        count += len(folders) + len(files)
        if count > _MOST_FILES:
            return True
        for name in files:
            try:
                size += os.lstat(os.path.join(place, name)).st_blocks * 512
            except OSError:
                continue
    return size > most

"""A command with the open files that it reads: how a tier says what is to be started."""

import json
import os
import shutil
import threading
from dataclasses import dataclass, field
from pathlib import Path

from .limits import Limits

FOLDER = Path(__file__).resolve().parent
INSIDE = FOLDER / "inside.py"
"""The program that sets limits inside the sandbox and becomes the command."""
OF_ASSAY = tuple(FOLDER / name for name in ("inside.py", "confine.py", "values.py", "candidate.py", "tester.py"))
"""The files of assay's that are there inside."""


@dataclass(slots=True)
class Launch:
    """What is to be started, and the files in memory that it inherits."""

    argv: list[str] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    folder: Path | None = None
    """The folder of the host that it works in, where the tier has no file system of its own; gone afterwards."""

    def hold(self, data: bytes) -> int:
        """A file in memory with this content; its number, as the command will know it."""
        number = os.memfd_create("assay", 0)
        os.write(number, data) if len(data) < 65536 else _write_all(number, data)
        os.lseek(number, 0, os.SEEK_SET)
        self.descriptors.append(number)
        return number

    def close(self) -> None:
        """Lets the files in memory go; the command has its own."""
        for number in self.descriptors:
            os.close(number)
        self.descriptors.clear()

    def remove_folder(self) -> None:
        """Takes away what the command left on the host."""
        if self.folder is not None:
            _open_up(self.folder)
            shutil.rmtree(self.folder, ignore_errors=True)


def _open_up(folder: Path) -> None:
    """Folders that were closed to their owner are opened, or they could not be emptied."""
    for place, names, _ in os.walk(folder):
        for name in names:
            if not os.path.islink(path := os.path.join(place, name)):
                os.chmod(path, 0o700)


_turn, _turns = 0, threading.Lock()


def fresh_uid() -> int:
    """A uid that nobody on this machine has: limits on processes count by uid, and no two executions share one."""
    global _turn
    with _turns:
        _turn = (_turn + 1) % 4096
    return 0x5A000000 + (os.getpid() % 16384) * 4096 + _turn


def _write_all(number: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(number, view) :]


@dataclass(frozen=True, slots=True)
class Keep:
    """Files that are handed out when the command has ended, and the pipe they go to."""

    names: tuple[str, ...] = ()
    pipe: int = -1


def held(limits: Limits, uid: int | None, *, same: bool = False, keep: Keep = Keep(), **more: object) -> str:
    """What the program inside must do before it becomes the command; `same` where it is a Python file of assay's."""
    plain = {
        "same": same,
        "cpu": limits.cpu_seconds,
        "memory": limits.memory_mb << 20,
        "processes": limits.processes,
        "file": limits.file_mb << 20,
        "uid": uid,
        "keep": keep.names,
        "pipe": keep.pipe,
        **more,
    }
    return json.dumps(plain)

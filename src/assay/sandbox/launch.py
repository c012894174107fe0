"""A command with the open files that it reads: how a tier says what is to be started."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from .limits import Limits

FOLDER = Path(__file__).resolve().parent
INSIDE = FOLDER / "inside.py"
"""The program that sets limits inside the sandbox and becomes the command."""
OF_ASSAY = tuple(FOLDER / name for name in ("inside.py", "values.py", "candidate.py", "tester.py"))
"""The files of assay's that are there inside."""


@dataclass(slots=True)
class Launch:
    """What is to be started, and the files in memory that it inherits."""

    argv: list[str] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)
    user: int | None = None
    """The uid to start as, where the tier cannot change it inside."""

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


def _write_all(number: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(number, view) :]


def held(limits: Limits, uid: int | None, *, same: bool = False, **more: object) -> str:
    """What the program inside must do before it becomes the command; `same` where it is a Python file of assay's."""
    plain = {
        "same": same,
        "cpu": limits.cpu_seconds,
        "memory": limits.memory_mb << 20,
        "processes": limits.processes,
        "file": limits.file_mb << 20,
        "uid": uid,
        **more,
    }
    return json.dumps(plain)

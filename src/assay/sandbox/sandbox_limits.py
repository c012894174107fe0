"""Limits of an execution, and its result."""

from dataclasses import dataclass
from typing import Literal

Ending = Literal["exited", "wall_time", "cpu_time", "memory", "disk", "killed"]
"""How an execution ended: by itself, at one of its limits, or by an unexplained signal."""


def last_line(data: bytes) -> str:
    """Return the last line that a process wrote; empty if it wrote nothing."""
    return data.decode("utf-8", "replace").strip().rpartition("\n")[2].strip()


@dataclass(frozen=True, slots=True)
class Limits:
    """What one execution may use of the machine."""

    wall_seconds: float = 10.0
    cpu_seconds: int = 10
    memory_mb: int = 1024
    """Limit of each process's address space, and of the memory that all processes use together."""
    processes: int = 32
    file_mb: int = 16
    """Size limit of each file that it writes. Its whole file system has `disk_mb`."""
    disk_mb: int = 64
    output_bytes: int = 1 << 20
    """Limit for standard output and standard error each. The rest is dropped, and `truncated` is True."""


@dataclass(frozen=True, slots=True)
class Execution:
    """The result of one command."""

    ending: Ending
    returncode: int | None
    """None if it was ended from outside."""
    stdout: bytes
    stderr: bytes
    seconds: float
    truncated: bool = False
    """True if some of the output was dropped."""

    @property
    def succeeded(self) -> bool:
        """True if it ended by itself with exit code 0."""
        return self.ending == "exited" and self.returncode == 0

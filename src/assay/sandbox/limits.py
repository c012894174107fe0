"""What an execution may use, and what became of it."""

from dataclasses import dataclass
from typing import Literal

Ending = Literal["exited", "wall_time", "cpu_time", "memory", "disk", "killed"]
"""How an execution ended: by itself, at one of its limits, or by a signal nobody can explain."""


def last_line(data: bytes) -> str:
    """The last words of what a process wrote; empty where it wrote nothing."""
    return data.decode("utf-8", "replace").strip().rpartition("\n")[2].strip()


@dataclass(frozen=True, slots=True)
class Limits:
    """What one execution may use of the machine."""

    wall_seconds: float = 10.0
    cpu_seconds: int = 10
    memory_mb: int = 1024
    """Address space of each process, and what all of them hold together."""
    processes: int = 32
    file_mb: int = 16
    """Size of each file it writes; its file system as a whole holds `disk_mb`."""
    disk_mb: int = 64
    output_bytes: int = 1 << 20
    """Of standard output and of standard error each; the rest is read and thrown away, and `truncated` says so."""


@dataclass(frozen=True, slots=True)
class Execution:
    """What came of one command."""

    ending: Ending
    returncode: int | None
    """`None` where it was ended from outside."""
    stdout: bytes
    stderr: bytes
    seconds: float
    truncated: bool = False
    """Whether some of the output was thrown away."""

    @property
    def succeeded(self) -> bool:
        """Whether it ended by itself and said that all was well."""
        return self.ending == "exited" and self.returncode == 0

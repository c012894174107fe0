"""A sandbox: commands run one after another, each in a fresh file system, each within limits.

    with Sandbox(best_tier()) as box:
        box.write("main.py", code)
        done = box.exec(["python", "main.py"], stdin="3 4", timeout=5)
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Protocol

from ..core import UsageError
from .interpreters import find_program
from .launch import Launch
from .limits import Execution, Limits
from .running import Running, SandboxError, attend

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/tmp/work", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}

__all__ = ["Sandbox", "SandboxError", "Tier"]


class Tier(Protocol):
    """A way to keep code in."""

    @property
    def name(self) -> str: ...

    def launch(
        self, program: Path, argv: Sequence[str], files: Mapping[str, bytes], env: Mapping[str, str], limits: Limits
    ) -> Launch:
        """The command that runs `argv` inside."""
        ...


class Sandbox:
    """Runs commands by one tier; holds the files that each of them starts with."""

    def __init__(self, tier: Tier, limits: Limits = Limits()) -> None:
        self.tier = tier
        self.limits = limits
        self._files: dict[str, bytes] = {}

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def write(self, name: str, data: str | bytes) -> None:
        """A file that every later command finds in its folder."""
        if not name or name.startswith("/") or ".." in name.split("/") or "\0" in name:
            raise UsageError(f"{name!r} is not a name inside the sandbox", fix="a plain name, as main.py")
        self._files[name] = as_bytes(data)

    def exec(
        self,
        argv: Sequence[str],
        stdin: str | bytes = b"",
        timeout: float | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Execution:
        """Runs a command; its first word is a program of this machine, `python` this process's interpreter."""
        limits = self.limits if timeout is None else replace(self.limits, wall_seconds=timeout)
        program = find_program(argv[0])
        launch = self.tier.launch(program, argv[1:], self._files, {**ENVIRONMENT, **(env or {})}, limits)
        with Running(launch, as_bytes(stdin), limits) as running:
            attend([running], running.started + limits.wall_seconds)
            return running.finished()

    def close(self) -> None:
        """Forgets the files."""
        self._files.clear()



def as_bytes(text: str | bytes) -> bytes:
    """Text as UTF-8; what is no text, as half of a surrogate pair, is left for the interpreter to refuse."""
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text

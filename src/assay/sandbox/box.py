"""A sandbox: commands run one after another, each in a fresh file system, each within limits.

    with Sandbox(best_tier()) as box:
        box.write("main.py", code)
        done = box.exec(["python", "main.py"], stdin="3 4", timeout=5)
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Protocol

from ..core import UsageError
from .interpreters import find_program
from .launch import Keep, Launch
from .limits import Execution, Limits
from .running import Running, SandboxError, attend

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/tmp/work", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}

__all__ = ["Sandbox", "SandboxError", "Tier"]


class Tier(Protocol):
    """A way to keep code in."""

    @property
    def name(self) -> str: ...

    def launch(
        self,
        program: Path,
        argv: Sequence[str],
        files: Mapping[str, bytes],
        env: Mapping[str, str],
        limits: Limits,
        keep: Keep = Keep(),
    ) -> Launch:
        """The command that runs `argv` inside."""
        ...


class Sandbox:
    """Runs commands by one tier; holds the files that each of them starts with."""

    def __init__(self, tier: Tier, limits: Limits = Limits()) -> None:
        self.tier = tier
        self.limits = limits
        self._files: dict[str, bytes] = {}
        self._kept: dict[str, bytes] = {}

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def write(self, name: str, data: str | bytes) -> None:
        """A file that every later command finds in its folder."""
        self._files[_checked(name)] = as_bytes(data)

    def read(self, name: str) -> bytes:
        """A file that the last command left, of those it was told to keep."""
        if name not in self._kept:
            raise UsageError(f"the last command left no file {name!r}", fix=f"exec(…, keep=[{name!r}])")
        return self._kept[name]

    def exec(
        self,
        argv: Sequence[str],
        stdin: str | bytes = b"",
        timeout: float | None = None,
        env: Mapping[str, str] | None = None,
        keep: Sequence[str] = (),
    ) -> Execution:
        """Runs a command; its first word is a program of this machine, `python` this process's interpreter.

        Of the files it leaves, those to `keep` can be read afterwards; everything else is gone.
        """
        limits = self.limits if timeout is None else replace(self.limits, wall_seconds=timeout)
        program = find_program(argv[0])
        names = tuple(map(_checked, keep))
        reading, writing = os.pipe() if names else (-1, -1)
        try:
            wanted = Keep(names, writing)
            launch = self.tier.launch(program, argv[1:], self._files, {**ENVIRONMENT, **(env or {})}, limits, wanted)
            with Running(launch, as_bytes(stdin), limits, keep_open=(writing,) if names else ()) as running:
                if names:
                    os.close(writing)
                    writing = -1
                deadline = running.started + limits.wall_seconds
                heard = attend([running], deadline, reading if names else None, to_the_end=True)
                done = running.finished()
        finally:
            for number in (reading, writing):
                if number >= 0:
                    os.close(number)
        self._kept = dict(_handed_out(heard, names))
        return done

    def close(self) -> None:
        """Forgets the files."""
        self._files.clear()
        self._kept.clear()


def _checked(name: str) -> str:
    if not name or name.startswith("/") or ".." in name.split("/") or "\0" in name:
        raise UsageError(f"{name!r} is not a name inside the sandbox", fix="a plain name, as main.py")
    return name


def _handed_out(heard: bytes, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """The files in what came over the pipe; the command may have written there too, so nothing is believed of it."""
    while heard:
        head, _, heard = heard.partition(b"\n")
        try:
            name, length = json.loads(head)
        except (ValueError, TypeError, RecursionError):
            return
        if name not in names or not isinstance(length, int) or not 0 <= length <= len(heard):
            return
        yield name, heard[:length]
        heard = heard[length:]



def as_bytes(text: str | bytes) -> bytes:
    """Text as UTF-8; what is no text, as half of a surrogate pair, is left for the interpreter to refuse."""
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text

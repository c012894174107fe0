"""What is to be run inside, and the started command that runs it: how a tier is asked, and what it answers with.

Inside, a short program (`inside`) sets limits and becomes what is to be run. It is handed over compiled, in a file in
memory together with its settings, so that no file of assay's has to be there and nothing is compiled again.
"""

import marshal
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from ..core import EMPTY
from .limits import Limits

ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp/work",
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
}
FOLDER = Path(__file__).resolve().parent
Role = Literal["program", "script", "candidate", "tester", "server"]
"""A program of the machine; a Python file in the interpreter that is started anyway; the two sides of a verdict; the
process that forks all of them but the first."""
_SIDES: Mapping[Role, tuple[str, ...]] = {
    "candidate": ("values", "candidate"),
    "tester": ("values", "tester"),
}
IMPORTED = ("typing", "math", "_sitebuiltins")
"""What most programs and tests import, and a fork finds there."""
_GO_ON = "exec(s['inside'],{'settings':s,'__name__':'inside'})"
_FROM_FILE = f"import marshal\nwith open(%d,'rb') as f:s=marshal.load(f)\n{_GO_ON}"
_FROM_STDIN = f"""import marshal,os
def r(n):
 d=b''
 while len(d)<n:
  p=os.read(0,min(n-len(d),65536))
  if not p:raise SystemExit(125)
  d+=p
 return d
s=marshal.loads(r(int(r(10))))
{_GO_ON}"""
_ANY_PYTHON = 2
"""The format of `marshal` that every Python 3 reads."""


@dataclass(frozen=True, slots=True)
class Keep:
    """Files that are handed out when the command has ended, and the pipe they go to."""

    names: tuple[str, ...] = ()
    pipe: int = -1


@dataclass(frozen=True, slots=True)
class Command:
    """What is to be run inside, with the files that it starts with."""

    argv: Sequence[str] = ()
    """A program of the machine and its arguments; for a script, its file and its arguments."""
    role: Role = "program"
    facts: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """What the side of a verdict is told: its program or tests, and the descriptors it speaks over."""
    files: Mapping[str, bytes] = field(default_factory=lambda: EMPTY)
    env: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    keep: Keep = Keep()


@dataclass(slots=True)
class Launch:
    """The command line of a sandbox, and the files in memory that it inherits."""

    argv: list[str] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    folder: Path | None = None
    """The folder of the host that it works in, where the tier has no file system of its own; gone afterwards."""
    first: bytes = b""
    """What is written to its standard input before anything else, where it inherits no files."""
    ends: Sequence[str] = ()
    """The command that ends it, where killing the process that was started does not."""

    def hold(self, data: bytes) -> int:
        """A file in memory with this content; its number, as the command will know it."""
        number = os.memfd_create("assay", 0)
        os.write(number, data) if len(data) < 65536 else write_all(number, data)
        os.lseek(number, 0, os.SEEK_SET)
        self.descriptors.append(number)
        return number

    def __enter__(self) -> "Launch":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets the files in memory go; the command has its own."""
        for number in self.descriptors:
            os.close(number)
        self.descriptors.clear()

    def end_elsewhere(self) -> None:
        """Ends what runs outside the process that was started."""
        if self.ends:
            quiet = subprocess.DEVNULL
            subprocess.run(
                self.ends,
                stdin=quiet,
                stdout=quiet,
                stderr=quiet,
                timeout=60,
                check=False,
            )

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


def write_all(number: int, data: bytes) -> None:
    """Writes all of it, in as many pieces as it takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(number, view) :]


def settings_of(
    command: Command, limits: Limits, uid: int | None, **more: object
) -> dict[str, Any]:
    """What the program inside must do before it becomes the command."""
    return {
        "argv": list(command.argv),
        "role": command.role,
        "facts": dict(command.facts),
        "cpu": limits.cpu_seconds,
        "memory": limits.memory_mb << 20,
        "processes": limits.processes,
        "file": limits.file_mb << 20,
        "uid": uid,
        "keep": command.keep.names,
        "pipe": command.keep.pipe,
        **more,
    }


def started_by(python: Path, launch: Launch, settings: Mapping[str, Any]) -> list[str]:
    """The words that start the program inside: by this interpreter, from a file in memory."""
    data = marshal.dumps({**settings, **_programs(settings, _compiled)})
    return [str(python), "-I", "-S", "-c", _FROM_FILE % launch.hold(data)]


def started_over_stdin(launch: Launch, settings: Mapping[str, Any]) -> list[str]:
    """The arguments that start the program inside by any Python 3, from the head of its standard input."""
    data = marshal.dumps({**settings, **_programs(settings, _source)}, _ANY_PYTHON)
    launch.first = b"%010d" % len(data) + data
    return ["-I", "-S", "-c", _FROM_STDIN]


def _programs(
    settings: Mapping[str, Any], read: Callable[[str], Any]
) -> dict[str, Any]:
    names = ["steps", *(("confine",) if "calls" in settings else ())]
    names += _SIDES.get(settings.get("side", settings["role"]), ())
    names += ["namespaces", "serving"] if settings["role"] == "server" else []
    return {"inside": read("inside"), "modules": {name: read(name) for name in names}}


@cache
def _source(name: str) -> str:
    return (FOLDER / f"{name}.py").read_text("utf-8")


@cache
def _compiled(name: str) -> Any:
    return compile(_source(name), f"{name}.py", "exec")

"""Starting a command in a sandbox: its limits and result, its command line, and the files an interpreter needs.

In the sandbox, a short program (`inside`) sets limits and becomes the command. The
sandbox needs no file of assay for it: `inside` and its settings are passed as compiled
code in a memory file. If the interpreter there may have another version, its source is
passed through standard input.
"""

import marshal
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from ..core import EMPTY, UsageError
from .folders import remove_folder

Ending = Literal["exited", "wall_time", "cpu_time", "memory", "disk", "killed"]
"""How an execution ended: by exiting, at one of its limits, or by a signal from elsewhere."""


def last_line(data: bytes) -> str:
    """Return the last line that a process wrote; empty if it wrote nothing."""
    return data.decode("utf-8", "replace").strip().rpartition("\n")[2].strip()


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on what one execution may use."""

    wall_seconds: float = 10.0
    cpu_seconds: int = 10
    memory_mb: int = 1024
    """Limit of each process's address space, and of the memory that all processes use together."""
    processes: int = 32
    file_mb: int = 16
    """Size limit of each file that the command writes. `disk_mb` limits the whole file system."""
    disk_mb: int = 64
    output_bytes: int = 1 << 20
    """Size limit of standard output and standard error each. Further output is dropped, and `truncated` is True."""


@dataclass(frozen=True, slots=True)
class Execution:
    """The result of one command."""

    ending: Ending
    returncode: int | None
    """The exit code; None if the command was killed."""
    stdout: bytes
    stderr: bytes
    seconds: float
    truncated: bool = False
    """True if some of the output was dropped."""

    @property
    def succeeded(self) -> bool:
        """True if the command was not stopped and exited with code 0."""
        return self.ending == "exited" and self.returncode == 0


ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp/work",
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
}
FOLDER = Path(__file__).resolve().parent
Role = Literal["program", "script", "verdict", "workspace", "server"]
"""The program that the started process in the sandbox becomes.

`program`: a program of the host. `script`: a Python file, run by the interpreter that is already started. `verdict`:
a program with tests of its functions. `workspace`: the process that runs the commands of a workspace. `server`: the
process that forks the others.
"""
_MODULES: Mapping[Role, tuple[str, ...]] = {
    "verdict": ("harness",),
    "workspace": ("workspace_inside",),
    "server": ("harness", "namespaces", "workspace_inside", "serving"),
}
IMPORTED = ("typing", "math", "_sitebuiltins")
"""Modules that most programs and tests import. In a fork they are already loaded."""
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
"""Version of the `marshal` format that every Python 3 reads."""


@dataclass(frozen=True, slots=True)
class Keep:
    """Names of files that are returned when the command has ended, and the pipe through which they are sent."""

    names: tuple[str, ...] = ()
    pipe: int = -1


@dataclass(frozen=True, slots=True)
class Command:
    """A command to run in a sandbox, with its initial files."""

    argv: Sequence[str] = ()
    """A program of the host and its arguments; for a script, its file and its arguments."""
    role: Role = "program"
    facts: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """Data for a verdict: the program, its tests, and the descriptor to which the verdict is written."""
    files: Mapping[str, bytes] = field(default_factory=lambda: EMPTY)
    env: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    keep: Keep = Keep()


@dataclass(slots=True)
class Launch:
    """The command line that starts a sandbox, and the files in memory that it inherits."""

    argv: list[str] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    folder: Path | None = None
    """Working folder on the host, for tiers without a separate file system. It is removed afterwards."""
    first: bytes = b""
    """Bytes to send before the command's own standard input. Used by tiers that inherit no files."""
    ends: Sequence[str] = ()
    """Command that ends the sandbox, for engines where killing the started process does not end it."""

    def hold(self, data: bytes) -> int:
        """Write data to a file in memory, and return its descriptor number in the started command."""
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
        """Close the files in memory. The started command keeps its own descriptors."""
        for number in self.descriptors:
            os.close(number)
        self.descriptors.clear()

    def end_elsewhere(self) -> None:
        """Run the command that ends the sandbox. A container, for example, may outlive the engine's program."""
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
        """Remove everything that the command left on the host."""
        if self.folder is not None:
            remove_folder(self.folder)


_turn, _turns = 0, threading.Lock()


def fresh_uid() -> int:
    """Return a uid that no user of this machine has.

    The kernel limits processes per uid, so each execution gets a different one.
    """
    global _turn
    with _turns:
        _turn = (_turn + 1) % 4096
    return 0x5A000000 + (os.getpid() % 16384) * 4096 + _turn


def write_all(number: int, data: bytes) -> None:
    """Write all data, in as many pieces as needed."""
    view = memoryview(data)
    while view:
        view = view[os.write(number, view) :]


def settings_of(
    command: Command,
    limits: Limits,
    uid: int | None,
    **more: object,
) -> dict[str, Any]:
    """Return the settings that `inside` applies before it becomes the command."""
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


def started_by(
    python: Path,
    launch: Launch,
    settings: Mapping[str, Any],
) -> list[str]:
    """Return the command line with which this interpreter starts `inside`, from a file in memory."""
    data = marshal.dumps({**settings, **_programs(settings, _compiled)})
    return [str(python), "-I", "-S", "-c", _FROM_FILE % launch.hold(data)]


def started_over_stdin(
    launch: Launch,
    settings: Mapping[str, Any],
) -> list[str]:
    """Return the arguments with which any Python 3 reads `inside` from standard input and runs it.

    The code becomes the first bytes of the launch's standard input.
    """
    data = marshal.dumps({**settings, **_programs(settings, _source)}, _ANY_PYTHON)
    launch.first = b"%010d" % len(data) + data
    return ["-I", "-S", "-c", _FROM_STDIN]


def _programs(
    settings: Mapping[str, Any],
    read: Callable[[str], Any],
) -> dict[str, Any]:
    names = ["steps", *(("confine",) if "calls" in settings else ())]
    names += _MODULES.get(settings["role"], ())
    return {"inside": read("inside"), "modules": {name: read(name) for name in names}}


@cache
def _source(name: str) -> str:
    return (FOLDER / f"{name}.py").read_text("utf-8")


@cache
def _compiled(name: str) -> object:
    return compile(_source(name), f"{name}.py", "exec")


SYSTEM_LIBRARIES = ("/usr/lib", "/usr/lib32", "/usr/lib64", "/lib", "/lib32", "/lib64")
PYTHON = ("python", "python3")
"""Names that mean the interpreter that runs assay."""
TIME_ZONES = Path("/usr/share/zoneinfo")
"""The time zone files of the host, which `zoneinfo` reads."""
_SHARED = (Path("/usr"), Path("/usr/local"), Path("/"))
"""Folders that contain far more than an interpreter, so that they are never mounted whole."""


@cache
def own_python() -> Path:
    """Return the real path of the interpreter, not the link to it in a virtual environment."""
    return Path(os.path.realpath(sys.executable))


@cache
def readable_for(program: Path) -> tuple[Path, ...]:
    """Return the files and folders that a program needs besides the system libraries."""
    if program != own_python():
        paths = [program, *_linked_libraries(program), TIME_ZONES]
        return tuple(path for path in paths if path.exists())
    prefix = Path(sys.base_prefix).resolve()
    # Not the prefix itself, which may also contain other environments and caches.
    folders = ["lib", "lib64"]
    if prefix in _SHARED:
        major, minor = sys.version_info[:2]
        folders = [f"lib/python{major}.{minor}"]
    paths = [program]
    for folder in folders:
        paths.append(prefix / folder)
    paths += [*_linked_libraries(program), TIME_ZONES]
    return tuple(path for path in paths if path.exists())


@cache
def find_program(name: str) -> Path:
    """Find a program by name or path, and follow links. `python` means the interpreter of this process."""
    if name in PYTHON:
        return own_python()
    program = shutil.which(name)
    if program is None:
        raise UsageError(
            f"there is no interpreter {name!r} on this machine",
            fix=f"install {name}, or name its path",
        )
    return Path(os.path.realpath(program))


def program_of(command: Command) -> Path:
    """Return the path of the program that a command starts. It is Python, except for the role `program`."""
    if command.role == "program":
        return find_program(command.argv[0])
    return own_python()


def resolved(command: Command) -> Command:
    """Return the command with its program replaced by the full path."""
    if command.role != "program":
        return command
    return replace(command, argv=[str(program_of(command)), *command.argv[1:]])


@cache
def _linked_libraries(program: Path) -> Sequence[Path]:
    """Return a program's shared libraries outside the system folders."""
    try:
        listed = subprocess.run(
            ["ldd", str(program)],
            capture_output=True,
            text=True,
            timeout=10,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ()
    paths = (Path(word) for word in listed.split() if word.startswith("/"))
    return tuple(
        path
        for path in paths
        if path.exists() and not str(path).startswith(SYSTEM_LIBRARIES)
    )

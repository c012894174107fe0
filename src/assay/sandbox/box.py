"""A sandbox: commands run one after another, each in a fresh file system, each within limits.

with Sandbox(best_tier()) as box:
    box.write("main.py", code)
    done = box.exec(["python", "main.py"], stdin="3 4", timeout=5)
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from ..core import UsageError
from .fork_server import forked
from .launch import ENVIRONMENT, PYTHON, Command, Execution, Keep, Launch, Limits, Role
from .running import Attended, Pipes, Running, SandboxError, Stopper, attend

__all__ = ["Sandbox", "SandboxError", "Tier"]


class Tier(Protocol):
    """A kind of sandbox, such as bubblewrap, which defines how code is confined."""

    @property
    def name(self) -> str: ...

    def launch(self, command: Command, limits: Limits) -> Launch:
        """Return the command that runs another command inside the sandbox."""
        ...


class Sandbox:
    """Runs commands in a sandbox of one tier. Every command starts with only the files given to `write`."""

    def __init__(
        self,
        tier: Tier,
        limits: Limits = Limits(),
        stopper: Stopper | None = None,
    ) -> None:
        self.tier = tier
        self.limits = limits
        self._stopper = stopper or Stopper()
        self._files: dict[str, bytes] = {}
        self._kept: dict[str, bytes] = {}

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(
        self,
        name: str,
        data: str | bytes,
    ) -> None:
        """Add a file that later commands find in their working folder."""
        self._files[_check_name(name)] = as_bytes(data)

    def read(self, name: str) -> bytes:
        """Return the content of a file that the last command left. Its name must have been passed as `keep`."""
        if name not in self._kept:
            raise UsageError(
                f"the last command left no file {name!r}",
                fix=f"exec(…, keep=[{name!r}])",
            )
        return self._kept[name]

    def exec(
        self,
        argv: Sequence[str],
        stdin: str | bytes = b"",
        timeout: float | None = None,
        env: Mapping[str, str] | None = None,
        keep: Sequence[str] = (),
    ) -> Execution:
        """Run a command. Its first word is a program of the host; `python` means the interpreter of this process.

        Files in `keep` can be read afterwards with `read`. Everything else that the
        command leaves is removed.
        """
        if timeout is None:
            limits = self.limits
        else:
            limits = replace(self.limits, wall_seconds=timeout)
        names = tuple(map(_check_name, keep))
        with Pipes() as pipes:
            pipe = pipes.new() if names else None
            if pipe is not None:
                keeps = Keep(names, pipe.writing)
            else:
                keeps = Keep()
            command = self._command(argv, {**ENVIRONMENT, **(env or {})}, keeps)
            with self._start(command, limits, as_bytes(stdin)) as done:
                if pipe is not None:
                    watched = pipe.reading
                else:
                    watched = None
                pipes.close_all_but(watched)
                deadline = done.started + limits.wall_seconds
                with self._stopper.watching(done):
                    heard = attend([done], deadline, watched, to_the_end=True)
                execution = done.finished()
        self._kept = dict(_read_kept_files(heard, names))
        return execution

    def _start(
        self,
        command: Command,
        limits: Limits,
        stdin: bytes,
    ) -> Attended:
        """Start a command: in a fork of a running process if the tier supports it, otherwise in a new process."""
        if (fork := forked(self.tier, command, limits, stdin)) is not None:
            return fork
        launch = self.tier.launch(command, limits)
        inherits = (command.keep.pipe,) if command.keep.names else ()
        return Running(launch, launch.first + stdin, limits, inherits=inherits)

    def _command(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        keep: Keep,
    ) -> Command:
        # A Python file runs in the interpreter that sets the limits, unless options for another are given.
        """Return the `Command` for these arguments, with the files written to the sandbox and its environment."""
        is_script = argv[0] in PYTHON and len(argv) > 1 and argv[1] in self._files
        role: Role = "script" if is_script else "program"
        return Command(
            argv[is_script:],
            role,
            files=self._files,
            env=env,
            keep=keep,
        )

    def close(self) -> None:
        """Remove the files of the sandbox."""
        self._files.clear()
        self._kept.clear()


def _check_name(name: str) -> str:
    """Return the file name unchanged. Raise if its path leaves the sandbox."""
    if not name or name.startswith("/") or ".." in name.split("/") or "\0" in name:
        raise UsageError(
            f"{name!r} is not a name inside the sandbox",
            fix="use a plain name such as main.py",
        )
    return name


def _read_kept_files(
    heard: bytes,
    names: Sequence[str],
) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each kept file, from the bytes that a command sent through the pipe.

    The names are checked, because the command could also write to the pipe.
    """
    while heard:
        head, _, heard = heard.partition(b"\n")
        words = head.split()
        if len(words) != 2 or not all(
            word.isdigit() and len(word) < 12 for word in words
        ):
            return
        number, length = map(int, words)
        if number >= len(names) or length > len(heard):
            return
        yield names[number], heard[:length]
        heard = heard[length:]


def as_bytes(text: str | bytes) -> bytes:
    """Encode text as UTF-8. Unpaired surrogates are encoded too, so that Python in the sandbox rejects them."""
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")
    return text

"""A sandbox: commands run one after another, each in a fresh file system, each within limits.

    with Sandbox(best_tier()) as box:
        box.write("main.py", code)
        done = box.exec(["python", "main.py"], stdin="3 4", timeout=5)
"""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Protocol

from ..core import AssayError, UsageError
from .interpreters import find_program
from .launch import Launch
from .limits import Ending, Execution, Limits

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/tmp/work", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
_CHUNK = 1 << 16


class SandboxError(AssayError):
    """The sandbox itself failed: infrastructure, never a verdict on what was to be run in it."""


class Tier(Protocol):
    """A way to keep code in."""

    name: str

    def launch(
        self, program: object, argv: Sequence[str], files: Mapping[str, bytes], env: Mapping[str, str], limits: Limits
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
        self._files[name] = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data

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
        data = stdin.encode("utf-8", "surrogateescape") if isinstance(stdin, str) else stdin
        try:
            return _run(launch, data, limits)
        finally:
            launch.close()

    def close(self) -> None:
        """Forgets the files."""
        self._files.clear()


def _run(launch: Launch, stdin: bytes, limits: Limits) -> Execution:
    started = time.monotonic()
    try:
        process = subprocess.Popen(
            launch.argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=launch.descriptors,
            start_new_session=True,
            env={},
            user=launch.user,
        )
    except OSError as error:
        raise SandboxError(f"the sandbox could not be started: {error}", fix="assay doctor says what is missing") from error
    with process:
        outputs, truncated, is_late = _talk(process, stdin, limits, started + limits.wall_seconds)
        if is_late:
            _end(process)
        code = process.wait()
    ending, returncode = _ending(code, is_late)
    return Execution(ending, returncode, outputs[0], outputs[1], time.monotonic() - started, truncated)


def _talk(
    process: "subprocess.Popen[bytes]", stdin: bytes, limits: Limits, deadline: float
) -> tuple[tuple[bytes, bytes], bool, bool]:
    """Feeds and drains a process until it closes its outputs or its time is up."""
    assert process.stdin and process.stdout and process.stderr
    kept: dict[int, bytearray] = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    order = list(kept)
    truncated, unsent = False, memoryview(stdin)
    with selectors.DefaultSelector() as selector:
        for number in order:
            os.set_blocking(number, False)
            selector.register(number, selectors.EVENT_READ)
        source = process.stdin.fileno()
        os.set_blocking(source, False)
        if unsent:
            selector.register(source, selectors.EVENT_WRITE)
        else:
            process.stdin.close()
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                return (bytes(kept[order[0]]), bytes(kept[order[1]])), truncated, True
            for key, _ in selector.select(left):
                if key.fd == source:
                    unsent = _feed(source, unsent)
                    if not unsent:
                        selector.unregister(source)
                        process.stdin.close()
                    continue
                try:
                    chunk = os.read(key.fd, _CHUNK)
                except BlockingIOError:
                    continue
                if not chunk:
                    selector.unregister(key.fd)
                    continue
                room = limits.output_bytes - len(kept[key.fd])
                truncated = truncated or len(chunk) > room
                kept[key.fd] += chunk[: max(room, 0)]
    return (bytes(kept[order[0]]), bytes(kept[order[1]])), truncated, False


def _feed(source: int, unsent: memoryview) -> memoryview:
    try:
        return unsent[os.write(source, unsent[:_CHUNK]) :]
    except BlockingIOError:
        return unsent
    except OSError:  # it reads no more
        return unsent[len(unsent) :]


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Kills the command and all it started: the namespace dies with its first process."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _ending(code: int, is_late: bool) -> tuple[Ending, int | None]:
    if is_late:
        return "wall_time", None
    signalled = -code if code < 0 else code - 128 if 128 < code < 192 else 0
    if signalled == signal.SIGXCPU or (signalled == signal.SIGKILL):
        return "cpu_time" if signalled == signal.SIGXCPU else "killed", None
    return "exited", code

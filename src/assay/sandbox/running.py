"""Executions in sandboxes, fed and drained until they are done, their time is up or they hold too much."""

import os
import select
import selectors
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from ..core import AssayError
from .held import LOOK_SECONDS, forget_group, held_by_groups, is_full, starting
from .launch import Launch
from .limits import Ending, Execution, Limits

_CHUNK = 1 << 16
_MOST_HEARD = 256 << 20


class SandboxError(AssayError):
    """The sandbox itself failed: infrastructure, never a verdict on what was to be run in it."""


class Pipe(NamedTuple):
    """The two ends of a pipe."""

    reading: int
    writing: int


class Pipes:
    """Pipes that are closed once, whatever happens."""

    def __init__(self) -> None:
        self._open: set[int] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_all_but()

    def new(self) -> Pipe:
        """A pipe that nobody has yet."""
        pipe = Pipe(*os.pipe())
        self._open |= set(pipe)
        return pipe

    def close_all_but(self, *numbers: int | None) -> None:
        """Lets go of what the processes that were started have now."""
        for number in self._open.difference(numbers):
            self._open.discard(number)
            os.close(number)


class Attended(ABC):
    """One execution with all it started, what is still to be written to it and what it has written."""

    folder: Path | None = None
    """The folder of the host that it works in, where it has no file system of its own."""

    def __init__(self, limits: Limits, stdin: bytes = b"") -> None:
        self.started = time.monotonic()
        self.limits = limits
        self.unsent = memoryview(stdin)
        self.truncated = False
        self.stopped: Ending | None = None
        """The limit at which it was ended from outside."""
        self.stdout, self.stderr = bytearray(), bytearray()
        self.outputs: Mapping[int, bytearray] = {}
        self.input: int | None = None
        """The pipe to its standard input, while it is open."""
        self.pid = self.pidfd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        forget_group(self.pid)
        self.close()

    @abstractmethod
    def end(self) -> None:
        """Kills it and all it started."""

    @abstractmethod
    def close(self) -> None:
        """Waits until nothing of it is left, and lets go of what belongs to it."""

    @abstractmethod
    def close_input(self) -> None:
        """There is no more for it to read."""

    @abstractmethod
    def exit_code(self) -> int | None:
        """Waits until it has ended, with all it started; its code, or `None` where nobody knows."""

    def was_lost(self) -> bool:
        """Whether it has ended, for all that can be known, by no doing of the program."""
        return False

    def stop(self, ending: Ending) -> None:
        """Ends it at a limit."""
        self.stopped = self.stopped or ending
        self.end()

    def feed(self) -> bool:
        """Writes what it takes of its input; whether there is more."""
        assert self.input is not None
        try:
            self.unsent = self.unsent[os.write(self.input, self.unsent[:_CHUNK]) :]
        except BlockingIOError:
            return True
        except OSError:  # it reads no more
            self.unsent = self.unsent[len(self.unsent) :]
        if not self.unsent:
            self.close_input()
        return bool(self.unsent)

    def drain(self, number: int) -> bool:
        """Reads what it has written; whether more may come. Past the limit it is thrown away."""
        try:
            chunk = os.read(number, _CHUNK)
        except BlockingIOError:
            return True
        output = self.outputs[number]
        room = self.limits.output_bytes - len(output)
        self.truncated = self.truncated or len(chunk) > room
        output += chunk[: max(room, 0)]
        return bool(chunk)

    def holds_too_much(self) -> Ending | None:
        """The limit that all its processes and files together are past."""
        if held_by_groups().get(self.pid, 0) > self.limits.memory_mb << 20:
            return "memory"
        return (
            "disk"
            if self.folder is not None
            and is_full(str(self.folder), self.limits.disk_mb << 20)
            else None
        )

    def finished(self) -> Execution:
        """What came of it, with all it started ended."""
        code = self.exit_code()
        ending, returncode = (self.stopped, None) if self.stopped else _ending(code)
        seconds = time.monotonic() - self.started
        return Execution(
            ending,
            returncode,
            bytes(self.stdout),
            bytes(self.stderr),
            seconds,
            self.truncated,
        )


class Running(Attended):
    """An execution by a process that was started for it."""

    def __init__(
        self,
        launch: Launch,
        stdin: bytes,
        limits: Limits,
        *,
        inherits: Sequence[int] = (),
        streams: Sequence[int] = (subprocess.PIPE,) * 3,
    ) -> None:
        super().__init__(limits, stdin)
        self._launch = launch
        self.folder = launch.folder
        try:
            with starting() as groups:
                self.process = subprocess.Popen(
                    launch.argv,
                    stdin=streams[0],
                    stdout=streams[1],
                    stderr=streams[2],
                    pass_fds=(*launch.descriptors, *inherits),
                    start_new_session=True,
                    env=launch.env,
                    cwd=launch.folder,
                )
                groups.add(self.process.pid)
        except OSError as error:
            launch.remove_folder()
            raise SandboxError(
                f"the sandbox could not be started: {error.strerror}",
                fix="`assay doctor` says what is missing",
            ) from error
        finally:
            launch.close()
        pipes = ((self.process.stdout, self.stdout), (self.process.stderr, self.stderr))
        self.outputs = {pipe.fileno(): data for pipe, data in pipes if pipe is not None}
        self.input = None if self.process.stdin is None else self.process.stdin.fileno()
        self.pid, self.pidfd = self.process.pid, os.pidfd_open(self.process.pid)

    def end(self) -> None:
        """Kills the command and all it started: they stay in one process group, and it is not yet reaped."""
        if self.process.returncode is None:
            goes_on = (
                os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                is None
            )
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            if goes_on:
                self._launch.end_elsewhere()

    def close(self) -> None:
        """Waits for the process, closes the pipes and removes its folder."""
        os.close(self.pidfd)
        with self.process:
            pass
        self._launch.remove_folder()

    def close_input(self) -> None:
        """There is no more for it to read."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.input = None

    def exit_code(self) -> int:
        """The code of the process that was started."""
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        self.end()
        return self.process.wait()


def attend(
    processes: Sequence[Attended],
    deadline: float,
    watched: int | None = None,
    *,
    to_the_end: bool = False,
) -> bytes:
    """Feeds and drains processes until all have ended and closed their outputs, or their time is up.

    With `watched`, until that pipe is closed, or longer with `to_the_end`; what came over it is returned.
    """
    heard = bytearray()
    look = time.monotonic() + LOOK_SECONDS
    with selectors.DefaultSelector() as selector:
        for running in processes:
            _register(selector, running)
        if watched is not None:
            selector.register(watched, selectors.EVENT_READ)
        while selector.get_map():
            now = time.monotonic()
            if now >= look:
                look = now + LOOK_SECONDS
                for running in processes:
                    if (ending := running.holds_too_much()) is not None:
                        running.stop(ending)
            if now >= deadline:
                for running in processes:
                    running.stop("wall_time")
                break
            for key, _ in selector.select(min(deadline, look) - now):
                if key.fd == watched:
                    chunk = os.read(key.fd, _CHUNK)
                    heard += chunk[: max(0, _MOST_HEARD - len(heard))]
                    if not chunk and not to_the_end:
                        return bytes(heard)
                    if not chunk:
                        selector.unregister(watched)
                elif not _serve(key.fd, key.data):
                    selector.unregister(key.fd)
    return bytes(heard)


def write_within(number: int, data: bytes, seconds: float) -> None:
    """Writes to a pipe all of it, or what is taken in that time."""
    os.set_blocking(number, False)
    view, deadline = memoryview(data), time.monotonic() + seconds
    try:
        while view and (left := deadline - time.monotonic()) > 0:
            if select.select([], [number], [], left)[1]:
                view = view[os.write(number, view[:_CHUNK]) :]
    finally:
        os.set_blocking(number, True)


def _register(selector: selectors.BaseSelector, running: Attended) -> None:
    for number in running.outputs:
        os.set_blocking(number, False)
        selector.register(number, selectors.EVENT_READ, running)
    selector.register(running.pidfd, selectors.EVENT_READ, running)
    if running.input is not None and running.unsent:
        os.set_blocking(running.input, False)
        selector.register(running.input, selectors.EVENT_WRITE, running)
    elif running.input is not None:
        running.close_input()


def _serve(number: int, running: Attended) -> bool:
    """Does what a descriptor is ready for; whether it will be ready again."""
    if number == running.pidfd:
        running.end()  # what it left behind goes too, and with it whatever keeps the outputs open
        return False
    return running.drain(number) if number in running.outputs else running.feed()


def _ending(code: int | None) -> tuple[Ending, int | None]:
    if code is None:
        return "killed", None
    # Bubblewrap, and who forks in it, say 128 + N where what they ran was ended by signal N.
    signalled = -code if code < 0 else code - 128 if 128 < code < 160 else 0
    if signalled == signal.SIGXCPU:
        return "cpu_time", None
    return ("killed", None) if signalled == signal.SIGKILL else ("exited", code)

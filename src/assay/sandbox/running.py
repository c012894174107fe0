"""Feed and drain executions in sandboxes until they end, and measure the memory they use.

The memory of an execution is the sum over its processes. A process belongs to an execution if it is in its process
group, or descends from its first process.

The buffers of sockets are kernel memory, which is not counted for any process. So each descriptor above a small
number is treated as a socket with a full buffer.
"""

import os
import selectors
import signal
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Self

from ..core import AssayError
from .folders import is_full, unwatch, watch
from .launch import Ending, Execution, Launch, Limits

LOOK_SECONDS = 0.1
"""Seconds between checks of an execution's total memory and disk. Limits per process apply immediately."""
_FREE_DESCRIPTORS = 32
"""Open descriptors up to this number are assumed not to be sockets. Few programs open more."""
_SOCKET_BYTES = 208 << 10
"""Usual size of a socket buffer. The system-call filter refuses larger ones."""
_PAGE = os.sysconf("SC_PAGE_SIZE")
_LOOKS_AT_ALL = 10

_looking = threading.Lock()
_latest: tuple[float, Mapping[int, int]] = (0.0, {})
_groups: set[int] = set()
"""Ids of the process groups of running executions."""
_others: set[str] = set()
"""Ids of processes that are known to belong to no execution. They are not measured again."""
_looks = 0


class _Process(NamedTuple):
    """Values of one process from `/proc`."""

    parent: int
    group: int
    resident_bytes: int


@contextmanager
def starting() -> Iterator[set[int]]:
    """Hold the lock while a process starts, so that the memory check does not classify it as unrelated."""
    with _looking:
        yield _groups


def watch_group(pid: int) -> None:
    """Include the process group with this id in the memory check from now on."""
    with _looking:
        _groups.add(pid)
        _others.discard(str(pid))


def forget_group(pid: int) -> None:
    """Exclude a process group that has ended from the memory check."""
    with _looking:
        _groups.discard(pid)


def memory_by_group() -> Mapping[int, int]:
    """Return the memory of each process group in bytes. All executions share a cached measurement."""
    global _latest
    with _looking:
        now = time.monotonic()
        if now - _latest[0] >= LOOK_SECONDS / 2:
            _latest = now, _measure_memory()
        return _latest[1]


def _measure_memory() -> dict[int, int]:
    """Measure the memory of each process group in bytes.

    Skip processes known to belong to no execution. Every tenth call reads them all, because the system reuses pids.
    """
    global _others, _looks
    memory: dict[int, int] = {}
    processes: dict[int, _Process] = {}
    if _looks % _LOOKS_AT_ALL:
        previous = _others
    else:
        previous = set()
    others = set()
    _looks += 1
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        if name in previous:
            others.add(name)
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                words = file.read().rpartition(b")")[2].split()
        except OSError:
            continue  # it has ended
        size = int(words[21]) * _PAGE
        processes[int(name)] = _Process(int(words[1]), int(words[2]), size)
    for pid, process in processes.items():
        group = _group_of(pid, processes)
        if group is None:
            others.add(str(pid))
        else:
            used_bytes = process.resident_bytes + _buffers(str(pid))
            memory[group] = memory.get(group, 0) + used_bytes
    _others = others
    return memory


def _group_of(
    pid: int,
    processes: Mapping[int, _Process],
) -> int | None:
    """Return the process group of the execution that a process belongs to, or None.

    In a workspace, a program may leave the process group but not the pid namespace. If
    its parent ends, it becomes a child of the first process there.
    """
    visited: set[int] = set()
    while pid in processes and pid not in visited:
        visited.add(pid)
        if pid in _groups:
            return pid
        process = processes[pid]
        if process.group in _groups:
            return process.group
        pid = process.parent
    return None


def _buffers(pid: str) -> int:
    """Estimate the upper limit of a process's socket buffers in bytes. 0 before Linux 6.2, which lacks the count."""
    try:
        descriptors = os.stat(f"/proc/{pid}/fd").st_size
    except OSError:
        return 0
    return max(0, descriptors - _FREE_DESCRIPTORS) * _SOCKET_BYTES


_CHUNK = 1 << 16
_MOST_HEARD = 256 << 20


class SandboxError(AssayError):
    """Raised if the sandbox itself failed, which does not show whether the program is correct."""


class StoppedError(SandboxError):
    """Raised if an execution was ended because the run was stopped."""


class Stopper:
    """Ends executions in progress when their run is stopped."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[Attended] = set()
        self._is_stopped = False

    def stop(self) -> None:
        """End current executions now, and later ones as soon as they start."""
        with self._lock:
            self._is_stopped = True
            for running in self._running:
                running.end()

    @contextmanager
    def watching(self, running: "Attended") -> Iterator[None]:
        """Let `stop` end an execution during the block. If the run was stopped, raise `StoppedError` afterwards."""
        with self.attached(running):
            yield
        self.raise_if_stopped()

    @contextmanager
    def attached(self, running: "Attended") -> Iterator[None]:
        """Let `stop` end an execution during the block. Unlike `watching`, never raise."""
        with self._lock:
            self._running.add(running)
            if self._is_stopped:
                running.end()
        try:
            yield
        finally:
            with self._lock:
                self._running.discard(running)

    def raise_if_stopped(self) -> None:
        """Raise `StoppedError` if the run was stopped."""
        if self._is_stopped:
            raise StoppedError("the run was stopped", fix="run it again")


class Pipe(NamedTuple):
    """The read and write ends of a pipe."""

    reading: int
    writing: int


class Pipes:
    """A set of pipes, each end of which is closed exactly once."""

    def __init__(self) -> None:
        self._open: set[int] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_all_but()

    def new(self) -> Pipe:
        """Return a new pipe."""
        pipe = Pipe(*os.pipe())
        self._open |= set(pipe)
        return pipe

    def close_all_but(self, *numbers: int | None) -> None:
        """Close all pipe ends except these. Called once the started processes have inherited theirs."""
        for number in self._open.difference(numbers):
            self._open.discard(number)
            os.close(number)


class Attended(ABC):
    """A running execution with all its processes, its remaining input and its output so far."""

    folder: Path | None = None
    """Working folder on the host; None if the execution has a separate file system."""

    def __init__(
        self,
        limits: Limits,
        stdin: bytes = b"",
    ) -> None:
        self.started = time.monotonic()
        self.limits = limits
        self.unsent = memoryview(stdin)
        self.truncated = False
        self.stopped: Ending | None = None
        """The limit at which assay stopped the execution; None if assay did not stop it."""
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.outputs: Mapping[int, bytearray] = {}
        self.input: int | None = None
        """Descriptor of the pipe to standard input; None once it is closed."""
        self.pid = self.pidfd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        forget_group(self.pid)
        self.close()

    @abstractmethod
    def end(self) -> None:
        """Kill all processes of the execution."""

    @abstractmethod
    def close(self) -> None:
        """Wait until all processes have ended, and release the resources of the execution."""

    @abstractmethod
    def close_input(self) -> None:
        """Close the standard input of the execution."""

    @abstractmethod
    def exit_code(self) -> int | None:
        """Wait until all processes have ended. Return the exit code of the command, or None if it is unknown."""

    def was_lost(self) -> bool:
        """Return True if something outside assay is known to have ended the execution."""
        return False

    def stop(self, ending: Ending) -> None:
        """End the execution because it reached a limit."""
        self.stopped = self.stopped or ending
        self.end()

    def feed(self) -> bool:
        """Write as much of the remaining input as the pipe accepts. Return True if some is left."""
        assert self.input is not None
        try:
            self.unsent = self.unsent[os.write(self.input, self.unsent[:_CHUNK]) :]
        except BlockingIOError:
            return True
        except OSError:  # it has closed its input
            self.unsent = self.unsent[len(self.unsent) :]
        if not self.unsent:
            self.close_input()
        return bool(self.unsent)

    def drain(self, number: int) -> bool:
        """Read the available output. Return True if more may come. Output beyond the limit is dropped."""
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
        """Return which total limit the execution exceeds: `memory`, `disk` or None."""
        if memory_by_group().get(self.pid, 0) > self.limits.memory_mb << 20:
            return "memory"
        if self.folder is not None and is_full(
            str(self.folder), self.limits.disk_mb << 20
        ):
            return "disk"
        return None

    def finished(self) -> Execution:
        """End all processes and return the result."""
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
    """An execution in a separate process."""

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
        if self.process.stdin is None:
            self.input = None
        else:
            self.input = self.process.stdin.fileno()
        self.pid, self.pidfd = self.process.pid, os.pidfd_open(self.process.pid)
        if self.folder is not None:
            watch(self.pid, self.folder)

    def end(self) -> None:
        """Kill the command and all its processes. They share a process group, whose
        first process was not reaped yet.
        """
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
        """Wait for the process, close the pipes and remove the working folder."""
        if self.folder is not None:
            unwatch(self.pid)
        os.close(self.pidfd)
        with self.process:
            pass
        self._launch.remove_folder()

    def close_input(self) -> None:
        """Close the standard input of the process."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.input = None

    def exit_code(self) -> int:
        """Return the exit code of the started process."""
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
    """Feed and drain processes until all have ended and closed their outputs, or until the deadline.

    If `watched` is a pipe, return the bytes that arrived over it. Stop when the pipe is closed, unless `to_the_end`
    is set.
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


def _register(
    selector: selectors.BaseSelector,
    running: Attended,
) -> None:
    """Register the pipes of an execution with a selector, so that they are fed and drained."""
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
    """Handle a descriptor that is ready. Return False if it need not be watched any more."""
    if number == running.pidfd:
        running.end()  # end remaining processes, which may keep the outputs open
        return False
    if number in running.outputs:
        return running.drain(number)
    return running.feed()


def _ending(code: int | None) -> tuple[Ending, int | None]:
    """Convert a reported exit code to the ending of a process and its exit code (None if a signal ended it)."""
    if code is None:
        return "killed", None
    # Bubblewrap and the forking process report 128 + N for a command that was ended by signal N.
    if code < 0:
        signalled = -code
    elif 128 < code < 160:
        signalled = code - 128
    else:
        signalled = 0
    if signalled == signal.SIGXCPU:
        return "cpu_time", None
    if signalled == signal.SIGKILL:
        return ("killed", None)
    return ("exited", code)

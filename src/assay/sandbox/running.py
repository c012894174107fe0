"""Processes in sandboxes, fed and drained until they are done, their time is up or they hold too much."""

import os
import select
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType

from ..core import AssayError
from .launch import Launch
from .limits import Ending, Execution, Limits

_CHUNK = 1 << 16
_LOOK_SECONDS = 0.1
"""How often is looked at what executions hold together; the limits of single processes and files hold at once."""
_MOST_FILES = 4096
_MOST_HEARD = 256 << 20
_PAGE = os.sysconf("SC_PAGE_SIZE")


_looking = threading.Lock()
_seen: tuple[float, Mapping[int, int]] = (0.0, {})
_groups: set[int] = set()
"""Process groups of executions."""
_others: set[str] = set()
"""Processes that were seen to be of no execution."""
_looks = 0
_LOOKS_AT_ALL = 10


class SandboxError(AssayError):
    """The sandbox itself failed: infrastructure, never a verdict on what was to be run in it."""


@dataclass(frozen=True, slots=True)
class Streams:
    """What a process has as its standard streams: pipes of its own, or descriptors."""

    stdin: int = subprocess.PIPE
    stdout: int = subprocess.PIPE
    stderr: int = subprocess.PIPE


class Running:
    """One process with all it started, what is still to be written to it and what it has written."""

    def __init__(
        self,
        launch: Launch,
        stdin: bytes,
        limits: Limits,
        *,
        inherits: Sequence[int] = (),
        streams: Streams = Streams(),
    ) -> None:
        self.started = time.monotonic()
        self.limits = limits
        self.unsent = memoryview(stdin)
        self.truncated = False
        self.stopped: Ending | None = None
        """The limit at which it was ended from outside."""
        self._launch = launch
        try:
            with _looking:  # so that nobody takes it for a process of others before it is known
                self.process = subprocess.Popen(
                    launch.argv,
                    stdin=streams.stdin,
                    stdout=streams.stdout,
                    stderr=streams.stderr,
                    pass_fds=(*launch.descriptors, *inherits),
                    start_new_session=True,
                    env=launch.env,
                    cwd=launch.folder,
                )
                _groups.add(self.process.pid)
        except OSError as error:
            launch.remove_folder()
            raise SandboxError(
                f"the sandbox could not be started: {error.strerror}", fix="`assay doctor` says what is missing"
            ) from error
        finally:
            launch.close()
        self.stdout, self.stderr = bytearray(), bytearray()
        kept = ((self.process.stdout, self.stdout), (self.process.stderr, self.stderr))
        self.outputs = {pipe.fileno(): data for pipe, data in kept if pipe is not None}
        self.pidfd = os.pidfd_open(self.process.pid)

    def __enter__(self) -> "Running":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
        os.close(self.pidfd)
        with _looking:
            _groups.discard(self.process.pid)
        with self.process:
            pass  # closes the pipes and waits
        self._launch.remove_folder()

    def end(self) -> None:
        """Kills the command and all it started: they stay in one process group, and it is not yet reaped."""
        if self.process.returncode is None:
            goes_on = os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            if goes_on:
                self._launch.end_elsewhere()

    def stop(self, ending: Ending) -> None:
        """Ends it at a limit."""
        self.stopped = self.stopped or ending
        self.end()

    def feed(self) -> bool:
        """Writes what it takes of its input; whether there is more."""
        assert self.process.stdin
        try:
            self.unsent = self.unsent[os.write(self.process.stdin.fileno(), self.unsent[:_CHUNK]) :]
        except BlockingIOError:
            return True
        except OSError:  # it reads no more
            self.unsent = self.unsent[len(self.unsent) :]
        if not self.unsent:
            self.process.stdin.close()
        return bool(self.unsent)

    def drain(self, number: int) -> bool:
        """Reads what it has written; whether more may come. Past the limit it is thrown away."""
        try:
            chunk = os.read(number, _CHUNK)
        except BlockingIOError:
            return True
        kept = self.outputs[number]
        room = self.limits.output_bytes - len(kept)
        self.truncated = self.truncated or len(chunk) > room
        kept += chunk[: max(room, 0)]
        return bool(chunk)

    def holds_too_much(self) -> Ending | None:
        """The limit that all its processes and files together are past."""
        if _held_by_groups().get(self.process.pid, 0) > self.limits.memory_mb << 20:
            return "memory"
        folder = self._launch.folder
        return "disk" if folder is not None and _is_full(str(folder), self.limits.disk_mb << 20) else None

    def finished(self) -> Execution:
        """What came of it, with all it started ended."""
        os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)
        self.end()
        code = self.process.wait()
        ending, returncode = (self.stopped, None) if self.stopped else _ending(code)
        seconds = time.monotonic() - self.started
        return Execution(ending, returncode, bytes(self.stdout), bytes(self.stderr), seconds, self.truncated)


def attend(
    processes: Sequence[Running], deadline: float, watched: int | None = None, *, to_the_end: bool = False
) -> bytes:
    """Feeds and drains processes until all have ended and closed their outputs, or their time is up.

    With `watched`, until that pipe is closed, or longer with `to_the_end`; what came over it is returned.
    """
    heard = bytearray()
    look = time.monotonic() + _LOOK_SECONDS
    with selectors.DefaultSelector() as selector:
        for running in processes:
            _register(selector, running)
        if watched is not None:
            selector.register(watched, selectors.EVENT_READ)
        while selector.get_map():
            now = time.monotonic()
            if now >= look:
                look = now + _LOOK_SECONDS
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


def _register(selector: selectors.BaseSelector, running: Running) -> None:
    for number in running.outputs:
        os.set_blocking(number, False)
        selector.register(number, selectors.EVENT_READ, running)
    selector.register(running.pidfd, selectors.EVENT_READ, running)
    if running.process.stdin is not None and running.unsent:
        os.set_blocking(running.process.stdin.fileno(), False)
        selector.register(running.process.stdin.fileno(), selectors.EVENT_WRITE, running)
    elif running.process.stdin is not None:
        running.process.stdin.close()


def _serve(number: int, running: Running) -> bool:
    """Does what a descriptor is ready for; whether it will be ready again."""
    if number == running.pidfd:
        running.end()  # what it left behind goes too, and with it whatever keeps the outputs open
        return False
    return running.drain(number) if number in running.outputs else running.feed()




def _held_by_groups() -> Mapping[int, int]:
    """Bytes in memory by process group; looked up once for all executions of a moment."""
    global _seen
    with _looking:
        now = time.monotonic()
        if now - _seen[0] >= _LOOK_SECONDS / 2:
            _seen = now, _memory_by_group()
        return _seen[1]


def _memory_by_group() -> dict[int, int]:
    """Of all processes only those of executions are read each time: who is not of them cannot become so.

    A number may be given to a new process, so all are read again at every tenth look.
    """
    global _others, _looks
    held: dict[int, int] = {}
    known, others = _others if _looks % _LOOKS_AT_ALL else set(), set()
    _looks += 1
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        if name in known:
            others.add(name)
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                words = file.read().rpartition(b")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        group = int(words[2])
        if group in _groups:
            held[group] = held.get(group, 0) + int(words[21]) * _PAGE
        else:
            others.add(name)
    _others = others
    return held


def _is_full(folder: str, most: int) -> bool:
    size = count = 0
    for place, folders, files in os.walk(folder, onerror=None):
        count += len(folders) + len(files)
        if count > _MOST_FILES:
            return True
        for name in files:
            try:
                size += os.lstat(os.path.join(place, name)).st_blocks * 512
            except OSError:
                continue
    return size > most


def _ending(code: int) -> tuple[Ending, int | None]:
    # Bubblewrap says 128 + N where what it ran was ended by signal N.
    signalled = -code if code < 0 else code - 128 if 128 < code < 160 else 0
    if signalled == signal.SIGXCPU:
        return "cpu_time", None
    return ("killed", None) if signalled == signal.SIGKILL else ("exited", code)

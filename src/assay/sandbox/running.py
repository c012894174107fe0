"""Processes in sandboxes, fed and drained until they are done or their time is up."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from types import TracebackType

from ..core import AssayError
from .launch import Launch
from .limits import Ending, Execution, Limits

_CHUNK = 1 << 16


class SandboxError(AssayError):
    """The sandbox itself failed: infrastructure, never a verdict on what was to be run in it."""


class Running:
    """One process, what is still to be written to it and what it has written."""

    def __init__(self, launch: Launch, stdin: bytes, limits: Limits, *, keep_open: Sequence[int] = ()) -> None:
        self.started = time.monotonic()
        self.limits = limits
        self.unsent = memoryview(stdin)
        self.truncated = False
        self.is_late = False
        try:
            self.process = subprocess.Popen(
                launch.argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(*launch.descriptors, *keep_open),
                start_new_session=True,
                env={},
                user=launch.user,
            )
        except OSError as error:
            raise SandboxError(
                f"the sandbox could not be started: {error.strerror}", fix="`assay doctor` says what is missing"
            ) from error
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.source = self.process.stdin.fileno()
        self.outputs = {self.process.stdout.fileno(): bytearray(), self.process.stderr.fileno(): bytearray()}

    def __enter__(self) -> "Running":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
        with self.process:
            pass  # closes the pipes and waits

    def end(self) -> None:
        """Kills the command and all it started: its namespace dies with its first process."""
        if self.process.poll() is None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def feed(self) -> bool:
        """Writes what it takes of its input; whether there is more."""
        try:
            self.unsent = self.unsent[os.write(self.source, self.unsent[:_CHUNK]) :]
        except BlockingIOError:
            return True
        except OSError:  # it reads no more
            self.unsent = self.unsent[len(self.unsent) :]
        if not self.unsent:
            assert self.process.stdin
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

    def finished(self) -> Execution:
        """What came of it; ends it where it is late."""
        if self.is_late:
            self.end()
        code = self.process.wait()
        stdout, stderr = self.outputs.values()
        ending, returncode = _ending(code, self.is_late)
        seconds = time.monotonic() - self.started
        return Execution(ending, returncode, bytes(stdout), bytes(stderr), seconds, self.truncated)


def attend(processes: Sequence[Running], deadline: float, watched: int | None = None) -> bytes:
    """Feeds and drains processes until all have closed their outputs or their time is up.

    With `watched`, until that pipe is closed; what came over it is returned.
    """
    heard = bytearray()
    with selectors.DefaultSelector() as selector:
        for running in processes:
            for number in running.outputs:
                os.set_blocking(number, False)
                selector.register(number, selectors.EVENT_READ, running)
            os.set_blocking(running.source, False)
            if running.unsent:
                selector.register(running.source, selectors.EVENT_WRITE, running)
            elif running.process.stdin:
                running.process.stdin.close()
        if watched is not None:
            selector.register(watched, selectors.EVENT_READ)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                for running in processes:
                    running.is_late = True
                break
            for key, _ in selector.select(left):
                if key.fd == watched:
                    chunk = os.read(key.fd, _CHUNK)
                    heard += chunk
                    if not chunk:
                        return bytes(heard)
                elif not (key.data.feed() if key.fd == key.data.source else key.data.drain(key.fd)):
                    selector.unregister(key.fd)
    return bytes(heard)


def _ending(code: int, is_late: bool) -> tuple[Ending, int | None]:
    if is_late:
        return "wall_time", None
    # Bubblewrap says 128 + N where what it ran was ended by signal N.
    signalled = -code if code < 0 else code - 128 if 128 < code < 160 else 0
    if signalled == signal.SIGXCPU:
        return "cpu_time", None
    return ("killed", None) if signalled == signal.SIGKILL else ("exited", code)

"""Control a worker process: start it, send requests, check that it is alive, end it.

Every wait has a limit, including writes. The last lines of the worker's stderr are kept for error messages.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from ...core import ModelError
from .serve import PROTOCOL

SERVE = Path(__file__).with_name("serve.py")
PING_SECONDS = 10.0
END_SECONDS = 2.0
LAST_LINES = 12
LONGEST_REPLY = 64 * 1024 * 1024


class WorkerGone(ModelError):
    """Raised if the worker process has ended, or wrote something that is not a reply. A restart may help."""


class WorkerHung(ModelError):
    """Raised if there was no reply within the time limit. The process was killed."""


class WorkerUnfit(ModelError):
    """Raised if the worker process cannot start or cannot build its class. Another attempt would also fail."""


class WorkerProcess:
    """A process that builds one worker class and answers requests with it."""

    def __init__(
        self,
        name: str,
        python: str = "",
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self._command = [python or sys.executable, str(SERVE)]
        self._env = own_environment(env or {})
        self._last_words: deque[str] = deque(maxlen=LAST_LINES)
        self._pending = b""
        self._process: subprocess.Popen[bytes] | None = None
        self._listener: threading.Thread | None = None
        self.last_heard = 0.0

    def start(
        self,
        file: Path,
        kind: str,
        options: Mapping[str, Any],
        seconds: float,
        memory: int | None = None,
    ) -> None:
        """Start the process and wait until its class is built. `memory` limits its address space, in bytes."""
        try:
            # Use a separate session: Ctrl-C stops the run, and answers in progress can still arrive.
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._env,
                start_new_session=True,
            )
        except OSError as error:
            raise WorkerUnfit(
                f"worker {self.name!r} cannot be started: {error.strerror}",
                where=self._command[0],
                fix="python: the interpreter of an environment that has its libraries",
            ) from error
        assert self._process.stdin is not None and self._process.stderr is not None
        os.set_blocking(self._process.stdin.fileno(), False)
        self._listener = threading.Thread(
            target=self._listen,
            args=(self._process.stderr,),
            daemon=True,
        )
        self._listener.start()
        hello = {
            "hello": PROTOCOL,
            "file": str(file),
            "class": kind,
            "options": dict(options),
            "memory": memory,
        }
        try:
            reply = self._exchange(hello, seconds)
        except WorkerHung as error:
            message = f"worker {self.name!r} was not ready after {seconds:g} seconds{self.last_words()}"
            raise WorkerUnfit(
                message, fix="start_seconds: more time to load"
            ) from error
        except WorkerGone as error:
            raise WorkerUnfit(error.what) from error
        if reply.get("hello") != PROTOCOL:
            self.end(at_once=True)
            raise WorkerUnfit(
                f"worker {self.name!r} speaks protocol {reply.get('hello')!r}, not {PROTOCOL}"
            )
        if not reply.get("ready"):
            self.end(at_once=True)
            reason = str(reply.get("error"))
            lacks = reason.startswith(("ModuleNotFoundError", "ImportError"))
            if lacks:
                fix = f"install it for {self._command[0]}, or python=PATH of an environment that has it"
            else:
                fix = None
            raise WorkerUnfit(
                f"worker {self.name!r} cannot be built: {reason}", fix=fix
            )

    def ask(
        self,
        message: Mapping[str, Any],
        seconds: float,
    ) -> dict[str, Any]:
        """Send a request and return the reply."""
        reply = self._exchange(message, seconds)
        is_complete = "answer" in reply or "error" in reply
        is_for_this = reply.get("id") == message["id"]
        if not is_complete or not is_for_this:
            self.end(at_once=True)
            raise WorkerGone(f"worker {self.name!r} did not reply to what it was asked")
        return reply

    def is_well(self) -> bool:
        """Return True if the process replies to a ping. If it does not, end it and return False."""
        if self._process is None or self._process.poll() is not None:
            return False
        try:
            reply = self._exchange({"ping": 1}, PING_SECONDS)
        except (WorkerGone, WorkerHung):
            return False
        if reply.get("pong") == 1:
            return True
        self.end(at_once=True)
        return False

    def end(self, *, at_once: bool = False) -> None:
        """End the process by closing its input. If that is not enough, kill it with its children."""
        process = self._process
        self._process = None
        if process is None:
            return
        if not at_once and process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(END_SECONDS)
        # Never kill after waiting: the process number may belong to another process by then.
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def last_words(self) -> str:
        """Return the last stderr line of the process, to append to an error message; empty if there is none."""
        lines = [line for line in list(self._last_words) if line.strip()]
        if lines:
            return f"; its last words: {lines[-1].strip()[:300]}"
        return ""

    def _listen(self, pipe: IO[bytes]) -> None:
        with pipe:
            for line in pipe:
                self._last_words.append(line[:2000].decode("utf-8", "replace"))

    def _exchange(
        self,
        message: Mapping[str, Any],
        seconds: float,
    ) -> dict[str, Any]:
        """Send a message as one line to the process, and return the next line that it writes."""
        process = self._process
        assert (
            process is not None
            and process.stdin is not None
            and process.stdout is not None
        )
        unsent = memoryview(json.dumps(message, default=str).encode("ascii") + b"\n")
        deadline = time.monotonic() + seconds
        while unsent or b"\n" not in self._pending:
            if unsent:
                writes = [process.stdin]
            else:
                writes = []
            left = max(0.0, deadline - time.monotonic())
            readable, writable, _ = select.select([process.stdout], writes, [], left)
            if not readable and not writable:
                words = self.last_words()
                self.end(at_once=True)
                raise WorkerHung(
                    f"worker {self.name!r} gave no reply in {seconds:g} seconds and was killed{words}"
                )
            try:
                if writable:
                    unsent = unsent[os.write(process.stdin.fileno(), unsent[:65536]) :]
                if readable:
                    chunk = os.read(process.stdout.fileno(), 65536)
                else:
                    chunk = None
            except BrokenPipeError:
                chunk = b""
            if chunk == b"":
                raise self._gone(process)
            self._pending += chunk or b""
            if len(self._pending) > LONGEST_REPLY:
                self.end(at_once=True)
                raise WorkerGone(
                    f"worker {self.name!r} wrote a reply of more than {LONGEST_REPLY >> 20} MiB"
                )
        line, _, self._pending = self._pending.partition(b"\n")
        self.last_heard = time.monotonic()
        try:
            reply = json.loads(line)
            if not isinstance(reply, dict):
                raise ValueError("not an object")
        except ValueError as error:
            self.end(at_once=True)
            raise WorkerGone(
                f"worker {self.name!r} wrote a line that is not a reply: {line[:60]!r}"
            ) from error
        return reply

    def _gone(self, process: "subprocess.Popen[bytes]") -> WorkerGone:
        try:
            code: int | None = process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            code = None  # it closed its output but is still running
        if self._listener is not None and code is not None:
            self._listener.join(END_SECONDS)
        if code is not None and code < 0:
            how = f"was killed by signal {-code}"
        else:
            how = f"ended with status {code}"
        words = self.last_words()
        self.end(at_once=True)
        return WorkerGone(f"worker {self.name!r} {how}{words}")


def own_environment(further: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables of a worker: this process's, excluding Python settings, plus `further`."""
    environment = {}
    for name, value in os.environ.items():
        if not name.startswith(("PYTHON", "VIRTUAL_ENV")):
            environment[name] = value
    for name, value in further.items():
        environment[str(name)] = str(value)
    return environment

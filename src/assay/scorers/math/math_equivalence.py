"""The scorer `math`: mathematical equivalence, decided in a helper process with a time limit.

Answers may be hostile: `9^{9^{9^9}}` would compute forever. A comparison may take 5
seconds and 1 GiB. If it fails or exceeds a limit, the answer is `unparsed`. The target
is passed first, because math-verify is not symmetric.
"""

import contextlib
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from ...core import MissingExtra, Outcome, Output, Requirement, Score, UsageError
from ...registry import scorers
from ..answers import AgainstTargets

_START_SECONDS = 60.0
_REQUESTS_PER_PROCESS = 2000
"""Requests after which a process is replaced. The caches of its libraries would otherwise fill the memory."""


class WorkerUnready(RuntimeError):
    """Raised if the helper process reports that a library is not installed."""


@dataclass(eq=False)
class KillableWorker:
    """A helper process that can be killed; the next request then starts a new one.

    Only one thread uses it at a time.
    """

    script: Path
    seconds: float
    memory_bytes: int
    kills: int = 0
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _owner: int = 0
    _served: int = 0
    _pending: bytes = b""
    _turn: Any = field(default_factory=threading.Lock, repr=False)

    def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return the process's reply to a request; `{"error": "timeout"}` or `{"error": "died"}` if it gives none."""
        with self._turn:
            reply = self._ask_once(message)
            # Ask again in a new process: an earlier request may have filled the memory of this one.
            if reply.get("error") in ("memory", "died") and self._served > 1:
                self._kill()
                reply = self._ask_once(message)
            if reply.get("error") in ("memory", "died", "timeout"):
                self._kill()
                self.kills += 1
            return reply

    def close(self) -> None:
        """End the process. The next request starts another."""
        with self._turn:
            self._kill()

    def _ask_once(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request once and return the reply. Start a new process if none is
        running or the old one is used up.
        """
        if (
            self._process is None
            or self._owner != os.getpid()
            or self._served >= _REQUESTS_PER_PROCESS
        ):
            self._start()
        self._served += 1
        line = self._exchange(message, self.seconds)
        if line is None:
            return {"error": "timeout"}
        return json.loads(line) if line else {"error": "died"}

    def _start(self) -> None:
        """Start the process and send it its limits. Raise if it cannot import its libraries."""
        if self._owner == os.getpid():
            self._kill()
        # A clean environment and a fixed hash seed: the user's variables cannot change a comparison. `-P` keeps the
        # script's folder off the path, where a module may have the name of one in the standard library.
        self._process = subprocess.Popen(
            [sys.executable, "-s", "-P", str(self.script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"},
        )
        self._owner = os.getpid()
        self._served = 0
        self._pending = b""
        setup = {"path": sys.path, "seconds": self.seconds, "bytes": self.memory_bytes}
        line = self._exchange(setup, _START_SECONDS)
        if not line:
            self._kill()
            raise RuntimeError(
                f"the helper process {self.script.name} ended or hung while it started"
            )
        if not json.loads(line).get("ready"):
            self._kill()
            raise WorkerUnready(self.script.name)

    def _exchange(
        self,
        message: Mapping[str, Any],
        seconds: float,
    ) -> bytes | None:
        """Send a line to the process and return its next line: None if the time is up, empty if the process ended."""
        process = self._process
        assert (
            process is not None
            and process.stdin is not None
            and process.stdout is not None
        )
        deadline = time.monotonic() + seconds
        try:
            process.stdin.write(json.dumps(message).encode("ascii") + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            return b""
        while b"\n" not in self._pending:
            ready, _, _ = select.select(
                [process.stdout],
                [],
                [],
                max(0.0, deadline - time.monotonic()),
            )
            if not ready:
                return None
            chunk = os.read(process.stdout.fileno(), 65536)
            if not chunk:
                return b""
            self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    def _kill(self) -> None:
        process = self._process
        self._process = None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


_TAIL_CHARS = 20_000
"""How many characters are read at the end of a longer answer.

The result is expected there. Pattern matching over 1 MB would use up the time limit.
"""


@scorers.register("math")
@dataclass(frozen=True)
class MathEquivalence(AgainstTargets):
    """1 if the last expression of the answer is mathematically equal to the target's: `1/2` and `0.5` are equal."""

    seconds: float = 5.0
    """Wall-clock time for one comparison."""
    memory_mib: int = 1024
    requires: ClassVar[tuple[Requirement, ...]] = (
        Requirement("math_verify", "math-verify", "assay[metrics]"),
    )

    def __post_init__(self) -> None:
        if self.seconds <= 0 or self.memory_mib < 256:
            raise UsageError(
                "scorer 'math' needs more time or memory",
                fix="seconds > 0 and memory_mib >= 256",
            )

    def compare(
        self,
        output: Output,
        targets: tuple[str, ...],
    ) -> Score:
        """Return 1 if the answer's last expression equals a target's."""
        worker = _worker(self.seconds, self.memory_mib << 20)
        try:
            reply = worker.ask({"golds": targets, "answer": output.text[-_TAIL_CHARS:]})
        except WorkerUnready as error:
            raise MissingExtra(
                "math-verify",
                "assay[metrics]",
                where="scorer 'math'",
            ) from error
        if "error" in reply:
            return Score.unparsed(reason=reply["error"])
        if reply["equal"] is None:
            if reply["gold_read"]:
                reason = "no mathematics in the answer"
            else:
                reason = "no mathematics in the target"
            if output.stop_reason == "length" and reply["gold_read"]:
                outcome = Outcome.TRUNCATED
            else:
                outcome = Outcome.UNPARSED
            return Score(
                0.0,
                outcome,
                answer=reply["answer"],
                details={"reason": reason},
            )
        return Score(float(reply["equal"]), answer=reply["answer"])


@cache
def _worker(seconds: float, memory_bytes: int) -> KillableWorker:
    return KillableWorker(
        Path(__file__).with_name("_math_worker.py"),
        seconds,
        memory_bytes,
    )

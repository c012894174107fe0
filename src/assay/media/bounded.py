"""Bounded decoding: a separate process decodes media, limited in time and memory.

Headers are checked first. But a header may be wrong, and a decoder may hang or crash on
the data after it. Then the worker process is killed, the fault is reported with the
location of the medium, and the next medium gets a new worker.
"""

import atexit
import json
import os
import subprocess
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from ..core import MissingExtra
from ..core.media import Media
from .media_headers import Limits

GIBIBYTE = 1024**3
MEMORY = {"image": 2 * GIBIBYTE, "audio": 6 * GIBIBYTE, "video": 6 * GIBIBYTE}
"""The address space of the worker in bytes: enough for libraries and several copies of the largest medium of a kind."""
SECONDS = {"image": 60.0, "audio": 60.0, "video": 600.0}
SECONDS_A_MEBIBYTE = 1.0
MOST_IDLE = 4
PIPE_BYTES = 1024 * 1024
_FEW_THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Environment variables that limit thread pools. Each thread reserves address space, which is part of the limit."""
_PASSED_ON = (
    "PATH",
    "HOME",
    "LANG",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "SYSTEMROOT",
)
"""Environment variables that a Python process needs. The worker gets no others, so it has no keys or tokens."""

_idle: "list[Worker]" = []
_lock = threading.Lock()


def decode(
    medium: Media,
    limits: Limits,
    options: dict[str, Any],
) -> tuple[dict[str, Any], bytearray]:
    """Decode a medium in the worker. Return a description of the result, such as its shape, and the decoded bytes.

    Raise `DataError` if the medium cannot be decoded.
    """
    data = medium.data()
    seconds = SECONDS[medium.kind] + SECONDS_A_MEBIBYTE * len(data) / 1024**2
    worker = _take()
    try:
        reply, body = worker.ask(medium.kind, data, limits, options, seconds)
    except WorkerLost as lost:
        raise medium.fault(
            f"the {medium.kind} could not be decoded: {lost}", fix="leave the row out"
        ) from lost
    _give_back(worker)
    if "fault" in reply:
        raise medium.fault(reply["fault"], fix=reply["fix"])
    if "missing" in reply:
        raise MissingExtra(reply["missing"], reply["pip"])
    if "memory" in reply:
        limit = MEMORY[medium.kind] // GIBIBYTE
        raise medium.fault(
            f"the {medium.kind} needs more than {limit} GiB to decode",
            fix="make it smaller",
        )
    return reply, body


class WorkerLost(Exception):
    """Raised if the worker ended, or was killed, before it replied."""


class Worker:
    """One process that decodes one medium after the other."""

    def __init__(self) -> None:
        root = str(Path(__file__).parents[2])
        start = f"import sys; sys.path.insert(0, {root!r}); from assay.media.worker import main; main()"
        self.owner = os.getpid()
        """The process that started the worker. A forked child must not write into its parent's pipes."""
        self._process = subprocess.Popen(
            # -P: a file in the current folder must not shadow a library. A new session, because Ctrl-C is for the run.
            [sys.executable, "-P", "-c", start],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            # Not the user's folder, because libsndfile would read a file called `._` in it as a part of an MP3.
            cwd=os.path.abspath(os.sep),
            env=_environment(),
        )

        for stream in (self._process.stdin, self._process.stdout):
            _widen(stream)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """True if the worker process can accept a request."""
        return self.owner == os.getpid() and self._process.poll() is None

    def ask(
        self,
        kind: str,
        data: bytes,
        limits: Limits,
        options: dict[str, Any],
        seconds: float,
    ) -> tuple[dict[str, Any], bytearray]:
        """Send a medium and read the reply. Kill the process after `seconds`."""
        request = {
            "kind": kind,
            "bytes": len(data),
            "limits": asdict(limits),
            "options": options,
            "memory": MEMORY[kind],
            "seconds": seconds,
        }
        requests = self._process.stdin
        replies = self._process.stdout
        assert requests is not None and replies is not None
        late = threading.Event()

        def end() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        try:
            requests.write(json.dumps(request).encode() + b"\n")
            requests.write(data)
            requests.flush()
            line = replies.readline()
            if not line.endswith(b"\n"):
                raise EOFError
            reply: dict[str, Any] = json.loads(line)
            body = bytearray(int(reply.get("bytes", 0)))
            view = memoryview(body)
            have = 0
            while have < len(body):
                count = replies.readinto(view[have:])  # type: ignore[attr-defined]
                if not count:
                    raise EOFError
                have += count
            return reply, body
        except (OSError, EOFError, ValueError) as error:
            self.close()
            if late.is_set():
                how = f"it took longer than {seconds:.0f} s"
            else:
                how = "the decoder broke down"
            raise WorkerLost(how) from error
        except BaseException:
            self.close()  # Interrupted during a reply that no caller will read.
            raise
        finally:
            timer.cancel()

    def close(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    pass  # The last bytes could not be sent.


def _environment() -> dict[str, str]:
    passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    for name in passed.keys() & {
        "PYTHONPATH",
        "PYTHONHOME",
        "LD_LIBRARY_PATH",
        "TMPDIR",
    }:
        # They may be relative to this folder, but the worker runs in another one.
        passed[name] = os.pathsep.join(
            os.path.abspath(folder) for folder in passed[name].split(os.pathsep)
        )
    return passed | _FEW_THREADS


def _widen(stream: IO[bytes] | None) -> None:
    """Enlarge the buffer of a pipe. A full buffer forces the system to switch between the two processes."""
    try:
        import fcntl

        assert stream is not None
        fcntl.fcntl(stream, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    except (ImportError, AttributeError, OSError):
        pass  # Not possible on this system or for this user: it works anyway, only slower.


def _take() -> Worker:
    with _lock:
        while _idle:
            worker = _idle.pop()
            if worker.is_alive:
                return worker
    return Worker()


def _give_back(worker: Worker) -> None:
    with _lock:
        if len(_idle) < MOST_IDLE:
            _idle.append(worker)
            return
    worker.close()


@atexit.register
def close_workers() -> None:
    """Kill the idle workers."""
    with _lock:
        while _idle:
            worker = _idle.pop()
            if worker.owner == os.getpid():
                worker.close()

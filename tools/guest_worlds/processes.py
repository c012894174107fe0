"""Workers of a survey: each file in a process of its own, two at a time, with a limit; outcomes are kept in a file."""

import hashlib
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Container, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

JOBS = int(os.environ.get("GUEST_WORLD_JOBS", "2"))
CACHE = "GUEST_WORLD_CACHE"
"""The variable that names the file outcomes are kept in; without it every file is run."""


@dataclass(frozen=True)
class Job:
    """One file for one worker."""

    module: str
    """The worker's module: see `forks`."""
    arguments: tuple[str, ...]
    """Its arguments; a folder of its own is added."""
    file: Path
    keep: Path | None = None
    """A folder to work in that stays."""
    python: str = sys.executable
    more: tuple[str, ...] = ()
    """Arguments behind the folder."""

    @property
    def key(self) -> str:
        """What the outcome depends on: the worker, its arguments and the file's bytes."""
        digest = hashlib.sha256(self.file.read_bytes()).hexdigest()[:16]
        return " ".join([self.module, *self.arguments, *self.more, digest])


def outcomes(
    jobs: Sequence[Job], seconds: int, again: Container[str] = ()
) -> Iterator[tuple[Job, dict[str, Any]]]:
    """Each job with what its worker said, in their order; one that says nothing in time fails.

    What is kept of the files in `again` is not believed.
    """
    place = os.environ.get(CACHE)
    kept: dict[str, Any] = (
        json.loads(Path(place).read_text()) if place and Path(place).exists() else {}
    )
    keeping = threading.Lock()
    with Servers(seconds) as servers, ThreadPoolExecutor(JOBS) as pool:

        def outcome(job: Job) -> dict[str, Any]:
            found = servers.answer(job)
            with keeping:
                kept[job.key] = found
                if place:
                    Path(place).write_text(
                        json.dumps(kept, indent=0, ensure_ascii=False)
                    )
            return found

        is_known = [job.key in kept and job.file.stem not in again for job in jobs]
        found = [
            None if known else pool.submit(outcome, job)
            for job, known in zip(jobs, is_known, strict=True)
        ]
        for job, future in zip(jobs, found, strict=True):
            yield job, kept[job.key] if future is None else future.result()


class Servers:
    """Processes that fork for each job: as many as work at a time, begun when there is something to do."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds
        self.idle: queue.SimpleQueue[tuple[tuple[str, str], subprocess.Popen[str]]] = (
            queue.SimpleQueue()
        )

    def __enter__(self) -> "Servers":
        return self

    def __exit__(self, *_: object) -> None:
        while not self.idle.empty():
            self._end(self.idle.get()[1])

    def answer(self, job: Job) -> dict[str, Any]:
        """Return the reply of a job's worker."""
        folder = job.keep or Path(tempfile.mkdtemp(prefix="guest-"))
        folder.mkdir(parents=True, exist_ok=True)
        server = self._server(job)
        assert server.stdin is not None and server.stdout is not None
        try:
            server.stdin.write(
                json.dumps([*job.arguments, str(folder), *job.more]) + "\n"
            )
            server.stdin.flush()
            found: dict[str, Any] = json.loads(server.stdout.readline())
            self.idle.put(((job.python, job.module), server))
            return found
        except (OSError, ValueError) as error:
            self._end(server)
            return {"state": "FAILS", "detail": f"the worker's process ended: {error}"}
        finally:
            if job.keep is None:
                shutil.rmtree(folder, ignore_errors=True)

    def _server(self, job: Job) -> subprocess.Popen[str]:
        try:
            kind, server = self.idle.get_nowait()
            if kind == (job.python, job.module):
                return server
            self._end(server)
        except queue.Empty:
            pass
        root = Path(__file__).parents[2]
        paths = [str(root), os.environ.get("PYTHONPATH", "")]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(p for p in paths if p),
            "OMP_NUM_THREADS": "1",
        }
        return subprocess.Popen(
            [
                job.python,
                "-m",
                "tools.guest_worlds.forks",
                job.module,
                str(self.seconds),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )

    @staticmethod
    def _end(server: subprocess.Popen[str]) -> None:
        if server.stdin is not None:
            server.stdin.close()
        server.wait()

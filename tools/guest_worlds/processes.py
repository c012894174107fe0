"""Workers of a survey: each file in a process of its own, two at a time, with a limit; outcomes are kept in a file."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
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
    """The worker, as `python -m` takes it."""
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


def outcomes(jobs: Sequence[Job], seconds: int) -> Iterator[tuple[Job, dict[str, Any]]]:
    """Each job with what its worker said, in their order; one that says nothing in time fails."""
    place = os.environ.get(CACHE)
    kept: dict[str, Any] = json.loads(Path(place).read_text()) if place and Path(place).exists() else {}
    with ThreadPoolExecutor(JOBS) as pool:
        found = [None if job.key in kept else pool.submit(_run, job, seconds) for job in jobs]
        for job, future in zip(jobs, found, strict=True):
            if future is not None:
                kept[job.key] = future.result()
                if place:
                    Path(place).write_text(json.dumps(kept, indent=0, ensure_ascii=False))
            yield job, kept[job.key]


def _run(job: Job, seconds: int) -> dict[str, Any]:
    folder = job.keep or Path(tempfile.mkdtemp(prefix="guest-"))
    folder.mkdir(parents=True, exist_ok=True)
    command = [job.python, "-m", job.module, *job.arguments, str(folder), *job.more]
    root = Path(__file__).parents[2]
    paths = [str(root), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in paths if p), "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False, env=environment)
        last = done.stdout.strip().splitlines()[-1:] or ["{}"]
        return json.loads(last[0]) or {"state": "FAILS", "detail": f"ended without a word: {done.stderr[-200:]}"}
    except subprocess.TimeoutExpired:
        return {"state": "FAILS", "detail": f"took longer than {seconds} s"}
    except ValueError:
        return {"state": "FAILS", "detail": f"no outcome: {done.stdout[-100:]} {done.stderr[-100:]}"}
    finally:
        if job.keep is None:
            shutil.rmtree(folder, ignore_errors=True)

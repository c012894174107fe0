"""Measuring: CPU seconds and peak memory of a command and its children; what every bench here is made of."""

import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ASSAY = [sys.executable, "-m", "assay.cli.main"]


@dataclass(frozen=True)
class Cost:
    """What a command took."""

    cpu_seconds: float
    peak_mb: float


def cost_of(
    command: Sequence[str],
    *,
    folder: Path | None = None,
    environment: dict[str, str] | None = None,
) -> Cost:
    """Run a command to its end. CPU seconds count user and system time of all its processes."""
    env = {
        k: v
        for k, v in {**os.environ, **(environment or {})}.items()
        if k != "PYTHONDONTWRITEBYTECODE"
    }
    code = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, done.returncode)\n"
        "sys.stderr.buffer.write(done.stderr[-400:])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    cpu, peak, status = done.stdout.split()
    if status != "0":
        raise SystemExit(f"{' '.join(command)} left with {status}: {done.stderr}")
    return Cost(float(cpu), float(peak))


def median_cpu(command: Sequence[str], repeats: int = 5, **more: object) -> float:
    """Return the median CPU seconds of several runs."""
    return statistics.median(
        cost_of(command, **more).cpu_seconds for _ in range(repeats)
    )  # type: ignore[arg-type]


def own_cpu() -> float:
    """CPU seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime

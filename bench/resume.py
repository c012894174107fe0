"""Resuming: how long a finished run takes until its table, and one that lacks its last sample.

python bench/resume.py [--samples 100000]
"""

import argparse
import shutil
import tempfile
import time
from pathlib import Path

from measured import ASSAY, cost_of
from overhead import write_rows


def main() -> None:
    """Prints wall and CPU seconds of a first run, of the same command again, and after losing the last lines."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--samples", type=int, default=100_000)
    given = arguments.parse_args()
    folder = Path(tempfile.mkdtemp())
    (folder / "model.py").write_text("def generate(messages):\n    return '42'\n")
    write_rows(folder / "rows.jsonl", given.samples)
    command = [*ASSAY, "run", str(folder / "rows.jsonl"), "--model", str(folder / "model.py") + ":generate"]
    command += ["--scorer", "exact_match", "-o", str(folder / "run")]
    for name in ("first run", "same command again"):
        _print(name, command)
    journal = folder / "run" / "records.jsonl"
    with open(journal, "rb+") as file:
        file.truncate(journal.stat().st_size - 300)
    _print("after a torn tail", command)
    shutil.rmtree(folder)


def _print(name: str, command: list[str]) -> None:
    started = time.perf_counter()
    spent = cost_of(command)
    wall = time.perf_counter() - started
    print(f"{name:20} {wall:6.2f} s wall  {spent.cpu_seconds:6.2f} s CPU  {spent.peak_mb:5.0f} MB")


if __name__ == "__main__":
    main()

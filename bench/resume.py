"""Resuming: a finished run until its table, and one that lacks its last sample until the first new question.

    python bench/resume.py [--samples 100000] [--samples 1000000]

CPU seconds count rather than wall: the machine may have other work. The question is timed by the model itself, which
notes how much its process has used when it is first asked.
"""

import argparse
import json
import os
import shutil
import tempfile
import time
from pathlib import Path

from measured import ASSAY, cost_of
from overhead import write_rows

MODEL = """
import os, resource, time
def generate(messages):
    note = os.environ.get("FIRST_QUESTION")
    if note and not os.path.exists(note):
        used = resource.getrusage(resource.RUSAGE_SELF)
        with open(note, "w") as file:
            file.write(f"{time.time()} {used.ru_utime + used.ru_stime} {used.ru_maxrss / 1024}")
    return str(len(messages[-1]["content"]) * 7919 % 1000)
"""


def main() -> None:
    """Print wall seconds, CPU seconds and peak memory of each step, for each size."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--samples", type=int, action="append", default=None)
    given = arguments.parse_args()
    for samples in given.samples or [100_000, 1_000_000]:
        folder = Path(tempfile.mkdtemp())
        print(f"{samples} samples")
        measure(folder, samples)
        shutil.rmtree(folder)


def measure(folder: Path, samples: int) -> None:
    """One size: a first run, the same command again, and again without the last sample."""
    (folder / "model.py").write_text(MODEL)
    write_rows(folder / "rows.jsonl", samples)
    command = [
        *ASSAY,
        "run",
        str(folder / "rows.jsonl"),
        "--model",
        str(folder / "model.py") + ":generate",
    ]
    command += ["--scorer", "exact_match", "-o", str(folder / "run")]
    _print("first run", command)
    _print("same command again", command)
    _print("assay verify", [*ASSAY, "verify", str(folder / "run")])
    forget_last(folder / "run" / "records.jsonl", samples)
    note = folder / "first.txt"
    started = time.time()
    _print("without the last sample", command, {"FIRST_QUESTION": str(note)})
    asked, cpu, peak = map(float, note.read_text().split())
    print(
        f"  {'its first question':24} {asked - started:6.2f} s wall  {cpu:6.2f} s CPU  {peak:5.0f} MB"
    )


def forget_last(journal: Path, samples: int) -> None:
    """Remove the lines of the last sample from a journal, as if it had never been asked."""
    draft = journal.with_name("draft")
    last = str(samples - 1)
    with journal.open("rb") as lines, draft.open("wb") as kept:
        kept.writelines(line for line in lines if json.loads(line)["id"] != last)
    os.replace(draft, journal)


def _print(
    name: str, command: list[str], environment: dict[str, str] | None = None
) -> None:
    started = time.perf_counter()
    spent = cost_of(command, environment=environment)
    wall = time.perf_counter() - started
    print(
        f"  {name:24} {wall:6.2f} s wall  {spent.cpu_seconds:6.2f} s CPU  {spent.peak_mb:5.0f} MB",
        flush=True,
    )


if __name__ == "__main__":
    main()

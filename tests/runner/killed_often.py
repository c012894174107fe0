"""Runs `assay …` again and again and kills it in the middle of a write: `killed_often.py KILLS LOG -- run …`.

Each run is a fork of this process, which has imported everything, so that a kill costs no start. Prints the number
of kills, and of requests that were asked although the journal had their answers. The log has a line `SAMPLE ROUND`
for each request.
"""

import contextlib
import json
import os
import random
import signal
import sys
from pathlib import Path

from assay.cli.main import main


def kept(journal: Path) -> set[str]:
    """Return `SAMPLE ROUND` of each answer in a journal."""
    if not journal.exists():
        return set()
    records = []
    for line in journal.read_bytes().split(b"\n")[:-1]:
        # A torn line that a later run has not cut off yet.
        with contextlib.suppress(ValueError):
            records.append(json.loads(line))
    return {
        f"{record['id'][1:]} {record.get('round', 0)}"
        for record in records
        if record["kind"] == "output" and "#" not in record["task"]
    }


def die_at_write(number: int) -> None:
    """Kill this process in the middle of its nth write."""
    real = os.write
    writes = 0

    def write(handle: int, data: bytes) -> int:
        nonlocal writes
        writes += 1
        if writes == number:
            real(handle, data[: len(data) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return real(handle, data)

    os.write = write


def run_once(arguments: list[str], write: int) -> int:
    """Run the command in a fork that is killed at a write. Return the signal that ended it, or 0."""
    child = os.fork()
    if child == 0:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        die_at_write(write)
        os._exit(main(arguments))
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def kill_often(kills: int, log: Path, arguments: list[str]) -> None:
    """Kill so many runs, and print what they repeated."""
    journal = Path(arguments[arguments.index("-o") + 1]) / "records.jsonl"
    draw = random.Random("tool kills")
    killed = 0
    repeated: list[str] = []
    for _ in range(kills):
        answered = kept(journal)
        before = len(log.read_text().splitlines()) if log.exists() else 0
        killed += run_once(arguments, draw.randint(2, 9)) == signal.SIGKILL
        asked = log.read_text().splitlines()[before:] if log.exists() else []
        repeated += [request for request in asked if request in answered]
    print(json.dumps({"killed": killed, "repeated": repeated}))


if __name__ == "__main__":
    kill_often(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[4:])

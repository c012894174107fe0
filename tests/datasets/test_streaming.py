"""Large files: little memory, an early first sample, no more read than needed."""

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import resource, sys
from assay.datasets import open_dataset, view
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
samples = open_dataset(sys.argv[1])
count = sum(len(sample["picture"]) > 0 for sample in samples)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(count, after - before)
"""


def test_a_file_larger_than_the_memory_used_is_read(tmp_path: Path) -> None:
    path = tmp_path / "big.tsv"
    cell = "QUJD" * 25_000
    with path.open("w") as stream:
        stream.write("index\tquestion\tanswer\tpicture\n")
        for number in range(1000):
            stream.write(f"{number}\tWhat is it?\tA\t{number}{cell}\n")

    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    count, kilobytes = map(int, run.stdout.split())

    assert path.stat().st_size > 100_000_000
    assert count == 1000
    assert kilobytes < 20_000

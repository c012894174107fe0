"""A disk that fills up in the middle of a run: one line, whole records, and a run that goes on when there is space."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fault_counts import COUNTS, drawn
from long_runs import LongRun
from small_disk import CANNOT_MOUNT

pytestmark = pytest.mark.faults
COUNT = 2000
SIZES = drawn("disks", [256 + 192 * step for step in range(20)], COUNTS.full_disks)
"""In KiB: from 256 KiB to nearly 4 MiB."""


def on_disk(tmp_path: Path, options: str, count: int) -> dict:
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare, which makes a disk for one process")
    long = LongRun(
        tmp_path / "inputs", count, "one_by_one", "--concurrency", "64", "--json"
    )
    disk = tmp_path / "disk"
    disk.mkdir()
    arguments = [
        str(disk / "run") if word == str(long.run) else word for word in long.arguments
    ]
    script = [
        sys.executable,
        str(Path(__file__).with_name("small_disk.py")),
        str(disk),
        options,
    ]
    done = subprocess.run(
        ["unshare", "--map-root-user", "--mount", *script, "--", *arguments],
        env=long.environment(LENGTH="1200", PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if done.returncode == CANNOT_MOUNT or "unshare" in done.stderr:
        pytest.skip("this system lets nobody mount a disk of his own")
    found = json.loads(done.stdout)
    found["asked"] = long.calls()
    return found


def said(ended: dict) -> str:
    (line,) = [
        line for line in ended["stderr"].splitlines() if line.startswith("assay: ")
    ]
    assert "Traceback" not in ended["stderr"]
    return line


@pytest.mark.parametrize("kibibytes", SIZES)
def test_a_full_disk_is_one_line_and_the_run_continues_when_there_is_space(
    tmp_path: Path, kibibytes: int
):
    found = on_disk(tmp_path, f"size={kibibytes}k", COUNT)

    assert found["full"]["code"] == 74, found["full"]["stderr"]
    assert "fix: free some space and rerun the command" in said(found["full"])
    assert found["whole"] == found["lines"] > 0
    assert found["after"]["code"] == 0, found["after"]["stderr"]
    assert json.loads(found["after"]["stdout"])["results"][0]["n"] == COUNT
    # What was asked twice: the 64 in flight, and those whose lines the full disk did not take any more.
    assert len(found["asked"]) - COUNT <= 2 * 64


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ("size=1m,nr_inodes=3", 74, "No space left on device"),
        (
            "size=1m,ro",
            2,
            "cannot write: Read-only file system; fix: choose another folder with -o",
        ),
    ],
    ids=["no room for another file", "read-only"],
)
def test_a_disk_that_takes_no_file_is_one_line(
    tmp_path: Path, options: str, code: int, words: str
):
    found = on_disk(tmp_path, options, 20)

    assert found["full"]["code"] == code and words in said(found["full"])
    assert found["after"]["code"] == 0, found["after"]["stderr"]

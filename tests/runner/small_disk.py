"""Runs `assay …` on a disk of its own that is too small, then again when there is space.

`small_disk.py FOLDER OPTIONS -- run …` mounts a memory file system in a mount namespace of its own (`unshare
--map-root-user --mount` around it), so that nothing of it is left behind. It prints, as JSON, how both commands ended
and what the journal held in between.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import assay.runner.run  # noqa: F401 - so that the forks have it
from assay.cli.main import main
from assay.store.journal import read_lines

CANNOT_MOUNT = 77


def ended(arguments: list[str]) -> dict[str, object]:
    """How `assay …` ends, in a fork of this process: that it is imported once saves half of the time."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        if (child := os.fork()) == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            sys.exit(main(arguments))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        stdout, stderr = (file.seek(0) or file.read().decode() for file in (out, err))
    return {"code": code, "stderr": stderr, "stdout": stdout}


def mount(*arguments: str) -> None:
    if subprocess.run(
        ["mount", *arguments], capture_output=True, check=False
    ).returncode:
        sys.exit(CANNOT_MOUNT)


if __name__ == "__main__":
    folder, options = sys.argv[1:3]
    arguments = sys.argv[sys.argv.index("--") + 1 :]
    mount("-t", "tmpfs", "-o", options, "tmpfs", folder)
    full = ended(arguments)
    journal = Path(folder) / "run" / "records.jsonl"
    lines = (
        [line is not None for _, line in read_lines(journal)]
        if journal.exists()
        else []
    )
    mount("-o", "remount,rw,size=64m,nr_inodes=10000", folder)
    print(
        json.dumps(
            {
                "full": full,
                "lines": len(lines),
                "whole": sum(lines),
                "after": ended(arguments),
            }
        )
    )

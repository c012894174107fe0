"""Runs a command on a disk of its own that is too small, then again when there is space.

`small_disk.py FOLDER OPTIONS -- COMMAND…` mounts a memory file system in a mount namespace of its own (`unshare
--map-root-user --mount` around it), so that nothing of it is left behind. It prints, as JSON, how both commands ended
and what the journal held in between.
"""

import json
import subprocess
import sys
from pathlib import Path

from assay.store.journal import read_lines

CANNOT_MOUNT = 77


def ended(command: list[str]) -> dict[str, object]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return {"code": done.returncode, "stderr": done.stderr, "stdout": done.stdout}


def mount(*arguments: str) -> None:
    if subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode:
        sys.exit(CANNOT_MOUNT)


if __name__ == "__main__":
    folder, options = sys.argv[1:3]
    command = sys.argv[sys.argv.index("--") + 1 :]
    mount("-t", "tmpfs", "-o", options, "tmpfs", folder)
    full = ended(command)
    journal = Path(folder) / "run" / "records.jsonl"
    lines = [line is not None for _, line in read_lines(journal)] if journal.exists() else []
    mount("-o", "remount,rw,size=64m,nr_inodes=10000", folder)
    print(json.dumps({"full": full, "lines": len(lines), "whole": sum(lines), "after": ended(command)}))

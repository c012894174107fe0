"""Run a program that leaves processes, by a tier that is named, until this process is killed.

`python sleeps.py TIER`: prints its folder for temporary files and the program's process group once the program runs.
"""

import os
import sys
import tempfile
import threading
import time
from pathlib import Path

from assay.sandbox import Limits, Sandbox, best_tier
from assay.sandbox import running as running_module

PROGRAM = """
import os, time
open('began', 'w').close()
os.mkdir('deep')
for _ in range(3):
    if not os.fork():
        time.sleep(600)
time.sleep(600)
"""


def main() -> None:
    """Start the program in a thread and wait for its first file."""
    folder = tempfile.mkdtemp(prefix="assay-test-")
    os.chmod(folder, 0o755)  # as root, the program is another user
    tier = best_tier(sys.argv[1])
    tempfile.tempdir = folder
    box = Sandbox(tier, Limits(wall_seconds=900, cpu_seconds=900))
    box.write("main.py", PROGRAM)
    seen: list[running_module.Running] = []
    begin = running_module.Running.__init__

    def note(self: running_module.Running, *args: object, **more: object) -> None:
        begin(self, *args, **more)  # type: ignore[arg-type]
        seen.append(self)

    running_module.Running.__init__ = note  # type: ignore[method-assign]
    command = ["python", "main.py"]
    thread = threading.Thread(target=box.exec, args=(command,), daemon=True)
    thread.start()
    while not any(Path(folder).glob("*/deep")):
        if not thread.is_alive():
            sys.exit("the program did not run")
        time.sleep(0.02)
    print(folder, seen[0].pid, flush=True)
    time.sleep(900)


main()

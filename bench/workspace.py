"""CPU of a command in a workspace beside the same command started by this Python: `python bench/workspace.py`.

Each figure is the difference of two whole processes, with few and with many commands, so that start and self-test do
not count. `bash` is the tool of that name, which keeps folder, variables and functions. All processes are counted.
"""

import argparse
import statistics
import sys

from measured import cost_of

BARE = """
import subprocess, sys
for _ in range(int(sys.argv[1])):
    subprocess.run(["bash", "-c", "echo hi"], capture_output=True, check=True)
"""
WORKSPACE = """
import sys
from assay.sandbox.workspace import Workspace
from assay.sandbox.workspace_choice import workspace_tier
with Workspace(workspace_tier()) as workspace:
    for _ in range(int(sys.argv[1])):
        assert workspace.exec("echo hi").stdout == b"hi\\n"
"""
BASH = """
import sys
from assay.sandbox.workspace import Workspace
from assay.sandbox.workspace_choice import workspace_tier
from assay.tooling.workspace_tools import _bash
with Workspace(workspace_tier()) as workspace:
    for _ in range(int(sys.argv[1])):
        assert "hi" in _bash(workspace, 60, "echo hi")
"""


def milliseconds(code: str, commands: int) -> float:
    """Return the CPU milliseconds of one command."""
    few = commands // 10
    costs = [
        cost_of([sys.executable, "-c", code, str(count)]).cpu_seconds
        for count in (few, commands)
    ]
    return 1000 * (costs[1] - costs[0]) / (commands - few)


def main() -> None:
    """Measure the three kinds in turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commands", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    kinds = {"bare": BARE, "workspace": WORKSPACE, "bash tool": BASH}
    figures: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(arguments.repeats):
        for name, code in kinds.items():
            figures[name].append(milliseconds(code, arguments.commands))
    bare = statistics.median(figures["bare"])
    for name, values in figures.items():
        middle = statistics.median(values)
        every = ", ".join(f"{value:.2f}" for value in values)
        print(
            f"{name}: {middle:.2f} ms CPU a command ({every}), {middle - bare:+.2f} ms over the bare one"
        )


if __name__ == "__main__":
    main()

"""CPU of a command in a workspace beside the same command started by this Python: `python bench/workspace.py`.

`bash` is the tool of that name, which keeps folder, variables and functions. The processor time of this process, of all
its descendants and of those that have ended counts. The three take turns.
"""

import argparse
import os
import statistics
import subprocess
from collections.abc import Callable
from pathlib import Path

from assay.core.tools import ToolCall
from assay.sandbox.workspace import Workspace
from assay.sandbox.workspace_choice import workspace_tier
from assay.tooling import workspace_tools

TICKS = os.sysconf("SC_CLK_TCK")
COMMAND = "echo hi"


def cpu_of_descendants() -> float:
    """Return the CPU seconds of this process, its descendants, and all that these have waited for."""
    seconds: dict[int, float] = {}
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        process = int(folder.name)
        parents[process] = int(fields[1])
        seconds[process] = sum(map(int, fields[11:15])) / TICKS
    family = {os.getpid()}
    is_growing = True
    while is_growing:
        more = {p for p, parent in parents.items() if parent in family} - family
        family |= more
        is_growing = bool(more)
    return sum(seconds[process] for process in family if process in seconds)


def milliseconds(run: Callable[[], object], commands: int) -> float:
    """Return the CPU milliseconds of one command."""
    before = cpu_of_descendants()
    for _ in range(commands):
        run()
    return 1000 * (cpu_of_descendants() - before) / commands


def main() -> None:
    """Measure the three kinds in turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commands", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    call = ToolCall("c", "bash", {"command": COMMAND})
    bash = workspace_tools._ACTIONS[call.name]
    with Workspace(workspace_tier()) as workspace:
        kinds: dict[str, Callable[[], object]] = {
            "bare": lambda: subprocess.run(["bash", "-c", COMMAND], capture_output=True),
            "workspace": lambda: workspace.exec(COMMAND),
            "bash tool": lambda: bash(workspace, 60, command=COMMAND),
        }  # fmt: skip
        figures: dict[str, list[float]] = {name: [] for name in kinds}
        for _ in range(arguments.repeats):
            for name, run in kinds.items():
                figures[name].append(milliseconds(run, arguments.commands))
    bare = statistics.median(figures["bare"])
    for name, values in figures.items():
        middle = statistics.median(values)
        every = ", ".join(f"{value:.2f}" for value in values)
        print(
            f"{name}: {middle:.2f} ms CPU a command ({every}), {middle - bare:+.2f} ms"
        )


if __name__ == "__main__":
    main()

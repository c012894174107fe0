"""The sandbox: what an execution costs over a bare process; programs judged by it and by human-eval's own runner.

python bench/sandbox.py [--repeats 50] [--data HumanEval.jsonl.gz] [--official execution.py] [--candidates 1]

`--official` is the file `human_eval/execution.py` of the official repository; it runs programs without a sandbox.
"""

import argparse
import gzip
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from assay.sandbox import FunctionTests, Limits, Sandbox, best_tier, judge_functions
from assay.sandbox.interpreters import own_python

CODE = "print(1)"


def median_ms(work: Callable[[], Any], repeats: int) -> float:
    """The median of wall times, in milliseconds."""
    spent = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        spent.append((time.perf_counter() - started) * 1000)
    return statistics.median(spent)


def executions(repeats: int) -> None:
    """One execution, and one verdict, beside a bare process of the same interpreter."""
    tier = best_tier()
    tests = FunctionTests("assert f(1) == 2")

    def boxed() -> None:
        with Sandbox(tier) as box:
            assert box.exec(["python", "-I", "-c", CODE]).succeeded

    bare = median_ms(lambda: subprocess.run([own_python(), "-I", "-c", CODE], capture_output=True), repeats)
    inside = median_ms(boxed, repeats)
    judged = median_ms(lambda: judge_functions(tier, "def f(x): return x + 1", tests), repeats)
    print(f"bare process          {bare:7.1f} ms (p50 of {repeats})")
    print(f"execution, {tier.name:10} {inside:7.1f} ms, {inside - bare:+.1f}")
    print(f"verdict, two of them  {judged:7.1f} ms, {judged - bare:+.1f}")


def problems(path: Path, candidates: int, official: Path | None) -> None:
    """Every canonical solution, on all cores."""
    rows = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()] * candidates
    tier = best_tier()

    def ours(row: dict[str, Any]) -> bool:
        tests = FunctionTests(row["test"], f"check({row['entry_point']})", row["prompt"], row["entry_point"])
        return judge_functions(tier, row["prompt"] + row["canonical_solution"], tests, Limits()).passed

    _timed(f"assay, {tier.name}", ours, rows)
    if official is not None:
        spec = importlib.util.spec_from_file_location("official", official)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        sys.modules["official"] = module
        spec.loader.exec_module(module)
        _timed("human-eval", lambda row: module.check_correctness(row, row["canonical_solution"], 10.0)["passed"], rows)


def _timed(name: str, judge: Callable[[dict[str, Any]], bool], rows: list[dict[str, Any]]) -> None:
    cores = len(os.sched_getaffinity(0))
    started = time.perf_counter()
    with ThreadPoolExecutor(cores) as threads:
        passed = sum(threads.map(judge, rows))
    spent = time.perf_counter() - started
    print(f"{name:18} {passed}/{len(rows)} pass, {spent:6.1f} s on {cores} cores, {len(rows) / spent:5.1f} a second")


def main() -> None:
    """Prints wall times."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--repeats", type=int, default=50)
    arguments.add_argument("--data", type=Path)
    arguments.add_argument("--official", type=Path)
    arguments.add_argument("--candidates", type=int, default=1)
    given = arguments.parse_args()
    executions(given.repeats)
    if given.data is not None:
        problems(given.data, given.candidates, given.official)


if __name__ == "__main__":
    main()

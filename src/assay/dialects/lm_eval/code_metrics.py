"""Metrics of `unsafe_code` tasks. Programs written by the model run in assay's sandbox; other code is lm-eval's.

Tasks of lm-eval run programs in two ways: through the metric `code_eval` of the
`evaluate` library, and through functions of their helper modules. Both are replaced by
an execution in the sandbox. A task that runs code in another way is refused.
"""

import ast
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from math import comb
from pathlib import Path
from typing import Any

from ...code.sources import names_imported, parsed
from ...core import UsageError
from ...sandbox import (
    FunctionTests,
    Limits,
    TestsError,
    Tier,
    best_tier,
    judge_functions,
)
from ..harness.loaded import LibraryTask

CODE_EVAL = "code_eval"
"""The metric of the `evaluate` library that runs programs."""
SECONDS = 3.0
"""Time limit in seconds for one program, as in `code_eval`."""
EXECUTING_CALLS = frozenset({"exec", "eval", "compile", "__import__"})
EXECUTING_MODULES = frozenset({"subprocess", "multiprocessing", "runpy", "ctypes"})


def passes(
    program: str,
    test: str,
    seconds: float = SECONDS,
) -> tuple[bool, str]:
    """Run a program with its test in the sandbox.

    Return True if both ended without an error; otherwise False and the reason.
    """
    limits = Limits(wall_seconds=seconds)
    tests = FunctionTests(test=test or "pass")
    try:
        verdict = judge_functions(_tier(), program, tests, limits)
    except TestsError as error:
        return False, str(error)
    return verdict.passed, verdict.reason


@cache
def _tier() -> Tier:
    return best_tier()


class SandboxedCodeEval:
    """Replaces the metric `code_eval` of the `evaluate` library. It runs every program in the sandbox."""

    def compute(
        self,
        references: Sequence[str],
        predictions: Sequence[Sequence[str]],
        k: Sequence[int] = (1, 10, 100),
        timeout: float = SECONDS,
        **_: object,
    ) -> tuple[dict[str, float], dict[int, list[tuple[int, dict[str, Any]]]]]:
        """Run all programs. Return pass@k over all problems, and the result of each program by problem."""
        jobs = []
        for number, test in enumerate(references):
            for position, candidate in enumerate(predictions[number]):
                jobs.append((number, position, candidate, test))

        def run(job: tuple[int, int, str, str]) -> dict[str, Any]:
            number, position, candidate, test = job
            is_right, reason = passes(candidate, test, timeout)
            return {
                "task_id": number,
                "passed": is_right,
                "result": "passed" if is_right else f"failed: {reason}",
                "completion_id": position,
            }

        results: dict[int, list[tuple[int, dict[str, Any]]]] = {}
        cores = len(os.sched_getaffinity(0))
        with ThreadPoolExecutor(cores) as threads:
            for facts in threads.map(run, jobs):
                programs = results.setdefault(facts["task_id"], [])
                programs.append((facts["completion_id"], facts))
        return pass_at_k(results, k), results


def pass_at_k(
    results: Mapping[int, Sequence[tuple[int, Mapping[str, Any]]]],
    ks: Sequence[int],
) -> dict[str, float]:
    """Return the unbiased estimate of pass@k: the chance that one of k programs passes."""
    counts = []
    for programs in results.values():
        right = sum(bool(facts["passed"]) for _, facts in programs)
        counts.append((len(programs), right))
    scores = {}
    for k in ks:
        if not counts or any(total < k for total, _ in counts):
            continue
        shares = []
        for total, right in counts:
            all_fail = comb(total - right, k) / comb(total, k)
            shares.append(1.0 - all_fail)
        scores[f"pass@{k}"] = sum(shares) / len(shares)
    return scores


def run_cruxeval_program(
    program: str,
    timeout: float = SECONDS,
) -> bool:
    """Return True if a program ends without an error. Replaces `check_correctness` of the cruxeval tasks."""
    return passes(program, "", timeout)[0]


REPLACED: Mapping[tuple[str, str], tuple[str, Callable[..., Any]]] = {
    ("cruxeval", "utils"): ("check_correctness", run_cruxeval_program),
}
"""Helper functions that run programs, by task family and module: the function's name and its replacement."""
HARMLESS: frozenset[str] = frozenset(
    {
        "process_results_countdown",
        "process_results_html_to_tsv",
        "process_results_path_traversal",
    }
    | {"process_results_tom_tracking", "process_results_travel_planning"}
)
"""Helper functions of the longproc tasks that only read text. Their module also runs compilers."""


def check_unsafe(
    name: str,
    path: str,
    functions: Sequence[str],
) -> None:
    """Raise for a task that runs code in a way that the sandbox does not cover."""
    folder = Path(path).parent
    names = {function.rpartition(".")[2] for function in functions}
    if names & HARMLESS:
        return
    for module in sorted({function.rpartition(".")[0] for function in functions}):
        file = folder / f"{module.replace('.', '/')}.py"
        if (folder.name, module) in REPLACED or not file.is_file():
            continue
        call = _executing_call(file)
        if call:
            raise UsageError(
                f"its metric runs code that the model wrote by `{call}`, outside any sandbox",
                where=f"task lm_eval/{name}, {file.name}",
                fix="run it through the `code_eval` metric of `evaluate`, which assay runs in its sandbox",
            )


def _executing_call(file: Path) -> str:
    """Return the first import or call with which a helper module can run programs; empty if it has none."""
    tree = parsed(file)
    for node in ast.walk(tree) if tree is not None else ():
        for name in names_imported(node):
            if name.partition(".")[0] in EXECUTING_MODULES:
                return name
        if isinstance(node, ast.Call):
            function = ast.unparse(node.func)
            is_system_call = function.startswith(("os.system", "os.exec"))
            if function in EXECUTING_CALLS or is_system_call:
                return function
    return ""


@contextmanager
def sandboxed_code_eval() -> Iterator[None]:
    """Replace the metric `code_eval` by assay's while task files are loaded."""
    try:
        import evaluate
    except ModuleNotFoundError:
        yield
        return
    original = evaluate.load

    def load(
        path: str,
        *args: object,
        **kwargs: object,
    ) -> object:
        if path == CODE_EVAL:
            return SandboxedCodeEval()
        return original(path, *args, **kwargs)

    evaluate.load = load
    try:
        yield
    finally:
        evaluate.load = original


def replace_functions(task: LibraryTask, path: str) -> None:
    """Replace those functions of a task's helper modules that run programs."""
    family = Path(path).parent.name
    for function in _functions_of(task):
        scope = getattr(function, "__globals__", {})
        module = Path(str(scope.get("__file__", ""))).stem
        name, stand_in = REPLACED.get((family, module), ("", None))
        if name in scope:
            scope[name] = stand_in


def _functions_of(task: LibraryTask) -> Iterator[Callable[..., Any]]:
    config = task.config
    metrics = getattr(task, "_metric_fn_list", {})
    for value in (config.process_results, config.process_docs, *metrics.values()):
        if callable(value):
            yield value

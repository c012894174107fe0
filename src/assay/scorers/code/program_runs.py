"""`runs`: 1 if the program in an answer passes its tests, run in a sandbox.

The run provides the sandbox under the role `sandbox`. Tests come from a column: code that calls the program's
functions and raises if they are wrong, or cases with the input and the expected output of the program. A failure of
the sandbox is a `judge_error`, never a wrong answer.
"""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...core import (
    Message,
    ModelError,
    Outcome,
    Output,
    Prompt,
    Sample,
    Score,
    UsageError,
)
from ...registry import scorers
from ...sandbox import FunctionTests
from ...sandbox.launch import PYTHON, find_program
from ...sandbox.verdict import Case, ToRun
from ..answers import data_error, no_answer
from ..given_models import GivenModels, ask_model
from .code_text import Rule, whole_program
from .collect_tests import runnable

ROLE = "sandbox"
LONGEST_SECONDS = 3600
NO_TESTS = "tests are neither code nor a list of lines or cases"
MISSING_MODULE = re.compile(
    r"ModuleNotFoundError: No module named '(?P<module>[\w.]+)'"
)


@dataclass(frozen=True)
class InSandbox(GivenModels):
    """Base of scorers that run programs. It requests a sandbox from the run, and reports pass@k."""

    reads: ClassVar[tuple[str, ...]] = ("text",)
    summarizers: ClassVar[tuple[str, ...]] = ("pass_at_k",)
    needs: ClassVar[tuple[str, ...]] = (ROLE,)


@scorers.register("runs")
@dataclass(frozen=True)
class Runs(InSandbox):
    """1 if the program in the answer passes its tests in a sandbox."""

    tests: Any = ""
    """Tests for every sample, which replace those in the column.

    They are code that raises if the program is wrong, a list of such lines, or a list
    of cases `{input: …, output: …}`.
    """
    column: str = "tests"
    extra: str = ""
    """A column with more tests, such as MBPP's `challenge_test_list`. The program must also pass these."""
    setup: str = ""
    """Code that runs before the program, such as imports and helpers for the tests. The
    program may redefine these names.
    """
    setup_column: str = ""
    """A column with code to run before the tests, such as MBPP's `test_setup_code`. It may use the program."""
    until: str = ""
    """The text that ends an answer, such as `[DONE]`."""
    language: str = "python"
    """The interpreter that runs the programs, such as `node` or `bash`. It must be installed on this machine.

    For languages other than Python, the tests must be cases with input and output.
    """
    timeout: float = 10.0
    """Seconds for all tests of a program, or for each case."""
    memory_mb: int = 1024

    def __post_init__(self) -> None:
        check_limits("runs", self.timeout, self.memory_mb)
        find_program(self.language)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        silence = no_answer(output)
        if silence:
            return silence
        tests = from_text(self.tests or sample.fields.get(self.column))
        if not tests:
            return no_tests(self.column)
        if self.until:
            text = output.text.partition(self.until)[0]
        else:
            text = output.text
        if not text.strip():
            return Score.unparsed(reason="the answer has no text")
        limits = limits_of(self.timeout, self.memory_mb)
        try:
            cases = cases_in(tests)
        except ValueError as error:
            return data_error(str(error))
        if cases is not None:
            program, rule = whole_program(
                text,
                self.language,
                reads_input=any(case.stdin.strip() for case in cases),
            )
            execution = ToRun(
                program,
                cases=cases,
                language=self.language,
                limits=limits,
            )
        elif self.language not in PYTHON:
            return data_error(f"{self.language} is tested by cases, not code")
        else:
            extra = from_text(sample.fields.get(self.extra))
            try:
                setup = "\n".join(code_in(sample.fields.get(self.setup_column)))
                parts = [*code_in(tests), *code_in(extra)]
                code = runnable(parts)
            except ValueError as error:
                return data_error(str(error))
            # The program is the block that defines what the user's own test code names, without the added calls.
            test_text = "\n".join([setup, *parts])
            program, rule = whole_program(text, self.language, test_text)
            execution = ToRun(
                program,
                FunctionTests(f"{setup}\n{code}" if setup else code, before=self.setup),
                limits=limits,
            )
        return await run_program(self.models, execution, rule)


async def run_program(
    models: Mapping[str, Any],
    execution: ToRun,
    rule: Rule,
    answer: str | None = None,
) -> Score:
    """Run a program in the sandbox and return its score; a `judge_error` if the sandbox gave no verdict."""
    if answer is None:
        code = execution.program
    else:
        code = answer
    try:
        reply = await ask_model(
            models,
            ROLE,
            Prompt((Message.of("user", execution.to_text()),)),
        )
    except ModelError as error:
        return Score(
            None,
            Outcome.JUDGE_ERROR,
            answer=code,
            details={"reason": error.what, "kind": ROLE},
        )
    verdict = json.loads(reply.text)
    details = {
        "rule": rule,
        "tier": verdict["tier"],
    }
    for name in ("reason", "suspect"):
        if verdict[name]:
            details[name] = verdict[name]
    missing = MISSING_MODULE.search(verdict["reason"])
    if missing:
        details["missing_module"] = missing["module"]
    return Score(
        float(verdict["passed"]),
        answer=code,
        details=details,
    )


def from_text(tests: object) -> object:
    """Parse a text that contains a list or mapping, as JSON or a Python literal. Other values are unchanged."""
    if not isinstance(tests, str) or tests.lstrip()[:1] not in ("[", "{"):
        return tests
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(tests.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(value, (list, tuple, dict)):
            return value
    return tests


def cases_in(tests: object) -> tuple[Case, ...] | None:
    """Return the cases in a list, in one mapping, or in lists of inputs and outputs; None if the tests are code.

    Raise `ValueError` for cases that cannot be given to a program as text.
    """
    if isinstance(tests, Mapping):
        inputs, outputs = tests.get("inputs"), tests.get("outputs")
        if isinstance(inputs, Sequence) and isinstance(outputs, Sequence):
            if tests.get("fn_name") or len(inputs) != len(outputs):
                raise ValueError("inputs and outputs are not those of a whole program")
            texts = zip(map(_as_text, inputs), map(_as_text, outputs), strict=True)
            return tuple(Case(stdin, stdout) for stdin, stdout in texts)
        tests = [tests]
    if isinstance(tests, str) or not isinstance(tests, Sequence) or not tests:
        return None
    if not any(isinstance(case, Mapping) for case in tests):
        return None
    cases = []
    for case in tests:
        is_case = isinstance(case, Mapping) and "input" in case and "output" in case
        if not is_case:
            raise ValueError(f"{NO_TESTS}: {str(case)[:60]!r}")
        cases.append(Case(_as_text(case["input"]), _as_text(case["output"])))
    return tuple(cases)


def _as_text(value: object) -> str:
    """Return the input or output of a case as text: the lines of a list, or an empty text for None."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    raise ValueError(f"the input or output of a case is not text: {str(value)[:60]!r}")


def code_in(cell: Any) -> list[str]:
    """Return the code in a cell: a text, or the lines of a list; empty for None."""
    if isinstance(cell, str):
        lines = [cell]
    elif cell is None:
        lines = []
    else:
        lines = cell
    if not isinstance(lines, Sequence) or not all(
        isinstance(line, str) for line in lines
    ):
        raise ValueError(f"{NO_TESTS}: {str(cell)[:60]!r}")
    return [line.replace("\r\n", "\n") for line in lines if line]


def no_tests(column: str) -> Score:
    """Return the `data_error` score of a sample without tests."""
    return data_error(f"there are no tests in the column {column!r}")


def limits_of(timeout: float, memory_mb: int) -> dict[str, Any]:
    """Return the limits of an execution. `timeout` limits both wall-clock and processor time."""
    return {
        "wall_seconds": timeout,
        "cpu_seconds": int(timeout) + 1,
        "memory_mb": memory_mb,
    }


def check_limits(
    scorer: str,
    timeout: object,
    memory_mb: object,
) -> None:
    """Raise `UsageError` for limits that are invalid, or too small for any program."""
    where = f"scorer {scorer!r}"
    if (
        isinstance(timeout, bool)
        or not isinstance(timeout, (int, float))
        or not 0 < timeout <= LONGEST_SECONDS
    ):
        raise UsageError(
            f"timeout must be a number of seconds, got {timeout!r}",
            where=where,
            fix="timeout: 10",
        )
    if isinstance(memory_mb, bool) or not isinstance(memory_mb, int) or memory_mb < 64:
        raise UsageError(
            f"memory_mb must be an integer from 64, got {memory_mb!r}",
            where=where,
            fix="memory_mb: 1024",
        )

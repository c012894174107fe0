"""Runs: 1 if the program in an answer passes its tests, run in a sandbox.

The scorer is *given* the sandbox under the role `sandbox`, which every run has. Tests come from a column: code that
calls the program's functions and raises where they are wrong, or cases, what the program reads and must print. A
sandbox that fails is `judge_error` and never a wrong answer.
"""

import json
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
from ...sandbox.asking import Case, ToRun
from ...sandbox.interpreters import PYTHON, find_program
from ..answers import data_error, no_answer
from ..given_models import GivenModels, ask_model
from .code_text import Rule, whole_program

ROLE = "sandbox"
LONGEST_SECONDS = 3600


@dataclass(frozen=True)
class InSandbox(GivenModels):
    """What all scorers have in common that run programs: the sandbox, which they are given, and their numbers."""

    reads: ClassVar[tuple[str, ...]] = ("text",)
    summarizers: ClassVar[tuple[str, ...]] = ("pass_at_k",)
    needs: ClassVar[tuple[str, ...]] = (ROLE,)


@scorers.register("runs")
@dataclass(frozen=True)
class Runs(InSandbox):
    """1 if the program in the answer passes its tests in a sandbox."""

    tests: Any = ""
    """Tests for every sample; without them, those of the column. Code that raises where the program is wrong, a list of
    such lines, or a list of cases `{input: …, output: …}`."""
    column: str = "tests"
    extra: str = ""
    """A column with more tests, as MBPP's `challenge_test_list`: the program must pass these too."""
    setup: str = ""
    """Code that stands before the tests: imports, helper functions. It does not see the program."""
    setup_column: str = ""
    """A column with code before the tests that may use the program, as MBPP's `test_setup_code`."""
    until: str = ""
    """The text after which an answer has ended, as `[DONE]`."""
    language: str = "python"
    """An interpreter of this machine, as `node` or `bash`: programs in other languages are tested by cases."""
    timeout: float = 10.0
    """Seconds for all tests of a program, or for each case."""
    memory_mb: int = 1024

    def __post_init__(self) -> None:
        check_limits("runs", self.timeout, self.memory_mb)
        find_program(self.language)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        if silence := no_answer(output):
            return silence
        tests = self.tests or sample.fields.get(self.column)
        if not tests:
            return no_tests(self.column)
        text = output.text.partition(self.until)[0] if self.until else output.text
        if not text.strip():
            return Score.unparsed(reason="the answer holds no text")
        program, rule = whole_program(text)
        limits = limits_of(self.timeout, self.memory_mb)
        cases = cases_in(tests)
        if cases is not None:
            execution = ToRun(
                program, cases=cases, language=self.language, limits=limits
            )
        elif self.language not in PYTHON:
            return data_error(f"{self.language} is tested by cases, not code")
        else:
            parts = [
                sample.fields.get(self.setup_column),
                tests,
                sample.fields.get(self.extra),
            ]
            try:
                code = "\n".join(filter(None, map(code_in, parts)))
            except ValueError as error:
                return data_error(str(error))
            execution = ToRun(
                program, FunctionTests(code, before=self.setup), limits=limits
            )
        return await run_program(self.models, execution, rule)


async def run_program(
    models: Mapping[str, Any], execution: ToRun, rule: Rule, answer: str | None = None
) -> Score:
    """The verdict on a program as a score; `judge_error` where the sandbox gave none."""
    code = execution.program if answer is None else answer
    try:
        reply = await ask_model(
            models, ROLE, Prompt((Message.of("user", execution.to_text()),))
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
        **({"reason": verdict["reason"]} if verdict["reason"] else {}),
    }
    return Score(float(verdict["passed"]), answer=code, details=details)


def cases_in(tests: Any) -> tuple[Case, ...] | None:
    """The cases that tests are, as a list or its JSON; `None` where they are code."""
    if isinstance(tests, str) and tests.lstrip().startswith("["):
        try:
            tests = json.loads(tests)
        except ValueError:
            return None
    if isinstance(tests, str) or not isinstance(tests, Sequence) or not tests:
        return None
    if not all(
        isinstance(one, Mapping) and "input" in one and "output" in one for one in tests
    ):
        return None
    return tuple(Case(str(one["input"]), str(one["output"])) for one in tests)


def code_in(cell: Any) -> str:
    """The code of a cell: text, or a list of lines; empty where there is none."""
    lines = [cell] if isinstance(cell, str) else [] if cell is None else cell
    if not isinstance(lines, Sequence) or not all(
        isinstance(line, str) for line in lines
    ):
        raise ValueError(
            f"tests are neither code nor a list of lines or cases: {str(cell)[:60]!r}"
        )
    return "\n".join(lines).replace("\r\n", "\n")


def no_tests(column: str) -> Score:
    """The score of a sample that nobody can test."""
    return data_error(f"there are no tests in the column {column!r}")


def limits_of(timeout: float, memory_mb: int) -> dict[str, Any]:
    """The limits of an execution; processor time is bounded by the same seconds."""
    return {
        "wall_seconds": timeout,
        "cpu_seconds": int(timeout) + 1,
        "memory_mb": memory_mb,
    }


def check_limits(scorer: str, timeout: Any, memory_mb: Any) -> None:
    """Refuses limits that no program could run in."""
    where = f"scorer {scorer!r}"
    if (
        isinstance(timeout, bool)
        or not isinstance(timeout, (int, float))
        or not 0 < timeout <= LONGEST_SECONDS
    ):
        raise UsageError(
            f"timeout {timeout!r} is not a number of seconds",
            where=where,
            fix="timeout: 10",
        )
    if isinstance(memory_mb, bool) or not isinstance(memory_mb, int) or memory_mb < 64:
        raise UsageError(
            f"memory_mb {memory_mb!r} is not an integer from 64",
            where=where,
            fix="memory_mb: 1024",
        )

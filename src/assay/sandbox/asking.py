"""An execution as plain data: the request to a sandbox and its answer. The text of both is stored in the journal.

The request contains everything on which the answer depends except the tier: the program, its tests and the limits.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from typing import Any

from ..core import EMPTY
from .box import Sandbox, Tier, as_bytes
from .launch import Execution, Limits, last_line
from .running import Stopper
from .verdict import (
    LONGEST_REASON,
    LONGEST_STDOUT,
    FunctionTests,
    Verdict,
    judge_functions,
)


@dataclass(frozen=True, slots=True)
class Case:
    """One run of a program: its input, and the output it should print."""

    stdin: str
    stdout: str


@dataclass(frozen=True, slots=True)
class ToRun:
    """A program and its tests. The tests are code that calls its functions, or cases with input and expected output."""

    program: str
    tests: FunctionTests | None = None
    cases: Sequence[Case] = ()
    language: str = "python"
    """The interpreter of the machine that runs the cases."""
    limits: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

    def to_text(self) -> str:
        """Return the execution as JSON. Equal executions give equal text."""
        plain: dict[str, Any] = {"program": self.program, "limits": dict(self.limits)}
        if self.tests is not None:
            plain["tests"] = asdict(self.tests)
        else:
            plain |= {
                "cases": [asdict(case) for case in self.cases],
                "language": self.language,
            }
        return json.dumps(plain, sort_keys=True)

    @classmethod
    def from_text(cls, text: str) -> "ToRun":
        """Return the execution that a text describes."""
        plain = json.loads(text)
        if "tests" in plain:
            tests = FunctionTests(**plain["tests"])
        else:
            tests = None
        cases = tuple(Case(**case) for case in plain.get("cases", ()))
        return cls(
            plain["program"],
            tests,
            cases,
            plain.get("language", "python"),
            plain["limits"],
        )


def perform(
    tier: Tier,
    execution: ToRun,
    stopper: Stopper | None = None,
) -> Verdict:
    """Run the program and return the verdict.

    Raise `SandboxError` if the sandbox failed, because that says nothing about the program.
    """
    limits = Limits(**execution.limits)
    if execution.tests is not None:
        return judge_functions(
            tier,
            execution.program,
            execution.tests,
            limits,
            stopper,
        )
    return _judge_cases(tier, execution, limits, stopper or Stopper())


def _judge_cases(
    tier: Tier,
    execution: ToRun,
    limits: Limits,
    stopper: Stopper,
) -> Verdict:
    """Run every case in a separate sandbox, and compare outputs in this process, where the program cannot interfere."""
    seconds = 0.0
    printed = ""
    for number, case in enumerate(execution.cases, 1):
        # Twice the bytes of the expected output: a longer one differs anyway.
        longest = limits.output_bytes + 2 * len(as_bytes(case.stdout))
        with Sandbox(tier, replace(limits, output_bytes=longest), stopper) as box:
            box.write("program", execution.program)
            done = box.exec([execution.language, "program"], stdin=case.stdin)
        seconds += done.seconds
        output = done.stdout.decode("utf-8", "replace")
        printed = output[:LONGEST_STDOUT]
        if not done.succeeded:
            reason = f"case {number}: {_how_it_ended(done)}"
            return Verdict(False, reason[:LONGEST_REASON], seconds, printed)
        if len(done.stdout) >= longest or not same_output(output, case.stdout):
            reason = f"case {number}: printed something else"
            return Verdict(False, reason, seconds, printed)
    return Verdict(True, "", seconds, printed)


def _how_it_ended(done: Execution) -> str:
    """Return how a failed run ended, such as `ended with code 1: …`."""
    if done.ending == "exited":
        ended = f"ended with code {done.returncode}"
    else:
        ended = f"ended by {done.ending}"
    error = last_line(done.stderr)
    if error:
        return f"{ended}: {error}"
    return ended


def same_output(printed: str, wanted: str) -> bool:
    """Return True if two outputs are equal by LiveCodeBench's rule: line by line, as text or number for number."""
    left = _lines(printed)
    right = _lines(wanted)
    return len(left) == len(right) and all(map(_same_line, left, right))


def _lines(text: str) -> list[str]:
    """Return the lines of an output without blanks at their ends."""
    return [line.strip() for line in text.strip().split("\n")]


def _same_line(printed: str, wanted: str) -> bool:
    """Return True if two lines are equal as text, or number for number."""
    if printed == wanted:
        return True
    try:
        return _decimals(printed) == _decimals(wanted)
    except (
        ArithmeticError
    ):  # a word that is not a number, or sNaN, which compares with nothing
        return False


def _decimals(line: str) -> list[Decimal]:
    return [Decimal(word) for word in line.split()]

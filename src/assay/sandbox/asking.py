"""An execution as plain data: what is asked of a sandbox, and what it answers. The text of both is kept in the journal.

What is asked has all that the answer depends on but the tier: the program, its tests and the limits.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ..core import EMPTY
from .box import Sandbox, Tier
from .limits import Limits, last_line
from .verdict import FunctionTests, Verdict, judge_functions


@dataclass(frozen=True, slots=True)
class Case:
    """One run of a program: what it reads, and what it must print."""

    stdin: str
    stdout: str


@dataclass(frozen=True, slots=True)
class ToRun:
    """A program with the tests that it must pass: code that calls its functions, or cases that it reads and answers."""

    program: str
    tests: FunctionTests | None = None
    cases: Sequence[Case] = ()
    language: str = "python"
    """The interpreter of the machine that runs the cases."""
    limits: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

    def to_text(self) -> str:
        """As JSON, always alike."""
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
        """The execution that a text stands for."""
        plain = json.loads(text)
        tests = FunctionTests(**plain["tests"]) if "tests" in plain else None
        cases = tuple(Case(**case) for case in plain.get("cases", ()))
        return cls(
            plain["program"],
            tests,
            cases,
            plain.get("language", "python"),
            plain["limits"],
        )


def perform(tier: Tier, execution: ToRun) -> Verdict:
    """Runs the program; `SandboxError` where the sandbox failed, which says nothing of the program."""
    limits = Limits(**execution.limits)
    if execution.tests is not None:
        return judge_functions(tier, execution.program, execution.tests, limits)
    return _judge_cases(tier, execution, limits)


def _judge_cases(tier: Tier, execution: ToRun, limits: Limits) -> Verdict:
    """Every case in a sandbox of its own; what was printed is compared here, out of the program's reach."""
    seconds, printed = 0.0, ""
    with Sandbox(tier, limits) as box:
        box.write("program", execution.program)
        for number, case in enumerate(execution.cases, 1):
            done = box.exec([execution.language, "program"], stdin=case.stdin)
            seconds += done.seconds
            printed = done.stdout.decode("utf-8", "replace")
            if not done.succeeded:
                ended = (
                    f"ended with code {done.returncode}"
                    if done.ending == "exited"
                    else f"ended by {done.ending}"
                )
                reason = ": ".join(
                    filter(None, (f"case {number}", ended, last_line(done.stderr)))
                )
                return Verdict(False, reason[:2000], seconds, printed)
            if done.truncated or not same_output(printed, case.stdout):
                return Verdict(
                    False, f"case {number}: printed something else", seconds, printed
                )
    return Verdict(True, "", seconds, printed)


def same_output(printed: str, wanted: str) -> bool:
    """LiveCodeBench's rule: line by line without blanks around them, alike as text or number for number."""
    left, right = _lines(printed), _lines(wanted)
    return len(left) == len(right) and all(map(_same_line, left, right))


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().split("\n")]


def _same_line(printed: str, wanted: str) -> bool:
    if printed == wanted:
        return True
    numbers = _decimals(printed), _decimals(wanted)
    return numbers[0] is not None and numbers[0] == numbers[1]


def _decimals(line: str) -> list[Any] | None:
    from decimal import Decimal, InvalidOperation

    try:
        return [Decimal(word) for word in line.split()]
    except InvalidOperation:
        return None

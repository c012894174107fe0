"""Verdicts on programs from models, by tests of their functions or by their output for given inputs.

A program and tests of its functions run in one process inside a sandbox (`harness`), as
in the official runners. The process writes lines to a pipe, each with a number that the
program does not have. Other lines are ignored. A program passes only if such a line
reports it. Once this process has started, any other end counts as a failure of the
program.

`ToRun` contains everything that the verdict depends on except the tier: the program,
its tests and the limits. It is plain data, whose text is stored in the journal.
"""

import ast
import json
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from typing import Any

from ..core import EMPTY
from .box import Sandbox, Tier, as_bytes
from .fork_server import forked
from .launch import ENVIRONMENT, Command, Execution, Limits, last_line
from .running import Attended, Pipes, Running, SandboxError, Stopper, attend

LONGEST_REASON = 2000
LONGEST_STDOUT = 20_000


class TestsError(SandboxError):
    """Raised if the tests are faulty: they cannot be parsed, or fail before they call the program."""

    __test__ = False  # not a test of this repository, despite its name


@dataclass(frozen=True, slots=True)
class FunctionTests:
    """Tests that call functions of a program."""

    test: str
    """Code that runs in the program's namespace and raises if the program is wrong."""
    call: str = ""
    """Code that runs after `test`, such as `check(add)`."""
    before: str = ""
    """Imports and helper functions, which run before the program and are hidden from it while it loads.

    The tests can use them unless the program defines the same names.
    """
    entry: str = ""
    """The name of the function under test.

    If set, `call` runs in the namespace of `before`, where the function is named `candidate`. The program cannot
    access that namespace.
    """


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a program passed its tests, and the reason if it did not."""

    passed: bool
    reason: str = ""
    seconds: float = 0.0
    stdout: str = ""
    """The beginning of the program's standard output."""
    suspect: str = ""
    """How the program may have manipulated the verdict in its process; empty for most programs."""


@lru_cache(maxsize=256)
def imported_modules(code: str) -> list[str]:
    """Return the top-level modules that code imports unconditionally."""
    try:
        statements = ast.parse(code).body
    except (SyntaxError, ValueError):
        return []  # the harness reports the error
    names: list[str] = []
    for statement in statements:
        if isinstance(statement, ast.Import):
            names += [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom) and statement.module:
            names.append(statement.module)
    return sorted({name.partition(".")[0] for name in names})


def judge_functions(
    tier: Tier,
    program: str,
    tests: FunctionTests,
    limits: Limits = Limits(),
    stopper: Stopper | None = None,
) -> Verdict:
    """Run tests of functions on a program and return the verdict. Raise `SandboxError`
    if the sandbox or the tests failed.
    """
    stopper = stopper or Stopper()
    verdict = _judge(tier, program, tests, limits, stopper)
    if verdict is None:
        # Something outside ended the sandbox. Retry once, because a program that can cause this will do so again.
        verdict = _judge(tier, program, tests, limits, stopper)
    return verdict or Verdict(False, "the sandbox was ended while the program ran")


def _judge(
    tier: Tier,
    program: str,
    tests: FunctionTests,
    limits: Limits,
    stopper: Stopper,
) -> Verdict | None:
    nonce = secrets.token_hex(16)
    with Pipes() as pipes:
        pipe = pipes.new()
        links = {"verdict": pipe.writing}
        facts = {
            "program": as_bytes(program),
            "tests": asdict(tests),
            "imports": imported_modules(tests.test),
            "nonce": nonce,
            **links,
        }
        command = Command(
            role="verdict",
            facts=facts,
            env=ENVIRONMENT,
        )
        watched: int | None = pipe.reading
        running: Attended | None = forked(tier, command, limits, links=links)
        if running is None:
            launch = tier.launch(command, limits)
            # A container inherits standard streams only: its standard output is the pipe.
            watched = None if launch.first else watched
            inherited = () if launch.first else (pipe.writing,)
            running = Running(launch, launch.first, limits, inherits=inherited)
        with running:
            pipes.close_all_but(watched)
            deadline = time.monotonic() + limits.wall_seconds
            with stopper.watching(running):
                heard = attend([running], deadline, watched)
            if watched is None:
                heard = bytes(running.stdout)
                running.stdout.clear()
            return _read(heard, nonce, running)


def _read(
    heard: bytes,
    nonce: str,
    running: Attended,
) -> Verdict | None:
    """Parse the verdict from the bytes of the harness; None if something outside ended the sandbox first."""
    lines = dict(_lines(heard, nonce))
    if "ready" not in lines and "fault" not in lines:
        running.end()
        words = last_line(running.finished().stderr) or last_line(heard)
        words = words or "it gave no reason"
        raise SandboxError(
            f"the tests did not start: {words}", fix="try `assay doctor`"
        )
    if "fault" in lines:
        raise TestsError(
            f"the tests do not run: {lines['fault']}", fix="correct the data's tests"
        )
    seconds = time.monotonic() - running.started
    printed = bytes(running.stdout or running.stderr).decode("utf-8", "replace")
    printed = printed[:LONGEST_STDOUT]
    suspect = lines.get("suspect", "")
    if "failed" in lines:
        return Verdict(False, lines["failed"], seconds, printed, suspect)
    if "passed" in lines:
        if "checked" not in lines:
            suspect = suspect or "the program ended the process after its tests"
        return Verdict(True, "", seconds, printed, suspect)
    if running.stopped is None and running.was_lost():
        return None
    reason = _why_ended(running)
    return Verdict(False, reason, seconds, printed, suspect)


def _lines(heard: bytes, nonce: str) -> Iterator[tuple[str, str]]:
    """Yield the kind and text of each line that has the number `nonce`. Only the first line of a kind counts."""
    kinds: set[str] = set()
    for line in heard.splitlines():
        words = line.decode("ascii", "replace").split(" ")
        if len(words) != 3 or not secrets.compare_digest(
            words[0].encode(), nonce.encode()
        ):
            continue
        kind = words[1]
        if kind not in kinds:
            kinds.add(kind)
            text = bytes.fromhex(words[2]).decode("utf-8", "replace")
            yield kind, text[:LONGEST_REASON]


def _why_ended(running: Attended) -> str:
    if running.stopped == "memory":
        return f"held more than {running.limits.memory_mb} MB"
    if running.stopped == "disk":
        return f"wrote more than {running.limits.disk_mb} MB"
    if running.stopped == "wall_time":
        return f"timed out after {running.limits.wall_seconds:g} s"
    return "the program ended before its tests did"


@dataclass(frozen=True, slots=True)
class Case:
    """One run of a program: its input, and the expected output."""

    stdin: str
    stdout: str


@dataclass(frozen=True, slots=True)
class ToRun:
    """A program and its tests. The tests are code that calls its functions, or cases with input and expected output."""

    program: str
    tests: FunctionTests | None = None
    cases: Sequence[Case] = ()
    language: str = "python"
    """The interpreter on the host that runs the cases."""
    limits: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

    def to_text(self) -> str:
        """Return the execution as JSON. Equal executions have equal JSON."""
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
        """Build the execution from its JSON text."""
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

    Raise `SandboxError` if the sandbox failed, because the program may still be correct.
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
    """Return a description of how a run of a program failed, such as `ended with code 1: …`."""
    if done.ending == "exited":
        ended = f"ended with code {done.returncode}"
    else:
        ended = f"ended by {done.ending}"
    error = last_line(done.stderr)
    if error:
        return f"{ended}: {error}"
    return ended


def same_output(printed: str, wanted: str) -> bool:
    """Return True if two outputs are equal by LiveCodeBench's rule: lines are compared as text or as numbers."""
    left = _output_lines(printed)
    right = _output_lines(wanted)
    return len(left) == len(right) and all(map(_same_line, left, right))


def _output_lines(text: str) -> list[str]:
    """Return the lines of an output without trailing spaces."""
    return [line.strip() for line in text.strip().split("\n")]


def _same_line(printed: str, wanted: str) -> bool:
    """Return True if two lines are equal as text, or consist of equal numbers, such as `1.0 2` and `1 2.0`."""
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

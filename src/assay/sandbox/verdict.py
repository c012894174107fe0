"""Verdicts on programs that a model wrote: their tests run in another sandbox, which they can neither read nor patch.

The program is loaded in one sandbox, the tests in a second; calls of the program's functions go over two pipes. Only
the tests' process has the pipe over which the verdict comes, with a number that no one else was told.
"""

import json
import os
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .box import ENVIRONMENT, Tier, as_bytes
from .interpreters import own_python
from .launch import FOLDER
from .limits import Limits
from .running import Running, SandboxError, attend

LONGEST_REASON = 2000


class TestsError(SandboxError):
    """The tests are at fault: they cannot be read, or fail before the program is asked anything."""

    __test__ = False  # no test of this repository's, whatever its name


@dataclass(frozen=True, slots=True)
class FunctionTests:
    """Tests that call functions of a program."""

    test: str
    """Code that raises where the program is wrong."""
    call: str = ""
    """What is executed after it: `check(candidate)`."""
    before: str = ""
    """The benchmark's own code before the tests: imports, helper functions."""
    entry: str = ""
    """A name of the program that the code before defines too, as a signature does."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a program passed its tests, and if not, why."""

    passed: bool
    reason: str = ""
    seconds: float = 0.0
    stdout: str = ""
    """What the program printed; never read for the verdict."""


def judge_functions(tier: Tier, program: str, tests: FunctionTests, limits: Limits = Limits()) -> Verdict:
    """The verdict of tests on a program; `SandboxError` where there is none for a reason of our own."""
    verdict = _judged(tier, program, tests, limits)
    if verdict is None:
        # Brought down while the program ran: chance may do that once, a program that means to does it again.
        verdict = _judged(tier, program, tests, limits)
    return verdict or Verdict(False, "the tests were brought down while the program ran")


def _judged(tier: Tier, program: str, tests: FunctionTests, limits: Limits) -> Verdict | None:
    started = time.monotonic()
    nonce = secrets.token_hex(16)
    plain = {"test": tests.test, "call": tests.call, "before": tests.before, "entry": tests.entry}
    pipes = [os.pipe() for _ in range(3)]
    (to_program, asks), (to_tests, answers), (verdict, says) = pipes
    still_open = {number for pair in pipes for number in pair}

    def close(*numbers: int) -> None:
        for number in numbers:
            if number in still_open:
                still_open.discard(number)
                os.close(number)

    try:
        with (
            _started(tier, "candidate.py", {"program.py": as_bytes(program)},
                     ["program.py", str(to_program), str(answers)], (to_program, answers), limits) as candidate,
            _started(tier, "tester.py", {"tests.json": json.dumps(plain).encode("ascii")},
                     ["tests.json", str(to_tests), str(asks), str(says), nonce], (to_tests, asks, says),
                     limits) as tester,
        ):  # fmt: skip
            close(to_program, answers, to_tests, asks, says)
            heard = attend([candidate, tester], started + limits.wall_seconds, verdict)
            return _read(heard, nonce, candidate, tester, time.monotonic() - started)
    finally:
        close(*still_open)


def _started(
    tier: Tier, name: str, files: Mapping[str, bytes], argv: list[str], passed: tuple[int, ...], limits: Limits
) -> Running:
    launch = tier.launch(own_python(), [str(FOLDER / name), *argv], files, ENVIRONMENT, limits)
    return Running(launch, b"", limits, keep_open=passed)


def _read(heard: bytes, nonce: str, candidate: Running, tester: Running, seconds: float) -> Verdict | None:
    """What the tests said; `None` where they stood and said nothing."""
    printed = bytes(next(iter(candidate.outputs.values()))).decode("utf-8", "replace")
    lines = [line for line in map(_line, heard.splitlines()) if secrets.compare_digest(str(line.get("nonce")), nonce)]
    if not lines:
        raise SandboxError(f"the tests did not start: {_last_words(candidate, tester)}", fix="try `assay doctor`")
    if "fault" in lines[-1]:
        raise TestsError(f"the tests do not run: {lines[-1]['fault']}"[:LONGEST_REASON], fix="correct the data's tests")
    if isinstance(passed := lines[-1].get("passed"), bool):
        return Verdict(passed, str(lines[-1].get("reason", ""))[:LONGEST_REASON], seconds, printed)
    if candidate.stopped == "memory":
        return Verdict(False, f"held more than {candidate.limits.memory_mb} MB", seconds, printed)
    if tester.stopped == "wall_time":
        return Verdict(False, f"timed out after {tester.limits.wall_seconds:g} s", seconds, printed)
    return None


def _line(data: bytes) -> dict[str, Any]:
    try:
        line = json.loads(data)
    except ValueError:
        return {}
    return line if isinstance(line, dict) else {}


def _last_words(*processes: Running) -> str:
    for running in processes:
        running.end()
        words = running.finished().stderr.decode("utf-8", "replace").strip().splitlines()
        if words:
            return words[-1]
    return "nothing was said of why"

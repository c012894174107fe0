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

from .box import ENVIRONMENT, Tier
from .interpreters import own_python
from .launch import FOLDER
from .limits import Limits
from .running import Running, SandboxError, attend

LONGEST_REASON = 2000


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
            _started(tier, "candidate.py", {"program.py": program.encode("utf-8", "surrogateescape")},
                     ["program.py", str(to_program), str(answers)], (to_program, answers), limits) as candidate,
            _started(tier, "tester.py", {"tests.json": json.dumps(plain).encode("ascii")},
                     ["tests.json", str(to_tests), str(asks), str(says), nonce], (to_tests, asks, says), limits) as tester,
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
    try:
        return Running(launch, b"", limits, keep_open=passed)
    finally:
        launch.close()


def _read(heard: bytes, nonce: str, candidate: Running, tester: Running, seconds: float) -> Verdict:
    printed = bytes(next(iter(candidate.outputs.values()))).decode("utf-8", "replace")
    if tester.is_late:
        return Verdict(False, f"timed out after {tester.limits.wall_seconds:g} s", seconds, printed)
    try:
        said = json.loads(heard)
        is_ours = secrets.compare_digest(str(said["nonce"]), nonce)
        passed, reason = said["passed"], str(said["reason"])
    except (ValueError, KeyError, TypeError):
        is_ours, passed, reason = False, None, ""
    if not is_ours or not isinstance(passed, bool):
        tester.end()
        ending = tester.finished()
        said = ending.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or [f"code {ending.returncode}"]
        raise SandboxError(f"the tests gave no verdict: {said[0]}", fix="`assay doctor` tries the sandbox")
    return Verdict(passed, reason[:LONGEST_REASON], seconds, printed)

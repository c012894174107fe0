"""Verdicts on programs that a model wrote: their tests run in another sandbox, which they can neither read nor patch.

The program is loaded in one sandbox, the tests in a second; calls of the program's functions go over two pipes. Only
the tests' process has the pipe over which the verdict comes, with a number that no one else was told.
"""

import json
import secrets
import subprocess
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from .box import Tier, as_bytes
from .fork_server import forked
from .launch import ENVIRONMENT, Command, Role
from .limits import Limits, last_line
from .running import Attended, Pipe, Pipes, Running, SandboxError, attend, write_within

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


def judge_functions(
    tier: Tier, program: str, tests: FunctionTests, limits: Limits = Limits()
) -> Verdict:
    """The verdict of tests on a program; `SandboxError` where there is none for a reason of our own."""
    verdict = _judged(tier, program, tests, limits)
    if verdict is None:
        # Brought down while the program ran: chance may do that once, a program that means to does it again.
        verdict = _judged(tier, program, tests, limits)
    return verdict or Verdict(
        False, "the tests were brought down while the program ran"
    )


def _judged(
    tier: Tier, program: str, tests: FunctionTests, limits: Limits
) -> Verdict | None:
    started = time.monotonic()
    nonce = secrets.token_hex(16)
    with Pipes() as pipes:
        asks, answers, verdict = pipes.new(), pipes.new(), pipes.new()
        told_tester = {"tests": asdict(tests), "nonce": nonce}
        # The tests first: over standard streams each is told what to do before the other may say a word.
        with (
            _started(
                tier, "tester", told_tester, limits, answers, asks, verdict
            ) as tester,
            _started(
                tier, "candidate", {"program": as_bytes(program)}, limits, asks, answers
            ) as candidate,
        ):
            pipes.close_all_but(verdict.reading)
            heard = attend(
                [candidate, tester],
                time.monotonic() + limits.wall_seconds,
                verdict.reading,
            )
            return _read(heard, nonce, candidate, tester, time.monotonic() - started)


def _started(
    tier: Tier,
    role: Role,
    facts: Mapping[str, Any],
    limits: Limits,
    hears: Pipe,
    says: Pipe,
    tells: Pipe | None = None,
) -> Attended:
    """One side of a verdict, which hears and says by these pipes; only the tests have one to tell the verdict."""
    links = {
        "reading": hears.reading,
        "writing": says.writing,
        **({"verdict": tells.writing} if tells else {}),
    }
    command = Command(role=role, facts={**facts, **links}, env=ENVIRONMENT)
    if (fork := forked(tier, command, limits, links=links)) is not None:
        return fork
    launch = tier.launch(command, limits)
    if not launch.first:
        return Running(launch, b"", limits, inherits=tuple(links.values()))
    streams = (hears.reading, says.writing, tells.writing if tells else subprocess.PIPE)
    running = Running(launch, b"", limits, streams=streams)
    try:
        write_within(hears.writing, launch.first, limits.wall_seconds)
    except OSError:
        pass  # it has ended: what is heard of it, or not, says so
    return running


def _read(
    heard: bytes, nonce: str, candidate: Attended, tester: Attended, seconds: float
) -> Verdict | None:
    """What the tests said; `None` where they stood and said nothing, or the program was ended by none of us."""
    printed = bytes(candidate.stdout or candidate.stderr).decode("utf-8", "replace")
    lines = [
        line
        for line in map(_line, heard.splitlines())
        if secrets.compare_digest(str(line.get("nonce")), nonce)
    ]
    if not lines:
        words = (
            _last_words(candidate, tester)
            or last_line(heard)
            or "nothing was said of why"
        )
        raise SandboxError(
            f"the tests did not start: {words}", fix="try `assay doctor`"
        )
    if "fault" in lines[-1]:
        raise TestsError(
            f"the tests do not run: {lines[-1]['fault']}"[:LONGEST_REASON],
            fix="correct the data's tests",
        )
    if lines[-1].get("gone") and candidate.stopped is None and candidate.was_lost():
        return None
    if isinstance(passed := lines[-1].get("passed"), bool):
        return Verdict(
            passed, str(lines[-1].get("reason", ""))[:LONGEST_REASON], seconds, printed
        )
    if candidate.stopped == "memory":
        return Verdict(
            False, f"held more than {candidate.limits.memory_mb} MB", seconds, printed
        )
    if tester.stopped == "wall_time":
        return Verdict(
            False, f"timed out after {tester.limits.wall_seconds:g} s", seconds, printed
        )
    return None


def _line(data: bytes) -> dict[str, Any]:
    try:
        line = json.loads(data)
    except ValueError:
        return {}
    return line if isinstance(line, dict) else {}


def _last_words(*processes: Attended) -> str:
    for running in processes:
        running.end()
        if words := last_line(running.finished().stderr):
            return words
    return ""

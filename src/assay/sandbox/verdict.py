"""Verdicts on programs from models, by tests of their functions.

Program and tests run in one process inside a sandbox (`harness`), as in the official runners. The harness writes
lines to a pipe, each with a number that the program does not know; lines without it do not count. A program passes
only if the harness reports it. Anything else that happens after the harness began is caused by the program, which
has then failed.
"""

import ast
import secrets
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache

from .box import Tier, as_bytes
from .fork_server import forked
from .launch import ENVIRONMENT, Command, Limits, last_line
from .running import Attended, Pipes, Running, SandboxError, Stopper, attend

LONGEST_REASON = 2000
LONGEST_STDOUT = 20_000


class TestsError(SandboxError):
    """The tests are faulty: they cannot be parsed, or fail before the program is called."""

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

    The tests see those whose names the program does not define.
    """
    entry: str = ""
    """The name of the function under test.

    If it is set, `call` runs in the namespace of `before`, where the function is called `candidate`, and the program
    sees nothing of that namespace.
    """


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a program passed its tests, and if not, why."""

    passed: bool
    reason: str = ""
    seconds: float = 0.0
    stdout: str = ""
    """The beginning of what the program printed."""
    suspect: str = ""
    """How the program may have changed the verdict through its own process; empty for most programs."""


@lru_cache(maxsize=256)
def imported_modules(code: str) -> list[str]:
    """Return the names of the modules that code imports unconditionally, without their submodules."""
    try:
        statements = ast.parse(code).body
    except (SyntaxError, ValueError):
        return []  # the harness says what is wrong
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
    """Return the verdict of tests on a program; raise `SandboxError` if the sandbox or the tests failed."""
    stopper = stopper or Stopper()
    verdict = _judge(tier, program, tests, limits, stopper)
    if verdict is None:
        # Something outside the sandbox ended it. Once may be chance; a program that can do it does it again.
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
    """Return the verdict that the harness wrote; None if something outside ended the sandbox first."""
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
    """Yield kind and text of each line that the harness wrote; only the first line of a kind."""
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

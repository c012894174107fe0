"""Mathematical equivalence by math-verify, in a separate process that may be killed.

Answers may be hostile: `9^{9^{9^9}}` would compute forever. A comparison has 5 seconds and 1 GiB. One that does not
end, or fails, is `unparsed`. The gold comes first, because math-verify is not symmetric.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar

from ...core import MissingExtra, Outcome, Output, Requirement, Score, UsageError
from ...registry import scorers
from .._killable import KillableWorker, WorkerUnready
from ..answers import AgainstTargets

_TAIL_CHARS = 20_000
"""Only the end of a longer answer is read. Results are there, and patterns over 1 MB would use up the time limit."""


@scorers.register("math")
@dataclass(frozen=True)
class MathEquivalence(AgainstTargets):
    """1 if the answer's last expression equals the target's, as in `1/2` and `0.5`."""

    seconds: float = 5.0
    """Wall-clock time for one comparison."""
    memory_mib: int = 1024
    requires: ClassVar[tuple[Requirement, ...]] = (
        Requirement("math_verify", "math-verify", "assay[metrics]"),
    )

    def __post_init__(self) -> None:
        if self.seconds <= 0 or self.memory_mib < 256:
            raise UsageError(
                "scorer 'math' needs more time or memory",
                fix="seconds > 0 and memory_mib >= 256",
            )

    def compare(self, output: Output, targets: tuple[str, ...]) -> Score:
        """Return 1 if the answer's last expression equals a target's."""
        worker = _worker(self.seconds, self.memory_mib << 20)
        try:
            reply = worker.ask({"golds": targets, "answer": output.text[-_TAIL_CHARS:]})
        except WorkerUnready as error:
            raise MissingExtra(
                "math-verify",
                "assay[metrics]",
                where="scorer 'math'",
            ) from error
        if "error" in reply:
            return Score.unparsed(reason=reply["error"])
        if reply["equal"] is None:
            reason = (
                "no mathematics in the answer"
                if reply["gold_read"]
                else "no mathematics in the target"
            )
            if output.stop_reason == "length" and reply["gold_read"]:
                outcome = Outcome.TRUNCATED
            else:
                outcome = Outcome.UNPARSED
            return Score(
                0.0,
                outcome,
                answer=reply["answer"],
                details={"reason": reason},
            )
        return Score(float(reply["equal"]), answer=reply["answer"])


@cache
def _worker(seconds: float, memory_bytes: int) -> KillableWorker:
    return KillableWorker(
        Path(__file__).with_name("_math_worker.py"),
        seconds,
        memory_bytes,
    )

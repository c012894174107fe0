"""Judges of a run: built before the model is asked, and part of the digests of the scorers that ask them."""

from collections.abc import Sequence
from typing import Any

from ...core import AssayError, Model, Task, UsageError, digest_of
from ...core.secrets import veiled
from ...models import build_model
from ..counts.spending import without_prices
from ..options import RunOptions, check_secrets
from ..scoring.scoring import Scoring
from .settings import gather, has_guests


def check_judges(
    asking: Sequence[tuple[Scoring, str]],
    run: RunOptions,
    tasks: Sequence[Task],
    faults: list[AssayError],
) -> None:
    """A role nobody fills, and a model that cannot be built for one; nothing is loaded for it."""
    wanted = {
        role: (scoring.name, task) for scoring, task in asking for role in scoring.roles
    }
    guests = has_guests(run, tasks)
    for role in run.judges:
        # One that nobody asks is worth a note; a name that does not exist is a fault. Guests have names of their own.
        if role in wanted or not guests:
            judge = gather(faults, lambda role=role: judge_model(run, role))  # type: ignore[misc]
            if role in wanted and hasattr(judge, "check_ready"):
                gather(faults, judge.check_ready)
    for role, (scorer, task) in wanted.items():
        if role in run.judges:
            continue
        if run.helper_of(role) is not None:
            gather(faults, lambda role=role: judge_model(run, role))  # type: ignore[misc]
            continue
        fix = f"--judge {role}=MODEL" if role != "judge" else "--judge MODEL"
        faults.append(
            UsageError(
                f"scorer {scorer!r} of task {task!r} needs a model as {role!r}", fix=fix
            )
        )


def count_judges(scorings: Sequence[Scoring], run: RunOptions) -> dict[str, Any]:
    """Makes the digest of a scorer that asks others also theirs, and gives what those are by role: another judge gives
    other verdicts."""
    roles = sorted({role for scoring in scorings for role in scoring.roles})
    identities = {role: veiled(judge_model(run, role).identity) for role in roles}
    for scoring in scorings:
        scoring.digest = digest_of(
            [scoring.digest, {role: identities[role] for role in scoring.roles}]
        )[:16]
    return identities


def judge_model(run: RunOptions, role: str) -> Model:
    """The model that fills a role, built and not loaded."""
    args = without_prices(run.judge_args_of(role))
    check_secrets(args, "--judge_args")
    return build_model(run.helper_of(role) or role, args)

"""Build and check the judges of a run before the model is called, and add them to the digests of their scorers."""

from collections.abc import Sequence
from typing import Any

from ...core import AssayError, Model, Task, UsageError, digest_of
from ...core.secrets import redact_options
from ...models import build_model
from ..counts.spending import model_options
from ..options import RunOptions
from ..scoring.scoring import Scoring
from .models import check_secrets
from .settings import collecting, has_foreign_code


def check_judges(
    asking: Sequence[tuple[Scoring, str]],
    run: RunOptions,
    tasks: Sequence[Task],
    faults: list[AssayError],
) -> None:
    """Append errors to `faults`: scorers that cannot use helper models, roles without a model, models that cannot be
    built.

    Nothing is loaded.
    """
    for scoring, task in asking:
        with collecting(faults):
            _check_scorer(scoring, task)
    asked_by = {
        role: (scoring.name, task) for scoring, task in asking for role in scoring.roles
    }
    has_own_names = has_foreign_code(run, tasks)
    for role in run.judges:
        # An unused judge gets a note. A model that does not exist is an error, unless the code of another
        # system, with different model names, reads the settings.
        if role in asked_by or not has_own_names:
            with collecting(faults):
                judge = judge_model(run, role)
                if role in asked_by and hasattr(judge, "check_ready"):
                    judge.check_ready()
    for role, (scorer, task) in asked_by.items():
        if role in run.judges:
            continue
        if run.helper_of(role) is not None:
            with collecting(faults):
                judge_model(run, role)
            continue
        if role != "judge":
            fix = f"--judge {role}=MODEL"
        else:
            fix = "--judge MODEL"
        fault = UsageError(
            f"scorer {scorer!r} of task {task!r} needs a model as {role!r}", fix=fix
        )
        faults.append(fault)


def _check_scorer(scoring: Scoring, task: str) -> None:
    """Raise if a scorer names roles of helper models but has no way to call them, such as an async method."""
    if not scoring.roles or hasattr(scoring.scorer, "in_run"):
        return
    scoring.check_takes_models(f"task {task!r}")
    if not scoring.is_async and not scoring.is_set_level:
        raise UsageError(
            f"scorer {scoring.name!r} asks helper models and is not async",
            where=f"task {task!r}",
            fix="write `async def __call__(self, sample, output)`, and `await self.models[role].ask(text)` in it",
        )


def count_judges(
    scorings: Sequence[Scoring],
    run: RunOptions,
) -> dict[str, Any]:
    """Add the identities of judges to the digests of their scorers. Return the identities by role.

    With another judge, the digest differs, so the scores of the former judge are not
    reused.
    """
    roles: set[str] = set()
    for scoring in scorings:
        roles.update(scoring.roles)
    identities = {
        role: redact_options(judge_model(run, role).identity) for role in sorted(roles)
    }
    for scoring in scorings:
        scoring.digest = digest_of(
            [scoring.digest, {role: identities[role] for role in scoring.roles}]
        )[:16]
    return identities


def judge_model(run: RunOptions, role: str) -> Model:
    """Return the helper model for a role, built but not loaded."""
    args = model_options(run.judge_args_of(role))
    check_secrets(args, "--judge_args")
    return build_model(run.helper_of(role) or role, args)

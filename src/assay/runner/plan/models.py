"""The models of a run and its judges: their names, and how they are built and checked.

A replica imports this module and nothing else of the plan, so that it starts fast.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import is_dataclass, replace
from typing import Any, cast

from ...code.userfiles import is_reference
from ...core import AssayError, Model, Task, UsageError, digest_of
from ...core.errors import UnknownOption
from ...core.secrets import left_out, veiled
from ...models import build_model
from ...models.other_names import in_our_words
from ..counts.spending import model_options
from ..options import RunOptions
from ..scoring.scoring import Scoring
from .settings import collecting, has_foreign_code


def name_models(
    run: RunOptions,
    objects: Container[str] = (),
) -> tuple[RunOptions, list[str]]:
    """Return the options with each model under its own name, and a note for each translated name.

    Names in `objects` belong to models that were given as objects. A name that cannot be translated stays; the plan
    reports its fault.
    """
    run = run.with_one_spelling(objects)
    notes: list[str] = []
    names: list[str] = []
    args: dict[str, Any] = dict(run.model_args)
    for name in run.models:
        try:
            if name in objects or is_reference(name):
                naming = None
            else:
                naming = in_our_words(name, run.model_args)
        except AssayError:
            naming = None
        if naming is None or not naming.note:
            names.append(name)
            continue
        names.append(naming.name)
        notes.append(naming.note)
        gone = [option for option in run.model_args if option not in naming.args]
        args = {
            option: value
            for option, value in {**args, **naming.args}.items()
            if option not in gone
        }
    return (run.but(models=tuple(names), model_args=args) if notes else run), notes


REFERRING = ("base_url", "body", "headers")
"""Options of endpoints, in which `${env:NAME}` is replaced by the environment variable."""

Refused = dict[str, dict[str, AssayError]]
"""The errors of the models that do not have an option, by option."""


def trusted_model(name: str, run: RunOptions, refused: Refused | None = None) -> Model:
    """Build a model with the run's arguments. Remote code needs its own flag.

    If there are several models, each takes the options it has. Errors for the others are added to `refused`.
    """
    args = model_options(run.model_args)
    if "trust_remote_code" in args:
        raise UsageError(
            "trust_remote_code is not an option of a model", fix="--trust_remote_code"
        )
    check_secrets(args, "--model_args")
    try:
        model = build_model(name, args, dialect=run.dialect)
    except UnknownOption as error:
        if len(run.models) < 2 or error.option not in run.model_args:
            raise
        if refused is not None:
            refused.setdefault(error.option, {})[name] = error
        rest = {}
        for option, value in run.model_args.items():
            if option != error.option:
                rest[option] = value
        return trusted_model(name, run.but(model_args=rest), refused)
    if (
        run.trust_remote_code
        and is_dataclass(model)
        and hasattr(model, "trust_remote_code")
    ):
        trusted: Any = replace(model, trust_remote_code=True)  # type: ignore[type-var]
        return cast(Model, trusted)
    return model


def check_secrets(args: Mapping[str, Any], flag: str) -> None:
    """Raise if secret options, which `run.json` does not store, were not given again."""
    names = list(dict.fromkeys(left_out(args)))
    if not names:
        return
    options = list(dict.fromkeys(name.partition(".")[0] for name in names))
    typed = " ".join(f"{flag} {option}=…" for option in options)
    fix = f"give {'them' if len(names) > 1 else 'it'} again: {typed}"
    if any(option in REFERRING for option in options):
        fix += (
            "; ${env:NAME} in place of a secret is read from the environment, and kept"
        )
    are_secret = "are secrets" if len(names) > 1 else "is a secret"
    raise UsageError(
        f"{', '.join(names)} {are_secret}, which run.json does not keep",
        where=flag,
        fix=fix,
    )


def check_judges(
    asking: Sequence[tuple[Scoring, str]],
    run: RunOptions,
    tasks: Sequence[Task],
    faults: list[AssayError],
) -> None:
    """List scorers that cannot use helper models, roles without a model, and models that cannot be built.

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
        # system, which has model names of its own, reads the settings.
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
        fix = f"--judge {role}=MODEL" if role != "judge" else "--judge MODEL"
        fault = UsageError(
            f"scorer {scorer!r} of task {task!r} needs a model as {role!r}", fix=fix
        )
        faults.append(fault)


def _check_scorer(scoring: Scoring, task: str) -> None:
    """Raise if a scorer names roles of helper models and could not ask them."""
    if not scoring.roles or hasattr(scoring.scorer, "in_run"):
        return
    scoring.check_takes_models(f"task {task!r}")
    if not scoring.is_async and not scoring.is_set_level:
        raise UsageError(
            f"scorer {scoring.name!r} asks helper models and is not async",
            where=f"task {task!r}",
            fix="write `async def __call__(self, sample, output)`, and `await self.models[role].ask(text)` in it",
        )


def count_judges(scorings: Sequence[Scoring], run: RunOptions) -> dict[str, Any]:
    """Add the identities of judges to the digests of their scorers, and return the identities by role.

    Another judge gives other verdicts, so scores by another judge must not be reused.
    """
    roles = sorted({role for scoring in scorings for role in scoring.roles})
    identities = {role: veiled(judge_model(run, role).identity) for role in roles}
    for scoring in scorings:
        scoring.digest = digest_of(
            [scoring.digest, {role: identities[role] for role in scoring.roles}]
        )[:16]
    return identities


def judge_model(run: RunOptions, role: str) -> Model:
    """Return the model that fills a role, built but not loaded."""
    args = model_options(run.judge_args_of(role))
    check_secrets(args, "--judge_args")
    return build_model(run.helper_of(role) or role, args)

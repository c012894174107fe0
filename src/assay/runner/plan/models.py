"""The models of a run: their names, and how they are built and checked.

A replica imports this module and nothing else of the plan, so that it starts fast.
"""

from collections.abc import Container, Mapping
from dataclasses import is_dataclass, replace
from typing import Any, cast

from ...code.userfiles import is_reference
from ...core import AssayError, Model, UsageError
from ...core.errors import UnknownOption
from ...core.secrets import paths_without_secret
from ...models import build_model
from ...models.other_names import translate_name
from ..counts.spending import model_options
from ..options import RunOptions


def name_models(
    run: RunOptions,
    objects: Container[str] = (),
) -> tuple[RunOptions, list[str]]:
    """Translate the names of the models to assay's. Return the options, and a note for each translation.

    Names in `objects` stand for models given as Python objects. A name that cannot be
    translated is not changed; the plan reports the error.
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
                naming = translate_name(name, run.model_args)
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
    return (
        run.but(
            models=tuple(names),
            model_args=args,
        )
        if notes
        else run
    ), notes


REFERRING = ("base_url", "body", "headers")
"""Options of endpoints that may contain `${env:NAME}`, a reference to an environment variable."""

Refused = dict[str, dict[str, AssayError]]
"""For each model option: the errors of the models that do not have it, by model name."""


def trusted_model(
    name: str,
    run: RunOptions,
    refused: Refused | None = None,
) -> Model:
    """Build a model with the run's model options. Code that comes with weights needs `--trust_remote_code`.

    With several models, each gets only the options that it has. The errors about its
    other options are added to `refused`.
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


def check_secrets(
    args: Mapping[str, Any],
    flag: str,
) -> None:
    """Raise if a run is repeated without its secret options.

    `run.json` does not store them, so they must be passed again.
    """
    names = list(dict.fromkeys(paths_without_secret(args)))
    if not names:
        return
    options = list(dict.fromkeys(name.partition(".")[0] for name in names))
    typed = " ".join(f"{flag} {option}=…" for option in options)
    fix = f"give {'them' if len(names) > 1 else 'it'} again: {typed}"
    if any(option in REFERRING for option in options):
        fix += (
            "; ${env:NAME} in place of a secret is read from the environment, and kept"
        )
    if len(names) > 1:
        are_secret = "are secrets"
    else:
        are_secret = "is a secret"
    raise UsageError(
        f"{', '.join(names)} {are_secret}, which run.json does not keep",
        where=flag,
        fix=fix,
    )

"""Translate model names to assay's own, so that a model has one name in a run however the user writes it."""

from collections.abc import Container
from typing import Any

from ...code.userfiles import is_reference
from ...core import AssayError
from ...models.other_names import in_our_words
from ..options import RunOptions


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

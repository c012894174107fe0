"""What is checked of a task and a model together before anything is loaded: abilities, device, repeats, reducers,
options."""

from collections.abc import Mapping
from typing import Any

from ...core import ModalityMismatch, OnDevice, Spec, Task, UsageError
from ...models.declared import models_that
from ...models.devices import missing_device
from ..tasks.components import build_summarizer
from .cell import Cell


def check_abilities(cell: Cell) -> None:
    """Refuses a task that sends, or expects, what the model cannot take or make."""
    abilities = cell.model.abilities
    task, model = cell.task.name, cell.model_name
    prompt = cell.first_prompt()
    needs = set(cell.task.needs)
    sends = {medium.kind for medium in prompt.media} if prompt else set()
    weighs = prompt is not None and (prompt.continuations is not None or prompt.rolling)
    if ("likelihood" in needs or weighs) and not abilities.likelihood:
        model_fix = getattr(cell.model, "likelihood_fix", "")
        raise ModalityMismatch(
            f"task {task!r} weighs continuations and model {model!r} cannot",
            fix=f"{model_fix}choose a model with likelihood (hf/…, vllm/…), or a variant of the task that generates",
        )
    for kind in sorted(
        (sends | (needs & {"image", "audio", "video"})) - abilities.accepts
    ):
        raise ModalityMismatch(
            f"task {task!r} sends {kind} and model {model!r} accepts only {', '.join(sorted(abilities.accepts))}",
            fix=f"models that accept {kind}: {', '.join([*models_that('accepts', kind), 'or your own'])}",
        )
    for kind in sorted(set(cell.task.produces) - abilities.produces):
        raise ModalityMismatch(
            f"task {task!r} asks for {kind} and model {model!r} makes only {', '.join(sorted(abilities.produces))}",
            fix=f"models that make {kind}: {', '.join([*models_that('produces', kind), 'or your own'])}",
        )
    if (
        prompt is not None
        and not weighs
        and abilities.roles == "chat"
        and not prompt.is_chat
    ):
        raise ModalityMismatch(
            f"task {task!r} uses free roles and model {model!r} takes chat roles only",
            fix="give the task `roles`, a mapping to system/user/assistant",
        )


def check_repeats(cell: Cell) -> None:
    """Refuses repeats that a scorer of the whole set cannot judge, before they are paid for."""
    for scoring in cell.scorings:
        if not scoring.is_set_level:
            continue
        repeats = {
            "--epochs": cell.task.epochs,
            "--n": 1 if scoring.whole_output else cell.options.n,
        }
        several = [name for name, count in repeats.items() if count > 1]
        if several and hasattr(scoring.scorer, "in_run"):
            raise UsageError(
                f"scorer {scoring.name!r} writes its files for one answer to each sample",
                where=f"task {cell.task.name!r}",
                fix=f"leave {' and '.join(several)} out, or give each repeat a run of its own with another --seed",
            )
        if several and cell.task.reducer != "mean":
            raise UsageError(
                f"scorer {scoring.name!r} judges whole sets, which have no {cell.task.reducer!r} over the answers",
                where=f"task {cell.task.name!r}",
                fix="leave --reducer out: its number is the mean over the sets",
            )


def check_choices(cell: Cell) -> None:
    """Refuses another order of options where there are none, and where every row is one order of a question's."""
    sample = cell.first_sample()
    if cell.run.shuffle_choices is not None and _has_rotations(cell.task):
        raise UsageError(
            "--shuffle_choices: the rows are the rotations of each question's options",
            where=f"task {cell.task.name!r}",
            fix="leave it out: every option stands at every place once",
        )
    if (
        cell.run.shuffle_choices is not None
        and sample is not None
        and not sample.choices
    ):
        raise UsageError(
            "--shuffle_choices: the samples have no options to shuffle",
            where=f"task {cell.task.name!r}",
            fix="leave it out; --shuffle draws another order of the samples",
        )


def _has_rotations(task: Task) -> bool:
    """Whether a question is right only when it is under every order of its options."""
    specs = [
        Spec.of(entry)
        for entry in task.summarizers
        if isinstance(entry, (str, Mapping, Spec))
    ]
    return any(spec.options.get("expected_size") == "options" for spec in specs)


def check_device(cell: Cell) -> None:
    """Refuses a device that is not here; on a Ray cluster the model is loaded elsewhere, and nothing is said."""
    model = cell.model
    if (
        cell.run.executor == "ray"
        or not isinstance(model, OnDevice)
        or not isinstance(model.device, str)
    ):
        return
    if why := missing_device(model.device):
        fix = "--device cpu, or leave it out to take what there is"
        raise UsageError(
            f"device={model.device}: {why}", where=cell.model_name, fix=fix
        )


def check_reducer(cell: Cell) -> None:
    """Refuses a reducer that all summarizers of the cell would have to ignore: what counts every answer by itself, as a
    sum over a corpus, has no `max` and no `pass@k` over the answers to a sample."""
    if not not_reduced(cell):
        return
    where = f"task {cell.task.name!r}"
    entries = [
        e
        for s in cell.scorings
        if not s.is_set_level
        for e in cell.task.summarizers or s.summarizers
    ]
    built = [build_summarizer(entry, where) for entry in entries]
    if built and all(pools_answers(summarizer) for _, summarizer in built):
        names = " and ".join(dict.fromkeys(name for name, _ in built))
        raise UsageError(
            f"summarizer {names!r} counts every answer to a sample and has no {cell.task.reducer!r} over them",
            where=where,
            fix="leave --reducer out, or name a scorer that has one value a sample",
        )


def not_reduced(cell: Cell) -> tuple[str, ...]:
    """What a number that counts every answer by itself must say, where the run asks for a reducer."""
    is_asked = cell.task.reducer != "mean" and cell.task.epochs * cell.options.n > 1
    return (
        (f"reducer {cell.task.reducer} not applied: every answer counts",)
        if is_asked
        else ()
    )


def pools_answers(summarizer: Any) -> bool:
    """Whether a summarizer says that it counts every answer by itself; options may be bound to it."""
    return any(
        getattr(thing, "pools", False)
        for thing in (summarizer, getattr(summarizer, "__wrapped__", None))
    )

"""Checks of a task with a model before anything is loaded: abilities, device, repeats, reducers, choices."""

from collections.abc import Mapping
from itertools import islice

from ...core import (
    ModalityMismatch,
    OnDevice,
    Prompt,
    Sample,
    Spec,
    Task,
    UsageError,
    shorten,
    without_letters,
)
from ...core.abilities import FEWER_IMAGES
from ...datasets.choice_order import lists_own_options, shows_order
from ...models.declared import fix_for_kind, models_that
from ...models.devices import missing_device
from ...models.tool_prompting import no_tools
from ..tasks.components import build_summarizer
from .planned_task import PlannedTask

ROWS_SHUFFLED_ON_TRIAL = 5
"""Number of rows on which to check, before the run, that `--shuffle_choices` changes the prompts."""


def check_abilities(planned: PlannedTask) -> None:
    """Raise if a task sends a kind of content that the model does not accept, or
    expects one that it does not produce.
    """
    abilities = planned.model.abilities
    task = planned.task.name
    model = planned.model_name
    prompt = planned.first_prompt()
    needs = set(planned.task.needs)
    if prompt:
        sends = {medium.kind for medium in prompt.media}
    else:
        sends = set()
    needs_likelihoods = prompt is not None and (
        prompt.continuations is not None or prompt.rolling
    )
    if ("likelihood" in needs or needs_likelihoods) and not abilities.likelihood:
        model_fix = getattr(planned.model, "likelihood_fix", "")
        raise ModalityMismatch(
            f"task {task!r} needs likelihoods, which model {model!r} does not have",
            fix=f"{model_fix}choose a model with likelihood (hf/…, vllm/…), or a variant of the task that generates",
        )
    needed_media = needs & {"image", "audio", "video"}
    kinds = sorted((sends | needed_media) - abilities.accepts)
    for kind in kinds:
        raise ModalityMismatch(
            f"task {task!r} sends {kind} and model {model!r} accepts only {', '.join(sorted(abilities.accepts))}",
            fix=fix_for_kind(planned.model, kind),
        )
    produced = set(planned.task.produces)
    kinds = sorted(produced - abilities.produces)
    for kind in kinds:
        raise ModalityMismatch(
            f"task {task!r} asks for {kind} and model {model!r} makes only {', '.join(sorted(abilities.produces))}",
            fix=f"models that make {kind}: {', '.join([*models_that('produces', kind), 'or your own'])}",
        )
    if prompt:
        excess = abilities.excess_images(prompt.media)
    else:
        excess = ""
    if excess:
        raise ModalityMismatch(
            excess,
            where=f"task {task!r}, model {model!r}",
            fix=FEWER_IMAGES,
        )
    _check_carried(planned, prompt)
    if (
        prompt is not None
        and not needs_likelihoods
        and abilities.roles == "chat"
        and not prompt.is_chat
    ):
        raise ModalityMismatch(
            f"task {task!r} uses free roles and model {model!r} takes chat roles only",
            fix="give the task `roles`, a mapping to system/user/assistant",
        )


def _check_carried(
    planned: PlannedTask,
    prompt: Prompt | None,
) -> None:
    """Raise if the model's API cannot transmit a part of the first prompt, such as an image."""
    refusal = getattr(planned.model, "refusal", None)
    if refusal is None or prompt is None:
        error = None
    else:
        error = refusal(prompt)
    if prompt is not None and prompt.tools and not planned.model.abilities.tools:
        error = no_tools(planned.model)
    if error is not None:
        raise ModalityMismatch(
            error.what,
            where=f"task {planned.task.name!r}, model {planned.model_name!r}",
            fix=error.fix,
        )


def check_repeats(planned: PlannedTask) -> None:
    """Raise if a scorer that judges all samples at once cannot handle several answers per sample.

    This is checked before the answers are paid for.
    """
    for scoring in planned.scorings:
        if not scoring.is_set_level:
            continue
        repeats = {
            "--epochs": planned.task.epochs,
            "--n": 1 if scoring.whole_output else planned.options.n,
        }
        counts = repeats.items()
        several = [name for name, count in counts if count > 1]
        if several and hasattr(scoring.scorer, "in_run"):
            raise UsageError(
                f"scorer {scoring.name!r} writes its files for one answer to each sample",
                where=f"task {planned.task.name!r}",
                fix=f"leave {' and '.join(several)} out, or run each repeat separately with another --seed",
            )
        if several and planned.task.reducer != "mean":
            raise UsageError(
                f"scorer {scoring.name!r} judges whole sets, which have no {planned.task.reducer!r} over the answers",
                where=f"task {planned.task.name!r}",
                fix="leave --reducer out: its number is the mean over the sets",
            )


def check_choices(planned: PlannedTask) -> None:
    """Raise if `--shuffle_choices` cannot work with a task.

    That is so if samples have no options, if the rows already contain each order of the options, or if the prompt
    does not show the shuffled order.
    """
    where = f"task {planned.task.name!r}"
    if planned.run.shuffle_choices is None:
        if planned.run.shuffle_choices_each_epoch:
            raise UsageError(
                "--shuffle_choices_each_epoch without --shuffle_choices",
                where=where,
                fix="add --shuffle_choices",
            )
        return
    if _has_rotations(planned.task):
        raise UsageError(
            "--shuffle_choices: the rows are the rotations of each question's options",
            where=where,
            fix="leave it out: each option is at each position once",
        )
    sample = planned.first_sample()
    if sample is not None and not sample.choices:
        raise UsageError(
            "--shuffle_choices: the samples have no options to shuffle",
            where=where,
            fix="leave it out; --shuffle draws another order of the samples",
        )
    for item in islice(planned.view(), ROWS_SHUFFLED_ON_TRIAL):
        if isinstance(item, Sample) and len(item.choices) > 1:
            _check_shows_order(planned, item, where)


def can_shuffle_choices(planned: PlannedTask, sample: Sample) -> bool:
    """Return True if `--shuffle_choices` would work for a task, judged by one sample."""
    is_shuffled = planned.run.shuffle_choices is not None
    if is_shuffled or _has_rotations(planned.task):
        return False
    return shows_order(planned.template, sample)


def _check_shows_order(
    planned: PlannedTask,
    sample: Sample,
    where: str,
) -> None:
    """Raise if the prompt would still show the options in the old order after shuffling.

    The letter of the right option would then be wrong.
    """
    if without_letters(sample.choices) != sample.choices:
        raise UsageError(
            f"--shuffle_choices: the options of sample {sample.id!r} carry their letters: {shorten(sample.choices[0])}",
            where=where,
            fix="write the options without letters, or leave it out",
        )
    if lists_own_options(sample):
        raise UsageError(
            f"--shuffle_choices: the question of sample {sample.id!r} lists the options itself",
            where=where,
            fix="keep the options in a separate column, or leave it out",
        )
    if not shows_order(planned.template, sample):
        raise UsageError(
            f"--shuffle_choices: the prompt of sample {sample.id!r} does not change with the order of its options",
            where=where,
            fix="show the options in the template ({{ choices }}), or leave it out",
        )


def _has_rotations(task: Task) -> bool:
    """Return True if the task asks each question once per order of its options and requires every answer to be
    right.
    """
    specs = []
    for entry in task.summarizers:
        if isinstance(entry, (str, Mapping, Spec)):
            specs.append(Spec.of(entry))
    return any(spec.options.get("expected_size") == "options" for spec in specs)


def check_device(planned: PlannedTask) -> None:
    """Raise if this machine lacks the device. On a Ray cluster, where the model is
    loaded elsewhere, check nothing.
    """
    model = planned.model
    if (
        planned.run.executor == "ray"
        or not isinstance(model, OnDevice)
        or not isinstance(model.device, str)
    ):
        return
    why = missing_device(model.device)
    if why:
        fix = "--device cpu, or leave it out to take what there is"
        raise UsageError(
            f"device={model.device}: {why}",
            where=planned.model_name,
            fix=fix,
        )


def check_reducer(planned: PlannedTask) -> None:
    """Raise if all summarizers of the task would have to ignore the reducer.

    A summarizer that uses every answer separately, such as a sum over a corpus, cannot apply `max` or `pass@k` to the
    answers to a sample.
    """
    if not not_reduced(planned):
        return
    where = f"task {planned.task.name!r}"
    entries = []
    for s in planned.scorings:
        if not s.is_set_level:
            for e in planned.task.summarizers or s.summarizers:
                entries.append(e)
    built = [build_summarizer(entry, where) for entry in entries]
    are_pooled = all(pools_answers(summarizer) for _, summarizer in built)
    if built and are_pooled:
        built_names = dict.fromkeys(name for name, _ in built)
        names = " and ".join(built_names)
        raise UsageError(
            f"summarizer {names!r} counts every answer to a sample and has no {planned.task.reducer!r} over them",
            where=where,
            fix="leave --reducer out, or name a scorer that has one value a sample",
        )


def not_reduced(planned: PlannedTask) -> tuple[str, ...]:
    """Return a flag for results to which the run's reducer does not apply, because every answer counts separately."""
    is_asked = (
        planned.task.reducer != "mean" and planned.task.epochs * planned.options.n > 1
    )
    if is_asked:
        return (f"reducer {planned.task.reducer} not applied: every answer counts",)
    return ()


def pools_answers(summarizer: object) -> bool:
    """Return True if a summarizer, or the function that it wraps, uses every answer separately."""
    return any(
        getattr(thing, "pools", False)
        for thing in (summarizer, getattr(summarizer, "__wrapped__", None))
    )


def check_tools(planned: PlannedTask) -> None:
    """Raise if a task with tools cannot run: no tools, several candidates, likelihoods, or a missing helper."""
    if planned.tools is None:
        return
    where = f"task {planned.task.name!r}"
    if not planned.model.abilities.tools:
        raise ModalityMismatch(
            f"task {planned.task.name!r} has tools, which model {planned.model_name!r} does not take",
            fix="choose a model with tools: openai/…, anthropic/…, gemini/…, or your own",
        )
    if planned.options.n > 1:
        raise UsageError(
            f"n={planned.options.n}: a sample with tools has one answer in each round",
            where=where,
            fix=f"--epochs {planned.options.n} runs each sample several times",
        )
    prompt = planned.first_prompt()
    if prompt is not None and (prompt.continuations is not None or prompt.rolling):
        raise UsageError(
            "its template asks for likelihoods, and a model calls tools only in text that it writes",
            where=where,
            fix="choose a template that generates, or leave the tools out",
        )
    for role in planned.tools.needs:
        if planned.run.helper_of(role) is None:
            raise UsageError(
                f"the tools of task {planned.task.name!r} need a model as {role!r}",
                fix=f"--judge {role}=MODEL",
            )

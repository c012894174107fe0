"""Turn `lm_eval/NAME` and YAML files into tasks of assay."""

from collections.abc import Sequence

from ...core import Fewshot, Task
from ...runner.options import RunOptions
from ..harness.generation_options import options_of
from ..harness.loaded import TaskReference
from ..harness.task_references import (
    common_options,
    description_of,
    expanded,
    known_names,
    protocol_of,
    references_in,
    run_digest,
    split_shots,
)
from ..harness.task_settings import TaskSettings
from .claims import LIBRARY
from .lm_driver import LmDriver, LmRows, LmTemplate
from .task_loading import load

LIKELIHOODS = frozenset({"loglikelihood", "loglikelihood_rolling", "multiple_choice"})


def tasks_of(text: str, run: RunOptions) -> Sequence[Task]:
    """Return the tasks of a reference: several for a tag, a single one for a group that aggregates."""
    bare, shots = split_shots(text)
    settings = TaskSettings.of(run, shots, LIBRARY)
    references = [
        single
        for reference in references_in(bare, LIBRARY)
        for single in expanded(reference, known_names(reference, LIBRARY), LIBRARY)
    ]
    return [_task(reference, settings, run) for reference in references]


def _task(
    reference: TaskReference,
    settings: TaskSettings,
    run: RunOptions,
) -> Task:
    loaded = load(reference, settings)
    digest = run_digest(loaded, settings, LIBRARY)
    kinds = {entry.task.OUTPUT_TYPE for entry in loaded.tasks.values()}
    shots = {entry.shots for entry in loaded.tasks.values()}
    return Task(
        name=f"lm_eval/{reference.name}",
        dataset=LmRows(reference, settings),
        template=LmTemplate(reference, settings),
        driver=LmDriver(reference, settings, digest),
        needs=frozenset({"likelihood"} if kinds & LIKELIHOODS else ()),
        options=common_options(loaded, options_of),
        fewshot=Fewshot(
            max(shots),
            multiturn=settings.multiturn,
            seed=run.seed or 0,
        ),
        system=settings.system,
        protocol=protocol_of(loaded, settings, digest, run, LIBRARY),
        description=description_of(loaded, LIBRARY),
        data_hint="rows with the columns of the task's own data",
    )

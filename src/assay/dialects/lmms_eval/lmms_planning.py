"""Turn `lmms_eval/NAME` and YAML files into tasks of assay."""

from collections.abc import Sequence

from ...core import Fewshot, Task
from ...runner.options import RunOptions
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
from .lmms_documents import generation_options, is_weighed
from .lmms_driver import LmmsDriver, LmmsRows, LmmsTemplate
from .lmms_loading import load


def tasks_of(text: str, run: RunOptions) -> Sequence[Task]:
    """Return the tasks of a reference: several for a tag, a single one for a group that aggregates."""
    bare, shots = split_shots(text)
    settings = TaskSettings.of(run, shots, LIBRARY, chat=True)
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
    weighs = any(is_weighed(entry.task) for entry in loaded.tasks.values())
    shots = {entry.shots for entry in loaded.tasks.values()}
    return Task(
        name=f"lmms_eval/{reference.name}",
        dataset=LmmsRows(reference, settings),
        template=LmmsTemplate(reference, settings),
        driver=LmmsDriver(reference, settings, digest),
        needs=frozenset({"likelihood"} if weighs else ()),
        options=common_options(loaded, generation_options),
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

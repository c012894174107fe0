"""From `inspect_evals/NAME` and `file.py@task` to tasks of assay."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...core import GenerateOptions, Prompt, Sample, Task, UsageError, digest_of
from ...runner.options import RunOptions
from . import package
from .chat_bridge import messages_of_inspect, options_of
from .claims import PREFIXES, split_task, task_names
from .inspect_driver import InspectDriver

DIGEST_CHARACTERS = 8
REFUSED: dict[str, str] = {
    "template": "the prompts are the task's own solver's",
    "scorers": "the scorers are the task's own",
    "num_fewshot": "the examples are the task's own",
    "measure": "what is asked is the task's own",
    "shuffle_choices": "the order of the options is the task's own",
    "columns": "the data is the task's own",
    "split": "the data is the task's own",
    "data": "the data is the task's own: copy the task's file and change it there",
    "reducer": "the task's own epochs and reducers count",
    "epochs": "the task's own epochs count",
}
"""Options of a run that the code of a task would ignore, and why."""


@dataclass(frozen=True)
class InspectReference:
    """One task, as inspect_ai finds it."""

    spec: str
    """`inspect_evals/NAME`, or `path/file.py@task`."""
    name: str


@lru_cache(maxsize=32)
def load(reference: InspectReference) -> Any:
    """Return the task object of inspect_ai, with its data."""
    loader = package.module("_eval.loader")
    with package.loading(reference.spec):
        loaded = loader.load_tasks([reference.spec])
    if len(loaded) != 1:
        raise UsageError(
            f"no task {reference.name!r}",
            where=reference.spec,
            fix="`inspect list tasks` lists those of a folder",
        )
    return loaded[0]


def tasks_of(text: str, run: RunOptions) -> Sequence[Task]:
    """Return the tasks behind a reference; a file without a name means all its tasks."""
    for name, reason in REFUSED.items():
        value = getattr(run, name)
        if value is not None and value not in ((), {}, [], 1):
            raise UsageError(
                f"--{name} does not apply to tasks of inspect_ai", fix=reason
            )
    package.quiet()
    return [_task(reference, run) for reference in _references(text)]


def _references(text: str) -> list[InspectReference]:
    if text.startswith(PREFIXES):
        package.need_evals()
        name = text.partition("/")[2]
        _check_known(name)
        return [InspectReference(f"{PREFIXES[0]}{name}", f"{PREFIXES[0]}{name}")]
    package.module("")
    file, task = split_task(text)
    path = Path(file).expanduser()
    names = task_names(path)
    if task and task not in names:
        raise UsageError(
            f"no task {task!r} in this file",
            where=file,
            fix=f"it defines {', '.join(names)}",
        )
    chosen = [task] if task else names
    full = path.resolve()
    return [
        InspectReference(f"{full}@{name}", f"{path.stem}@{name}") for name in chosen
    ]


def _check_known(name: str) -> None:
    """Raise with the nearest spelling if inspect_evals has no task of this name."""
    from ...core import UnknownName

    registry = package.module("_util.registry")
    package.module("_util.entrypoints").ensure_entry_points("inspect_evals")
    entries = registry.registry_find(lambda info: info.type == "task")
    prefix = PREFIXES[0]
    names = []
    for entry in entries:
        full_name = registry.registry_info(entry).name
        if full_name.startswith(prefix):
            names.append(full_name.removeprefix(prefix))
    if name not in names:
        hint = f"inspect_evals has {len(names)} tasks"
        raise UnknownName("task of inspect_evals", name, names, hint=hint)


def _task(reference: InspectReference, run: RunOptions) -> Task:
    loaded = load(reference)
    digest = _digest(reference, loaded)
    name = reference.name
    words = [f"v{loaded.version}", f"inspect_ai{package.version()}", digest]
    return Task(
        name=name,
        dataset=InspectRows(reference),
        template=InspectTemplate(reference),
        driver=InspectDriver(reference, digest),
        options=options_of(loaded.config, GenerateOptions()),
        protocol=f"{name}@{'-'.join(words)}",
        description=f"task of inspect_ai, {len(loaded.dataset)} samples",
    )


def _digest(reference: InspectReference, loaded: Any) -> str:
    """Return a digest of the task's file or package version and of its settings, which changes when its numbers may."""
    file, _ = split_task(reference.spec)
    path = Path(file)
    code = path.read_text(encoding="utf-8") if path.is_file() else _evals_version()
    settings = loaded.config.model_dump(mode="json", exclude_none=True)
    parts = [package.version(), code, settings, loaded.epochs]
    return digest_of(parts)[:DIGEST_CHARACTERS]


def _evals_version() -> str:
    import importlib.metadata

    return importlib.metadata.version("inspect_evals")


@dataclass(frozen=True)
class InspectRows:
    """The samples of a task as the rest of assay sees them."""

    reference: InspectReference

    @property
    def name(self) -> str:
        """How faults name the rows."""
        return self.reference.spec

    def __call__(self) -> list[Any]:
        samples = []
        for number, sample in enumerate(load(self.reference).dataset, 1):
            id = number if sample.id is None else sample.id
            question = sample.input if isinstance(sample.input, str) else ""
            samples.append(Sample(str(id), input=question, target=sample.target))
        return samples


@dataclass(frozen=True)
class InspectTemplate:
    """The input of a sample, before the task's solver changes it."""

    reference: InspectReference
    is_whole = True
    """The solver adds what it wants."""

    def __call__(self, sample: Sample) -> Prompt:
        for number, entry in enumerate(load(self.reference).dataset, 1):
            id = number if entry.id is None else entry.id
            if str(id) == sample.id:
                return Prompt(messages_of_inspect(entry.input))
        raise UsageError(f"no sample {sample.id!r}", where=self.reference.spec)

"""Turn `inspect_evals/NAME` and `file.py@task` into tasks of assay."""

import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core import (
    GenerateOptions,
    Prompt,
    Sample,
    Task,
    UsageError,
    digest_of,
    nearest,
)
from ...runner.options import RunOptions
from . import inspect_package as package
from .chat_bridge import messages_of_inspect, options_of
from .claims import PREFIXES, split_task, task_names, task_parameters
from .inspect_driver import InspectDriver

if TYPE_CHECKING:
    from inspect_ai import Task as InspectTask

DIGEST_CHARACTERS = 8
NO_ARGUMENTS = "{}"
SHORT_VALUE = re.compile(r"[\w.-]{1,24}")
"""Pattern for short argument values. They appear unchanged in protocol ids; other values become a digest."""
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
"""Run options that tasks of inspect_ai would ignore, each with the reason."""


@dataclass(frozen=True)
class InspectReference:
    """A reference to one task of inspect_ai, with its arguments."""

    spec: str
    """`inspect_evals/NAME`, or `path/file.py@task`."""
    name: str
    arguments: str = NO_ARGUMENTS
    """The arguments of `-T` as JSON. They are passed to the function that creates the task."""


@lru_cache(maxsize=32)
def load(reference: InspectReference) -> "InspectTask":
    """Load a task with its data, and return the task object of inspect_ai."""
    loader = package.module("_eval.loader")
    with package.loading(reference.spec):
        loaded = loader.load_tasks([reference.spec], json.loads(reference.arguments))
    if len(loaded) != 1:
        raise UsageError(
            f"no task {reference.name!r}",
            where=reference.spec,
            fix="`inspect list tasks` lists those of a folder",
        )
    return loaded[0]


def tasks_of(text: str, run: RunOptions) -> Sequence[Task]:
    """Return the tasks for a task reference. A file without a task name means all tasks in it."""
    for name, reason in REFUSED.items():
        value = getattr(run, name)
        if value is not None and value not in ((), {}, [], 1):
            raise UsageError(
                f"--{name} does not apply to tasks of inspect_ai", fix=reason
            )
    package.quiet()
    arguments = _arguments(run.task_args)
    return [_task(reference, run) for reference in _references(text, arguments)]


def _arguments(typed: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the arguments of `-T` as inspect_ai does: a `-` in a name becomes `_`, and `a,b` becomes a list."""
    arguments: dict[str, Any] = {}
    for name, value in typed.items():
        is_list = isinstance(value, str) and "," in value
        arguments[name.replace("-", "_")] = value.split(",") if is_list else value
    return arguments


def _references(
    text: str,
    arguments: Mapping[str, Any],
) -> list[InspectReference]:
    arguments_text = json.dumps(arguments, sort_keys=True)
    if text.startswith(PREFIXES):
        package.need_evals()
        name = text.partition("/")[2]
        spec = f"{PREFIXES[0]}{name}"
        _check_arguments(arguments, _parameters_of_evals(name), spec)
        return [InspectReference(spec, spec, arguments_text)]
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
    references = []
    for name in chosen:
        _check_arguments(arguments, task_parameters(path, name), f"{file}@{name}")
        reference = InspectReference(
            f"{full}@{name}",
            f"{path.stem}@{name}",
            arguments_text,
        )
        references.append(reference)
    return references


def _check_arguments(
    arguments: Mapping[str, Any],
    parameters: Sequence[str] | None,
    where: str,
) -> None:
    """Raise for an argument that the task does not accept. The error lists the accepted ones.

    If `parameters` is None, any name is accepted.
    """
    if parameters is None:
        return
    for name in arguments:
        if name in parameters:
            continue
        fix = "the task takes no arguments: leave -T out"
        if parameters:
            fix = f"the task takes {', '.join(parameters)}"
        close = nearest(name, parameters)
        if close:
            fix = f"did you mean {close!r}? {fix}"
        raise UsageError(
            f"-T: unknown argument {name!r}",
            where=where,
            fix=fix,
        )


def _parameters_of_evals(name: str) -> Sequence[str] | None:
    """Return the parameter names of a task of inspect_evals. For an unknown task, suggest the nearest one."""
    from ...core import UnknownName

    registry = package.module("_util.registry")
    package.module("_util.entrypoints").ensure_entry_points("inspect_evals")
    entries = registry.registry_find(lambda info: info.type == "task")
    prefix = PREFIXES[0]
    functions = {}
    for entry in entries:
        full_name = registry.registry_info(entry).name
        if full_name.startswith(prefix):
            functions[full_name.removeprefix(prefix)] = entry
    if name not in functions:
        hint = f"inspect_evals has {len(functions)} tasks"
        raise UnknownName("task of inspect_evals", name, list(functions), hint=hint)
    return parameter_names(functions[name])


def parameter_names(function: Callable[..., Any]) -> list[str] | None:
    """Return the names of a function's parameters; None if it accepts any name (`**kwargs`)."""
    names = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            return None
        names.append(parameter.name)
    return names


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
        protocol=f"{name}@{'-'.join(words)}{_argument_words(reference)}",
        description=f"task of inspect_ai, {len(loaded.dataset)} samples",
    )


def _argument_words(reference: InspectReference) -> str:
    """Format a task's arguments for its protocol id, such as `+difficulty=easy`. A long value becomes a digest."""
    words = []
    for name, value in json.loads(reference.arguments).items():
        if isinstance(value, str):
            text = value
        else:
            text = json.dumps(value)
        if not SHORT_VALUE.fullmatch(text):
            text = digest_of(value)[:DIGEST_CHARACTERS]
        words.append(f"+{name}={text}")
    return "".join(words)


def _digest(reference: InspectReference, loaded: "InspectTask") -> str:
    """Return a digest of everything that affects the task's results: its settings, and its file or package version."""
    file, _ = split_task(reference.spec)
    path = Path(file)
    if path.is_file():
        code = path.read_text(encoding="utf-8")
    else:
        code = _evals_version()
    settings = loaded.config.model_dump(mode="json", exclude_none=True)
    parts = [package.version(), code, settings, loaded.epochs]
    if reference.arguments != NO_ARGUMENTS:
        parts.append(reference.arguments)
    return digest_of(parts)[:DIGEST_CHARACTERS]


def _evals_version() -> str:
    import importlib.metadata

    return importlib.metadata.version("inspect_evals")


@dataclass(frozen=True)
class InspectRows:
    """The samples of a task in assay's form."""

    reference: InspectReference

    @property
    def name(self) -> str:
        """The name of the rows in error messages."""
        return self.reference.spec

    def __call__(self) -> list[Any]:
        samples = []
        for number, sample in enumerate(load(self.reference).dataset, 1):
            id = number if sample.id is None else sample.id
            if isinstance(sample.input, str):
                question = sample.input
            else:
                question = ""
            samples.append(
                Sample(
                    str(id),
                    input=question,
                    target=sample.target,
                )
            )
        return samples


@dataclass(frozen=True)
class InspectTemplate:
    """Returns the input of a sample as a prompt. The solver may change the prompt before the model is called."""

    reference: InspectReference
    is_whole = True
    """True, because the solver builds the prompt. assay must not add a system prompt or examples."""

    def __call__(self, sample: Sample) -> Prompt:
        for number, entry in enumerate(load(self.reference).dataset, 1):
            id = number if entry.id is None else entry.id
            if str(id) == sample.id:
                return Prompt(messages_of_inspect(entry.input))
        raise UsageError(f"no sample {sample.id!r}", where=self.reference.spec)

"""Load tasks and groups with the classes of lm-eval, and turn failures into one-line errors."""

import functools
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from ...core import UsageError
from ...core.errors import suggest
from ..harness.config_checks import check_templates
from ..harness.loaded import (
    LibraryTask,
    Loaded,
    LoadedTask,
    TaskConfig,
    TaskReference,
    describe_task,
)
from ..harness.loading_errors import translating
from ..harness.random_state import RandomState
from ..harness.task_index import (
    Index,
    IndexEntry,
    different_leaf_names,
    find_entry,
)
from ..harness.task_references import check_files, known_names
from ..harness.task_rows import given_data, hub_dataset
from ..harness.task_settings import TaskSettings, planned_shots, set_shots
from ..harness.task_yaml import merged_yaml
from . import lm_eval_package as package
from .claims import LIBRARY
from .code_metrics import check_unsafe, replace_functions, sandboxed_code_eval
from .task_checks import check_names, check_own_group, check_own_task
from .task_checks import known_names as names_of_package

_lock = threading.Lock()


MOST_KEPT = 64
"""Maximum number of loaded tasks in memory. A single tag may have many tasks."""


class TaskManager(Protocol):
    """The members of lm-eval's `TaskManager` that assay uses."""

    task_index: dict[str, object]

    def load(self, spec: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the tasks for a name, and the groups among them."""
        ...


class TaskWithData(Protocol):
    """The attributes of an lm-eval task that describe where its data comes from."""

    DATASET_PATH: str | None
    DATASET_NAME: str | None
    config: Any
    dataset: object


def load(reference: TaskReference, settings: TaskSettings) -> Loaded:
    """Load a task or a group. If that fails, raise a one-line error."""
    # The plan, the samples and the driver all load the same tasks.
    with _lock:
        return _load(reference, settings, reference.file_state())


@lru_cache(maxsize=MOST_KEPT)
def _load(
    reference: TaskReference,
    settings: TaskSettings,
    file_state: tuple[int, ...],
) -> Loaded:
    package.load_package()
    index = known_names(reference, LIBRARY)
    entry = find_entry(reference.name, index, LIBRARY)
    if entry.kind == "tag":
        raise UsageError(f"{reference.name!r} is a tag", where=reference.where)
    check_files(reference.name, index, LIBRARY)
    for name in different_leaf_names(reference.name, index):
        leaf = index.get(name)
        if leaf is None:
            continue
        package.forget_helpers(Path(leaf.path).parent)
        if leaf.is_unsafe:
            check_unsafe(name, leaf.path, leaf.functions)
    state = RandomState()

    def explain() -> UsageError | None:
        config = merged_yaml(entry.path, LIBRARY)
        compile_template = package.module("utils").env.from_string
        fault = check_templates(config, reference.where, compile_template)
        return fault or names_of_package().fault(config, reference.where)

    with (
        translating(reference.where, explain),
        _replaced_loading(settings),
        sandboxed_code_eval(),
        state.active(),
    ):
        loaded = _manager(reference.name, index).load(reference.name)
    tasks = loaded["tasks"]
    shots = set_shots(tasks, settings, reference.where)
    loaded_tasks: dict[str, LoadedTask] = {}
    for name, task in tasks.items():
        _confine(task, index.get(name), name)
        check_names(task, name)
        if reference.path and name in index:
            check_own_task(task, index[name].path)
        loaded_tasks[name] = describe_task(name, task, shots[name])
    group = loaded["groups"].get(reference.name)
    if group is not None and reference.path:
        check_own_group(group, tasks, entry.path)
    is_own = bool(reference.path)
    return Loaded(reference.name, loaded_tasks, group, is_own, state)


def _manager(name: str, index: Index) -> TaskManager:
    """Return a task manager of lm-eval that indexes only one name and the names it refers to.

    Indexing the whole package would take seconds.
    """
    tasks_module = package.module("tasks")
    entries = package.module("tasks._index")
    manager: TaskManager = tasks_module.TaskManager(include_defaults=False)
    waiting = [name]
    while waiting:
        entry = index.get(waiting.pop())
        if entry is None or entry.name in manager.task_index:
            continue
        kind = entries.Kind[entry.kind.upper()]
        manager.task_index[entry.name] = entries.Entry(
            name=entry.name,
            kind=kind,
            yaml_path=Path(entry.path) if entry.path else None,
            tags=set(entry.members) if entry.kind == "tag" else set(),
        )
        waiting += entry.members
    return manager


@contextmanager
def _replaced_loading(settings: TaskSettings) -> Iterator[None]:
    """Replace the function with which lm-eval loads rows, inside the block.

    Tasks use the rows of `--data`, or without `--data` the rows that they declare.
    Errors have one line.
    """
    task_module = package.module("api.task")
    base, configurable = task_module.Task, task_module.ConfigurableTask
    original = base.download, configurable.download

    def download_configured(
        self: TaskWithData,
        dataset_kwargs: Mapping[str, Any] | None = None,
        **_: object,
    ) -> None:
        config = self.config
        name = str(config.task)
        _process_once(config)
        if settings.data is not None:
            evaluated = config.test_split or config.validation_split
            shots = planned_shots(config, settings)
            has_samples = bool(config.fewshot_config and config.fewshot_config.samples)
            self.dataset = given_data(
                name,
                config.dataset_name,
                evaluated,
                settings,
                0 if has_samples else shots,
            )
        elif callable(config.custom_dataset):
            original[1](self, dataset_kwargs)
        else:
            options = dict(dataset_kwargs or {})
            options.pop("trust_remote_code", None)
            self.dataset = hub_dataset(
                self.DATASET_PATH,
                self.DATASET_NAME,
                options,
                f"task {name!r}",
            )
            _check_splits(config, self.dataset)

    def download_in_python(
        self: TaskWithData,
        *_: object,
        **__: object,
    ) -> None:
        name = type(self).__name__
        if settings.data is not None:
            self.dataset = given_data(name, self.DATASET_NAME, None, settings, 0)
        else:
            self.dataset = hub_dataset(
                self.DATASET_PATH,
                self.DATASET_NAME,
                {},
                f"task {name!r}",
            )

    base.download, configurable.download = download_in_python, download_configured
    try:
        yield
    finally:
        base.download, configurable.download = original


def _check_splits(config: TaskConfig, dataset: object) -> None:
    """Raise if the data lacks the split that a task evaluates."""
    key = "test_split" if config.test_split else "validation_split"
    split = getattr(config, key)
    if split and isinstance(dataset, Mapping) and split not in dataset:
        raise UsageError(
            f"the data has no split {split!r}",
            where=f"task {str(config.task)!r}, key `{key}`",
            fix=suggest(split, map(str, dataset), "its splits are"),
        )


def _process_once(config: TaskConfig) -> None:
    """Wrap a task's `process_docs`, so that it runs once for each split and its result is reused.

    Some tasks shuffle options in `process_docs`, so a second call would return other
    documents. For data on disk, the cache of `datasets` already prevents this.
    """
    process = config.process_docs
    if not callable(process) or hasattr(process, "__wrapped__"):
        return
    processed: dict[int, tuple[object, object]] = {}

    @functools.wraps(process)
    def process_once(rows: object) -> object:
        if id(rows) not in processed:
            rows_left = process(rows)
            if rows_left is None:
                raise UsageError(
                    "`process_docs` returns nothing",
                    where=f"task {str(config.task)!r}, key `process_docs`",
                    fix="return the rows",
                )
            processed[id(rows)] = rows, rows_left
        return processed[id(rows)][1]

    if config.fewshot_config.process_docs is process:
        config.fewshot_config.process_docs = process_once
    config.process_docs = process_once


def _confine(
    task: LibraryTask,
    entry: IndexEntry | None,
    name: str,
) -> None:
    """Make a task run model-written programs only in the sandbox. Raise if that is impossible."""
    if not getattr(task, "UNSAFE_CODE", False):
        return
    if entry is None or not entry.is_unsafe:
        raise UsageError(
            "its metric runs code that the model wrote, outside any sandbox",
            where=f"task lm_eval/{name}",
            fix="assay's own humaneval, mbpp and others run it in a sandbox (`assay ls tasks`)",
        )
    replace_functions(task, entry.path)

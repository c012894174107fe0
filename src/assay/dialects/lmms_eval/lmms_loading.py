"""Load tasks and groups with the classes of lmms-eval, and turn failures into one-line errors.

`load` takes these steps, once for each version of a task's file:

    find_entry             finds the YAML file of the task or group in assay's index
    _task_manager          gives lmms-eval an index of that name and the names it refers to
    _replaced_loading      lets lmms-eval read YAML files and load rows with assay's functions, while it builds the task
    _leaves, describe_task make a `LoadedTask` of each task in the group

Later, `served_rows` is used again while the requests of a document are built, because a task may load rows then, too.
"""

import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core import UsageError
from ..harness.config_checks import KnownNames, check_templates
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
from . import lmms_package
from .claims import LIBRARY
from .helper_modules import forget_helpers, helpers_digest, resolved_yaml
from .lmms_messages import visual_content

if TYPE_CHECKING:
    from lmms_eval.api.group import ConfigurableGroup
    from lmms_eval.api.task import ConfigurableTask
    from lmms_eval.tasks import TaskManager

    from datasets import Dataset, DatasetDict

MOST_KEPT = 16
"""Maximum number of loaded tasks in memory."""
UNSUPPORTED: Mapping[str, str] = {
    "generate_visual_cot": "the model would have to draw between two thoughts",
}
"""Output types of tasks that no model of assay can produce, with the reasons."""
_lock = threading.Lock()


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
    lmms_package.load_package()
    index = known_names(reference, LIBRARY)
    entry = find_entry(reference.name, index, LIBRARY)
    if entry.kind == "tag":
        raise UsageError(f"{reference.name!r} is a tag", where=reference.where)
    for name in different_leaf_names(reference.name, index):
        if name in index:
            forget_helpers(index[name].path)
    check_files(reference.name, index, LIBRARY)
    model_kind = "chat" if settings.chat else "simple"
    state = RandomState()
    with (
        translating(reference.where, lambda: _config_fault(entry, reference.where)),
        _replaced_loading(settings),
        state.active(),
    ):
        manager = _task_manager(reference.name, index)
        loaded = manager.load_task_or_group(reference.name, model_kind)
    tasks = _leaves(loaded)
    shots = set_shots(tasks, settings, reference.where)
    loaded_tasks: dict[str, LoadedTask] = {}
    for name, task in tasks.items():
        task.set_fewshot_seed(seed=settings.seed)
        _check_task(task, name, reference)
        code = helpers_digest(index.get(name, entry).path)
        loaded_tasks[name] = describe_task(name, task, shots[name], code)
    group = None
    if entry.kind == "group":
        [(key, members)] = loaded.items()
        group = LmmsGroup(key, members)
    return Loaded(reference.name, loaded_tasks, group, bool(reference.path), state)


def _task_manager(name: str, index: Index) -> "TaskManager":
    """Return lmms-eval's task manager with an index of only one name and the names it refers to.

    Indexing the whole package would take seconds.
    """
    manager = lmms_package.module("tasks").TaskManager(include_defaults=False)
    entries: dict[str, dict[str, Any]] = {}
    waiting = [name]
    while waiting:
        entry = index.get(waiting.pop())
        if entry is None or entry.name in entries:
            continue
        entries[entry.name] = _manager_entry(entry)
        waiting += entry.members
    manager._task_index = entries
    manager._all_tasks = sorted(entries)
    return manager


def _manager_entry(entry: IndexEntry) -> dict[str, Any]:
    """Convert an entry of assay's index to an entry of lmms-eval's index."""
    if entry.kind == "tag":
        return {"type": "tag", "task": list(entry.members), "yaml_path": -1}
    kind = "python_task" if entry.output_type == "class" else entry.kind
    return {"type": kind, "task": -1, "yaml_path": entry.path}


def _config_fault(entry: IndexEntry, where: str) -> UsageError | None:
    """Return the error in a task's YAML file that explains why it could not be loaded; None if there is none."""
    config = merged_yaml(entry.path, LIBRARY)
    compile_template = lmms_package.module("utils").env.from_string
    fault = check_templates(config, where, compile_template)
    return fault or _names_of_package().fault(config, where)


def _names_of_package() -> KnownNames:
    """Return the valid configuration keys, filters, metrics and aggregations of the installed lmms-eval."""
    registry = lmms_package.module("api.registry")
    config = lmms_package.module("api.task").TaskConfig
    return KnownNames(
        LIBRARY.title,
        keys=[field.name for field in fields(config)],
        fewshot_keys=(),
        filters=lmms_package.module("filters").FILTER_REGISTRY,
        metrics=registry.METRIC_REGISTRY,
        aggregations=registry.AGGREGATION_REGISTRY,
    )


@contextmanager
def _replaced_loading(settings: TaskSettings) -> Iterator[None]:
    """Let lmms-eval read YAML files and load rows with assay's functions inside the block."""
    import datasets

    utils: Any = lmms_package.module("utils")
    task_module = lmms_package.module("api.task")
    task_class = task_module.ConfigurableTask
    messages_class = task_module.ConfigurableMessagesTask
    own_read_yaml = utils.load_yaml_config
    own_download = task_class.download
    own_content = messages_class._visual_to_content

    def load_yaml_config(
        yaml_path: str | Path = "",
        yaml_config: Mapping[str, Any] | None = None,
        **_: object,
    ) -> dict[str, Any]:
        if yaml_config is not None:
            raise UsageError(
                "an inline task with `include`", fix="put the task into a separate file"
            )
        return resolved_yaml(yaml_path)

    def download_rows(
        self: "ConfigurableTask",
        dataset_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        # Without the decorator, which repeats a failed download five times.
        download = getattr(own_download, "__wrapped__", own_download)
        arguments = None
        if settings.data is None and dataset_kwargs:
            arguments = dict(dataset_kwargs)
        with served_rows(self.config, settings):
            download(self, arguments)

    utils.load_yaml_config = load_yaml_config
    task_class.download = download_rows
    _loader.original = datasets.load_dataset
    datasets.load_dataset = _loader
    # This replacement stays, because messages are built later, before a document's requests are sent.
    messages_class._visual_to_content = classmethod(
        lambda cls, visual: visual_content(visual, own_content)
    )
    try:
        yield
    finally:
        utils.load_yaml_config = own_read_yaml
        task_class.download = own_download
        datasets.load_dataset = _loader.original


@dataclass
class _DatasetLoader:
    """Replaces `datasets.load_dataset`, which helper modules may have imported by name.

    While a task loads its rows or builds a request, it returns the rows of `--data`. At
    other times it calls the original.
    """

    task: tuple[TaskConfig, TaskSettings] | None = None
    """Configuration and settings of the task whose code is running; None outside of tasks."""
    original: Any = None

    def __call__(
        self,
        path: str | None = None,
        name: str | None = None,
        **options: Any,
    ) -> "Dataset | DatasetDict":
        if self.task is None:
            rows: Dataset | DatasetDict = self.original(path, name, **options)
            return rows
        config, settings = self.task
        if settings.data is not None:
            split = options.get("split")
            return _given_rows(config, settings, name, split)
        options.pop("trust_remote_code", None)
        task_name = str(config.task)
        where = f"task {task_name!r}"
        return hub_dataset(path, name, options, where, self.original)


_loader = _DatasetLoader()


@contextmanager
def served_rows(config: TaskConfig, settings: TaskSettings) -> Iterator[None]:
    """Make `datasets.load_dataset` return the rows of `--data` to the task whose code runs inside the block.

    Without `--data` it returns the rows that the task declares, and its errors have one
    line.
    """
    before = _loader.task
    _loader.task = config, settings
    try:
        yield
    finally:
        _loader.task = before


def _given_rows(
    config: TaskConfig,
    settings: TaskSettings,
    dataset_name: str | None,
    split: str | None,
) -> "Dataset | DatasetDict":
    """Return the rows of `--data` in place of a call to `load_dataset`. Without `split`, return all splits."""
    if split is None:
        return _given_splits(config, settings)
    is_other = dataset_name is not None and dataset_name != config.dataset_name
    name = str(dataset_name if is_other else config.task)
    return given_data(name, dataset_name, None, settings, 0)[split]


def _given_splits(config: TaskConfig, settings: TaskSettings) -> "DatasetDict":
    """Return the rows of `--data` as the splits that a task uses."""
    import datasets

    evaluated = config.test_split or config.validation_split
    shots = planned_shots(config, settings)
    has_samples = bool((config.fewshot_config or {}).get("samples"))
    splits = given_data(
        str(config.task),
        config.dataset_name,
        evaluated,
        settings,
        0 if has_samples else shots,
    )
    names = [config.test_split, config.validation_split]
    if shots or config.fewshot_config is not None:
        names += [config.training_split, config.fewshot_split]
    used = dict.fromkeys(name for name in names if name)
    return datasets.DatasetDict({name: splits[name] for name in used})


def _leaves(loaded: Mapping[Any, Any]) -> dict[str, Any]:
    """Return all tasks in a loaded group by name, including those of nested groups."""
    tasks: dict[str, Any] = {}
    for name, entry in loaded.items():
        if isinstance(entry, Mapping):
            tasks.update(_leaves(entry))
        else:
            tasks[name] = entry
    return tasks


def _check_task(
    task: LibraryTask,
    name: str,
    reference: TaskReference,
) -> None:
    """Raise if the task's output type is unsupported, or if a user's own task has an unknown aggregation."""
    reason = UNSUPPORTED.get(task.OUTPUT_TYPE)
    if reason is not None:
        raise UsageError(
            f"output type {task.OUTPUT_TYPE!r}: {reason}",
            where=f"task lmms_eval/{name}",
            fix="run it with lmms-eval and one of its own models",
        )
    if reference.path:
        metrics = task.config.metric_list
        fault = _names_of_package().unknown_aggregation(metrics, reference.where)
        if fault is not None:
            raise fault


class LmmsGroup:
    """A loaded group. lmms-eval's own `consolidate_group_results` computes its metrics."""

    def __init__(
        self,
        key: "ConfigurableGroup",
        members: Mapping[Any, Any],
    ) -> None:
        self._key = key
        self._members = members
        self.name: str = str(key.group_name)
        self.aggregate_metric_list = key._config.aggregate_metric_list or ()

    def aggregate(self, metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Return the metrics of the group, computed from those of its tasks."""
        results: dict[str, dict[str, Any]] = defaultdict(dict)
        for name, values in metrics.items():
            row = dict(values)
            row["samples"] = row.pop("sample_len")
            row.pop("sample_count")
            results[name] = row

        present = self._with_results(self._members, results)
        if present:
            utils = lmms_package.module("evaluator_utils")
            utils.consolidate_group_results(results, {}, {self._key: present})
        return results[self.name]

    def _with_results(
        self,
        members: Mapping[Any, Any],
        results: Mapping[str, Any],
    ) -> dict[Any, Any]:
        """Drop the members of a group that have no results. With `--limit`, some tasks may have no documents."""
        present = {}
        for key, member in members.items():
            if isinstance(member, Mapping):
                inner = self._with_results(member, results)
                if inner:
                    present[key] = inner
            elif key in results:
                present[key] = member
        return present

    def get_all_groups(self) -> list["LmmsGroup"]:
        """Return all groups inside this group, at any depth."""
        groups = []
        for key, member in self._members.items():
            if isinstance(member, Mapping):
                group = LmmsGroup(key, member)
                groups += [group, *group.get_all_groups()]
        return groups

    def get_all_tasks(self) -> list[Any]:
        """Return all tasks of this group, at any depth."""
        return list(self._tasks(self._members))

    def _tasks(self, members: Mapping[Any, Any]) -> Iterator[Any]:
        for member in members.values():
            if isinstance(member, Mapping):
                yield from self._tasks(member)
            else:
                yield member

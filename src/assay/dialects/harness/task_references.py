"""Find the tasks and groups for a name or a YAML file, and compute their digests and protocol ids."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...core import (
    DEFAULT_OPTIONS,
    Fewshot,
    GenerateOptions,
    Task,
    UnknownName,
    UsageError,
    digest_of,
    trust,
)
from ...runner.options import RunOptions
from .config_checks import check_group_values, check_task_values
from .index_building import group_name, index_of_files, index_of_folder
from .library import Library
from .loaded import Loaded, TaskReference
from .task_index import Index, IndexEntry, find_entry, installed_index, leaf_names
from .task_settings import TaskSettings
from .task_yaml import as_list, merged_yaml

DIGEST_CHARACTERS = 8
KEYS_OF_A_LIST = frozenset({"group", "group_alias", "task", "metadata", "tag"})
"""Keys of a group file that only lists tasks. Any other key aggregates metrics or changes the tasks."""
ReadOptions = Callable[[Mapping[str, Any], str], GenerateOptions]


def split_shots(text: str) -> tuple[str, int | None]:
    """Split `NAME|5` into the name and the number of few-shot examples."""
    name, bar, number = text.rpartition("|")
    if bar and number.isdigit():
        return (name, int(number))
    return (text, None)


def references_in(text: str, library: Library) -> list[TaskReference]:
    """Return task references for the task named in `text`, or to all tasks and groups in a YAML file."""
    if library.claims_name(text) is not None:
        library.need_tasks_folder()
        name = library.name_of(text)
        if not name:
            raise UsageError(
                f"name a task of {library.title}",
                where=text,
                fix=f"{library.prefixes[0]}NAME; `assay ls {library.module}` prints the names",
            )
        return [TaskReference(library.module, name)]
    path = Path(text).expanduser().resolve()
    library.need_tasks_folder()
    config = merged_yaml(path, library)
    names = names_defined(config, library)
    if not names:
        raise UsageError(
            "names no task",
            where=str(path),
            fix="give it a key `task` with its name",
        )
    folder = str(path.parent)
    return [TaskReference(library.module, name, str(path), folder) for name in names]


def expanded(
    reference: TaskReference,
    index: Index,
    library: Library,
) -> list[TaskReference]:
    """Return task references for the members of a tag, or of a group that only lists tasks.

    Return any other task reference unchanged, as the only one.
    """
    entry = find_entry(reference.name, index, library)
    if entry.kind == "task":
        return [reference]
    if entry.kind == "group" and not _only_names_members(entry.path, library):
        return [reference]
    check_members(reference.name, index, library)
    if not leaf_names(reference.name, index):
        raise UsageError(
            "names no member",
            where=f"{entry.path}, key `task`",
            fix="list the names of its tasks",
        )
    parts: list[TaskReference] = []
    for member in entry.members:
        single = replace(reference, name=member)
        parts += expanded(single, index, library)
    return list(dict.fromkeys(parts))


def _only_names_members(path: str, library: Library) -> bool:
    """Return True if a group file only lists tasks, and neither aggregates their metrics nor changes them."""
    config = merged_yaml(path, library)
    is_plain = all(isinstance(member, str) for member in config.get("task") or ())
    return is_plain and set(config) <= KEYS_OF_A_LIST


def names_defined(
    config: Mapping[str, Any],
    library: Library,
) -> list[str]:
    """Return the names of the group or the tasks that a file defines, after it is merged with its includes."""
    group = group_name(config, library)
    if group is not None:
        return [group]
    if isinstance(config.get("task"), str):
        names = [config["task"]]
    else:
        names = []
    for item in config.get("task_list") or ():
        names.append(item["task"])
    return names


def known_names(reference: TaskReference, library: Library) -> Index:
    """Return an index of the names that a task may refer to.

    It covers the task's own file, the other files in its folder, and the installed
    package.
    """
    installed = installed_index(library)
    if not reference.path:
        return installed
    own_names = index_of_files([reference.path], library)
    neighbours = index_of_folder(Path(reference.own_folder), library)
    return {**installed, **neighbours, **own_names}


def check_files(
    name: str,
    index: Index,
    library: Library,
) -> None:
    """Check a name, and the user's own files for it, before the library loads them. Raise for the first error.

    Errors are missing tasks, invalid values, wrong includes, and code in files that the
    command does not list.
    """
    folder = library.tasks_folder()
    check_members(name, index, library)
    for leaf in [name, *leaf_names(name, index)]:
        entry = index.get(leaf)
        if entry is None or not entry.path:
            continue
        is_installed = folder is not None and entry.path.startswith(str(folder))
        if not is_installed:
            trust.check(entry.path)
            _check_own_file(entry, library)


def _check_own_file(entry: IndexEntry, library: Library) -> None:
    """Raise for errors in a user's own task or group file."""
    config = merged_yaml(entry.path, library)
    if entry.kind == "group":
        check_group_values(config, entry.path)
        return
    for item in as_list(config.get("task_list")):
        if isinstance(item, Mapping) and item.get("task") == entry.name:
            config = {**config, **item}
    check_task_values(config, entry.path, is_lm_eval=library.module == "lm_eval")


def check_members(
    name: str,
    index: Index,
    library: Library,
    chain: tuple[str, ...] = (),
) -> None:
    """Raise if a group lists a task that no file defines."""
    entry = index.get(name)
    if entry is None or entry.kind != "group" or name in chain:
        return
    for member in _named_members(merged_yaml(entry.path, library).get("task")):
        if member not in index:
            raise UnknownName(
                f"{library.title} task",
                member,
                index,
                where=f"{entry.path}, key `task`",
                hint="no file defines it",
            )
        check_members(member, index, library, (*chain, name))


def _named_members(members: object) -> Iterator[str]:
    """Yield the members of a group that are given by name. Members that are defined inline are left out."""
    for member in as_list(members):
        if isinstance(member, str):
            yield member
        elif isinstance(member, Mapping) and isinstance(member.get("task"), list):
            yield from _named_members(member["task"])


def common_options(loaded: Loaded, read: ReadOptions) -> GenerateOptions:
    """Return the generation options that are the same for all tasks. All others are part of the prompts."""
    options = set()
    for entry in loaded.tasks.values():
        if entry.task.OUTPUT_TYPE == "generate_until":
            where = f"task {entry.name!r}"
            options.add(read(entry.task.config.generation_kwargs or {}, where))
    if len(options) == 1:
        return next(iter(options))
    return DEFAULT_OPTIONS


def run_digest(
    loaded: Loaded,
    settings: TaskSettings,
    library: Library,
) -> str:
    """Return a digest of the loaded tasks, the system prompt and the library's version."""
    parts: list[Any] = [[name, entry.digest] for name, entry in loaded.tasks.items()]
    if settings.system is not None:
        parts.append(settings.system)
    return digest_of([library.version(), parts])[:DIGEST_CHARACTERS]


def protocol_of(
    loaded: Loaded,
    settings: TaskSettings,
    digest: str,
    run: RunOptions,
    library: Library,
) -> str:
    """Return the protocol id, made of the number of shots, the chat template, versions and a digest of the task."""
    shots = sorted({entry.shots for entry in loaded.tasks.values()})
    words = ["-".join(map(str, shots)) + "shot"]
    if settings.chat:
        words.append(
            "chat" if settings.multiturn or not any(shots) else "chat_one_turn"
        )
    if settings.system is not None:
        words.append("system")
    if any(shots) and run.seed is not None:
        words.append(f"seed{run.seed}")
    versions = sorted({entry.version for entry in loaded.tasks.values()} - {""})
    if versions:
        words.append(f"v{'_'.join(versions)}")
    words += [f"{library.module}{library.version()}", digest]
    return f"{library.prefixes[0]}{loaded.name}@{'-'.join(words)}"


def plan_tasks(
    text: str,
    run: RunOptions,
    library: Library,
    make_task: Callable[[TaskReference, TaskSettings, RunOptions], Task],
    *,
    chat: bool = False,
) -> list[Task]:
    """Make the tasks for a name or a file.

    A tag gives several tasks; a group that aggregates metrics gives one.
    """
    bare, shots = split_shots(text)
    settings = TaskSettings.of(run, shots, library, chat)
    tasks = []
    for reference in references_in(bare, library):
        names = known_names(reference, library)
        for single in expanded(reference, names, library):
            tasks.append(make_task(single, settings, run))
    return tasks


def described_task(
    task: Task,
    loaded: Loaded,
    settings: TaskSettings,
    run: RunOptions,
    library: Library,
) -> Task:
    """Copy a task, and fill in the fields that are the same for both libraries, such as the protocol id."""
    digest = run_digest(loaded, settings, library)
    return replace(
        task,
        fewshot=Fewshot(
            max(entry.shots for entry in loaded.tasks.values()),
            multiturn=settings.multiturn,
            seed=run.seed or 0,
        ),
        system=settings.system,
        protocol=protocol_of(loaded, settings, digest, run, library),
        description=description_of(loaded, library),
        data_hint="rows with the columns of the task's own data",
    )


def description_of(loaded: Loaded, library: Library) -> str:
    """Return a short description of a task or group."""
    if loaded.group is not None:
        return f"{library.title} group of {len(loaded.tasks)} tasks"
    [entry] = loaded.tasks.values()
    return f"{library.title} task, {entry.task.OUTPUT_TYPE}"

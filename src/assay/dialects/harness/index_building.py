"""Build an index of task files: all names that they define, read from YAML without importing the library."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...core import UsageError
from .library import Library
from .task_index import Index, IndexEntry, yaml_files
from .task_yaml import FUNCTION, as_list, includes_of, read_yaml


def index_of_folder(folder: Path, library: Library) -> Index:
    """Return an index of the names that all YAML files below a folder define."""
    return index_of_files([path for path, _ in yaml_files(folder)], library)


def index_of_files(
    files: list[str],
    library: Library,
    root: str = "",
) -> Index:
    """Return an index of the names that YAML files define. If several files define a name, the first one counts.

    `root` is the folder with the package's tasks. Each of its subfolders is a family of
    tasks.
    """
    reader = _Reader(library, root)
    index: dict[str, IndexEntry] = {}
    tags: dict[str, list[str]] = {}
    for path in sorted(files):
        if not path.endswith((".yaml", ".yml")):
            continue  # a base file, which others include
        for entry, entry_tags in reader.entries_of(path):
            if entry.name in index:
                continue
            index[entry.name] = entry
            for tag in entry_tags:
                tags.setdefault(tag, []).append(entry.name)
    for tag, members in tags.items():
        if tag not in index:
            index[tag] = IndexEntry(tag, "tag", members=tuple(sorted(members)))
    return index


def files_named(
    name: str,
    folder: Path,
    library: Library,
) -> list[str]:
    """Return the files of a folder that define the task, group or tag called `name`."""
    index = index_of_folder(folder, library)
    entry = index.get(name)
    if entry is None:
        return []
    members = entry.members if entry.kind == "tag" else (name,)
    return [index[member].path for member in members]


def group_name(
    config: Mapping[str, Any],
    library: Library,
) -> str | None:
    """Return the name of the group that a file defines; None if it defines tasks."""
    name = config.get("group")
    if not isinstance(name, str) or "class" in config:
        return None
    is_list = isinstance(config.get("task"), list)
    if is_list or not library.groups_are_lists:
        return name
    return None


class _Reader:
    """Reads the names that YAML files define. A file included by many tasks is read once."""

    def __init__(self, library: Library, root: str) -> None:
        self._library = library
        self._root = root
        self._included: dict[str, dict[str, Any]] = {}

    def entries_of(self, path: str) -> Iterator[tuple[IndexEntry, list[str]]]:
        """Yield each name that a file defines as an index entry, with its tags. A file without names yields nothing."""
        try:
            config = self._merge(path, ())
        except (UsageError, OSError, RecursionError):
            return
        group = group_name(config, self._library)
        if group is not None:
            members = tuple(_member_names(config.get("task")))
            yield IndexEntry(group, "group", path, members=members), []
            return
        shared_tags = _names_in(config.get("tag"))
        if self._library.groups_are_lists:
            shared_tags += _names_in(config.get("group"))
        if isinstance(config.get("task"), str):
            yield self._task_entry(config, path), shared_tags
        for item in as_list(config.get("task_list")):
            if isinstance(item, dict) and isinstance(item.get("task"), str):
                item_config = {**config, **item}
                tags = shared_tags + _names_in(item.get("tag"))
                yield self._task_entry(item_config, path), tags

    def _merge(
        self,
        path: str,
        chain: tuple[str, ...],
    ) -> dict[str, Any]:
        """Return the content of a file merged with the files it includes."""
        if path in chain:
            raise UsageError("include cycle", where=path)
        config = read_yaml(path)
        if "include" not in config:
            return config
        merged: dict[str, Any] = {}
        for include in includes_of(config, self._library):
            base = os.path.normpath(os.path.join(os.path.dirname(path), str(include)))
            if base not in self._included:
                self._included[base] = self._merge(base, (*chain, path))
            merged.update(self._included[base])
        merged.pop("task_list", None)
        merged.update(config)
        return merged

    def _task_entry(
        self,
        config: Mapping[str, Any],
        path: str,
    ) -> IndexEntry:
        metrics = []
        for entry in as_list(config.get("metric_list")):
            if isinstance(entry, dict) and "metric" in entry:
                metrics.append(str(entry["metric"]).removeprefix(FUNCTION))
        functions = list(_functions_in(config))
        dataset = str(config.get("dataset_path") or "")
        if config.get("dataset_name"):
            dataset = f"{dataset} ({config['dataset_name']})"
        shots = config.get("num_fewshot")
        is_class = "class" in config
        output_type = "class" if is_class else "generate_until"
        if self._root:
            family = Path(path).relative_to(self._root).parts[0]
        else:
            family = ""
        return IndexEntry(
            name=str(config["task"]),
            kind="task",
            path=path,
            output_type=str(config.get("output_type") or output_type),
            metrics=tuple(metrics),
            dataset=dataset,
            num_fewshot=shots if isinstance(shots, int) else None,
            is_unsafe=bool(config.get("unsafe_code")),
            functions=tuple(dict.fromkeys(functions)),
            description=str(config.get("task_alias") or ""),
            family=family,
        )


def _functions_in(value: object) -> Iterator[str]:
    """Yield the function names after `!function` in a configuration, at any depth."""
    if isinstance(value, str):
        if value.startswith(FUNCTION):
            yield value.removeprefix(FUNCTION)
    elif isinstance(value, Mapping):
        for entry in value.values():
            yield from _functions_in(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _functions_in(entry)


def _member_names(members: object) -> Iterator[str]:
    """Yield the names in a group's `task` list, including those inside inline groups."""
    for member in as_list(members):
        if isinstance(member, str):
            yield member
        elif isinstance(member, dict):
            tasks = member.get("task")
            name = member.get("group") or tasks
            if isinstance(tasks, list):
                yield from _member_names(tasks)
            elif isinstance(name, str):
                yield name


def _names_in(value: object) -> list[str]:
    return [str(name) for name in as_list(value)]

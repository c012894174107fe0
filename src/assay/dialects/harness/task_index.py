"""The names of a library's task folder, read from its YAML files without importing the library.

`!function` is not resolved. The index of the installed package is stored in a file, which is valid as long as no
task file changes its time or size.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import yaml

from ...core import UnknownName, UsageError
from .library import Library

FORMAT = 6
"""Version of the stored file's format."""
IGNORED_FOLDERS = frozenset({"__pycache__", ".ipynb_checkpoints"})
FUNCTION = "!function "
LARGEST_FILE = 4 * 2**20
"""Size limit of one YAML file in bytes. The largest file of lm-eval has 0.3 MB."""
MOST_ALIASES = 40
MOST_NESTED = 50


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One name: a task, a group of tasks, or a tag shared by several tasks."""

    name: str
    kind: str
    """`task`, `group` or `tag`."""
    path: str = ""
    """The YAML file; empty for a tag."""
    output_type: str = ""
    metrics: tuple[str, ...] = ()
    dataset: str = ""
    members: tuple[str, ...] = ()
    """For a group or a tag, the names of its tasks and groups."""
    num_fewshot: int | None = None
    is_unsafe: bool = False
    functions: tuple[str, ...] = ()
    """Functions that the task takes from Python files."""
    description: str = ""
    family: str = ""
    """The folder of the package that holds the task."""


Index = Mapping[str, IndexEntry]


@dataclass(frozen=True, slots=True)
class _KeptIndex:
    """The stored index."""

    state: str
    """Digest of the times and sizes of all task files."""
    entries: list[IndexEntry]


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A YAML loader that keeps `!function` as a text."""


def _function_text(loader: object, suffix: str, node: Any) -> str:
    value = node.value if isinstance(node.value, str) else ""
    return f"!{suffix} {value}"


_Loader.add_multi_constructor("!", _function_text)


def installed_index(library: Library) -> Index:
    """Return all names of the installed package, from the stored index if it is current; empty without the package."""
    folder = library.tasks_folder()
    return {} if folder is None else kept_index(library, folder)


@cache
def kept_index(library: Library, folder: Path) -> Index:
    """Return all names in a folder of the library, from the stored index if it is current."""
    files = list(_yaml_files(folder))
    state = _state_of(files)
    cache_file = _cache_folder() / f"{library.module}_{_short(str(folder))}.json"
    stored = _read_kept(cache_file, state)
    if stored is not None:
        return stored
    index = index_of_files([path for path, _ in files], library, str(folder))
    _keep(cache_file, state, index)
    return index


def index_of_folder(folder: Path, library: Library) -> Index:
    """Return all names that the YAML files of a folder define."""
    return index_of_files([path for path, _ in _yaml_files(folder)], library)


def index_of_files(files: list[str], library: Library, root: str = "") -> Index:
    """Return the names that YAML files define. If two are equal, the first one counts.

    `root` is the folder of the package, whose subfolders are families of tasks.
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


def files_named(name: str, folder: Path, library: Library) -> list[str]:
    """Return the files of a folder that define a task, a group or the tasks of a tag."""
    index = index_of_folder(folder, library)
    entry = index.get(name)
    if entry is None:
        return []
    members = entry.members if entry.kind == "tag" else (name,)
    return [index[member].path for member in members]


def find_entry(name: str, index: Index, library: Library) -> IndexEntry:
    """Return the entry of a name. For an unknown name, raise with the nearest one."""
    entry = index.get(name)
    if entry is None:
        raise UnknownName(
            f"{library.title} task",
            name,
            index,
            hint=f"`assay ls {library.module}` prints all {len(index)}",
        )
    return entry


def leaf_names(name: str, index: Index, chain: tuple[str, ...] = ()) -> list[str]:
    """Return the names of the tasks in a group or tag, in order; a task that is not in the index keeps its name."""
    if name in chain:
        names = " -> ".join((*chain, name))
        raise UsageError(f"group {name!r} holds itself: {names}", where=name)
    entry = index.get(name)
    if entry is None or entry.kind == "task":
        return [name]
    leaves: list[str] = []
    for member in entry.members:
        leaves += leaf_names(member, index, (*chain, name))
    return leaves


def different_leaf_names(name: str, index: Index) -> list[str]:
    """Return the names of the tasks in a group or tag. Raise if a task occurs twice."""
    leaves = leaf_names(name, index)
    for leaf in leaves:
        if leaves.count(leaf) > 1:
            raise UsageError(
                f"holds the task {leaf!r} twice",
                where=f"group {name!r}",
                fix="name each task once in the group",
            )
    return leaves


def read_yaml(path: str | Path) -> dict[str, Any]:
    """Return one YAML file as a dictionary, or raise with the file and the line."""
    file = Path(path)
    if file.stat().st_size > LARGEST_FILE:
        raise UsageError(
            f"larger than {LARGEST_FILE // 2**20} MB, which no task file is",
            where=str(path),
        )
    try:
        loaded = yaml.load(file.read_bytes(), Loader=_Loader)  # noqa: S506 - a SafeLoader
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        problem = getattr(error, "problem", None) or error
        raise UsageError(f"not valid YAML: {problem}", where=where) from error
    if not isinstance(loaded, dict):
        raise UsageError("not a task: it holds no keys", where=str(path))
    return loaded


def merged_yaml(
    path: str | Path,
    library: Library,
    prepare: Callable[[dict[str, Any], Path], dict[str, Any]] | None = None,
    chain: tuple[Path, ...] = (),
) -> dict[str, Any]:
    """Return a file merged with the files it includes. Raise for a cycle or a missing file.

    `prepare` is called with each file and its path before it is merged.
    """
    file = Path(path).expanduser().resolve()
    if file in chain:
        names = " -> ".join(entry.name for entry in (*chain, file))
        raise UsageError(f"include cycle: {names}", where=f"{chain[0]}, key `include`")
    _check_size(file)
    config = read_yaml(file)
    includes = _includes_of(config, library)
    if prepare is not None:
        config = prepare(config, file)
    merged: dict[str, Any] = {}
    for include in includes:
        base = file.parent / str(include)
        if not base.is_file():
            raise UsageError(
                f"includes {include!r}, which does not exist",
                where=f"{file}, key `include`",
                fix="check the path: it is relative to the file",
            )
        below = merged_yaml(base, library, prepare, (*chain, file))
        below.pop("task_list", None)
        merged.update(below)
    merged.update(config)
    return merged


def _check_size(file: Path) -> None:
    """Raise for a file whose aliases or nesting would grow without bound when it is copied or printed."""
    aliases = depth = 0
    try:
        for event in yaml.parse(file.read_bytes(), Loader=_Loader):
            aliases += isinstance(event, yaml.AliasEvent)
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if aliases > MOST_ALIASES or depth > MOST_NESTED:
                raise UsageError(
                    f"more than {MOST_ALIASES} aliases, or nested more than {MOST_NESTED} deep",
                    where=str(file),
                    fix="write the values out",
                )
    except yaml.YAMLError:
        return  # `read_yaml` says where


def _includes_of(config: dict[str, Any], library: Library) -> list[Any]:
    """Remove the included files from a configuration, and return them in the order in which they are merged."""
    includes = _as_list(config.pop("include", None))
    return includes[::-1] if library.first_include_wins else includes


def group_name(config: Mapping[str, Any], library: Library) -> str | None:
    """Return the name of the group that a file defines; None if it defines tasks."""
    name = config.get("group")
    if not isinstance(name, str) or "class" in config:
        return None
    is_list = isinstance(config.get("task"), list)
    return name if is_list or not library.groups_are_lists else None


class _Reader:
    """Reads the names that files define. A base file shared by many tasks is read once."""

    def __init__(self, library: Library, root: str) -> None:
        self._library = library
        self._root = root
        self._included: dict[str, dict[str, Any]] = {}

    def entries_of(self, path: str) -> Iterator[tuple[IndexEntry, list[str]]]:
        """Yield the entries that one file defines, with their tags. A base file without a name yields nothing."""
        try:
            config = self._merged(path, ())
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
        for item in _as_list(config.get("task_list")):
            if isinstance(item, dict) and isinstance(item.get("task"), str):
                item_config = {**config, **item}
                tags = shared_tags + _names_in(item.get("tag"))
                yield self._task_entry(item_config, path), tags

    def _merged(self, path: str, chain: tuple[str, ...]) -> dict[str, Any]:
        """Return a file with its includes."""
        if path in chain:
            raise UsageError("include cycle", where=path)
        config = read_yaml(path)
        if "include" not in config:
            return config
        merged: dict[str, Any] = {}
        for include in _includes_of(config, self._library):
            base = os.path.normpath(os.path.join(os.path.dirname(path), str(include)))
            if base not in self._included:
                self._included[base] = self._merged(base, (*chain, path))
            merged.update(self._included[base])
        merged.pop("task_list", None)
        merged.update(config)
        return merged

    def _task_entry(self, config: Mapping[str, Any], path: str) -> IndexEntry:
        metrics = []
        for entry in _as_list(config.get("metric_list")):
            if isinstance(entry, dict) and "metric" in entry:
                metrics.append(str(entry["metric"]).removeprefix(FUNCTION))
        functions = list(_functions_in(config))
        dataset = str(config.get("dataset_path") or "")
        if config.get("dataset_name"):
            dataset = f"{dataset} ({config['dataset_name']})"
        shots = config.get("num_fewshot")
        is_class = "class" in config
        output_type = "class" if is_class else "generate_until"
        family = Path(path).relative_to(self._root).parts[0] if self._root else ""
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
    """Yield the functions that a configuration names after `!function`, at any depth."""
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
    """Yield the names in a group's `task` list, with inline groups flattened."""
    for member in _as_list(members):
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
    return [str(name) for name in _as_list(value)]


def _as_list(value: object) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def _yaml_files(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the YAML files below a folder with their file status."""
    waiting = [str(folder)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir():
                    if entry.name not in IGNORED_FOLDERS:
                        waiting.append(entry.path)
                elif entry.name.endswith((".yaml", ".yml", "_yaml")):
                    yield entry.path, entry.stat()


def _state_of(files: list[tuple[str, os.stat_result]]) -> str:
    digest = hashlib.sha256(str(FORMAT).encode())
    for path, stat in sorted(files, key=lambda file: file[0]):
        digest.update(f"{path}\0{stat.st_mtime_ns}\0{stat.st_size}\n".encode())
    return digest.hexdigest()


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "assay"


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _read_kept(file: Path, state: str) -> Index | None:
    try:
        stored = msgspec.json.decode(file.read_bytes(), type=_KeptIndex)
    except (OSError, msgspec.MsgspecError):
        return None
    if stored.state != state:
        return None
    return {entry.name: entry for entry in stored.entries}


def _keep(file: Path, state: str, index: Index) -> None:
    """Store the index with the other caches. If the folder is not writable, nothing is stored."""
    document = msgspec.json.encode(_KeptIndex(state, list(index.values())))
    temporary = file.with_suffix(f".{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(document)
        temporary.replace(file)
    except OSError:
        return

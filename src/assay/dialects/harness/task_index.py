"""Find the names of a library's tasks without importing the library.

The index of the installed package is stored in a file. It stays valid until the time or
size of a task file changes. `index_building` builds it from the YAML files.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import msgspec

from ...core import UnknownName, UsageError
from .library import Library

FORMAT = 7
"""Version of the stored file's format."""
IGNORED_FOLDERS = frozenset({"__pycache__", ".ipynb_checkpoints"})
TASK_SUFFIXES = (".yaml", ".yml", "_yaml")


class IndexEntry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A name in the index: of a task, a group of tasks, or a tag that several tasks share."""

    name: str
    kind: str
    """`task`, `group` or `tag`."""
    path: str = ""
    """The YAML file; empty for a tag."""
    output_type: str = ""
    metrics: tuple[str, ...] = ()
    dataset: str = ""
    members: tuple[str, ...] = ()
    """For a group or a tag, the names of the tasks and groups in it."""
    num_fewshot: int | None = None
    is_unsafe: bool = False
    functions: tuple[str, ...] = ()
    """Functions of helper modules that the task file declares with `!function`."""
    description: str = ""
    family: str = ""
    """The folder of the package that contains the task."""


Index = Mapping[str, IndexEntry]


class _KeptIndex(msgspec.Struct, frozen=True, array_like=True):
    """The contents of a stored index."""

    state: str
    """Digest of the times and sizes of all task files."""
    entries: list[IndexEntry]


def installed_index(library: Library) -> Index:
    """Return the index of the installed package, from the cache if it is current. It is empty without the package."""
    folder = library.tasks_folder()
    if folder is None:
        return {}
    return kept_index(library, folder)


@cache
def kept_index(library: Library, folder: Path) -> Index:
    """Return the index of a folder of tasks. The stored index is used if it is current; otherwise it is rebuilt."""
    files = list(yaml_files(folder))
    state = _state_of(files)
    cache_file = _cache_folder() / f"{library.module}_{_short(str(folder))}.json"
    stored = _read_kept(cache_file, state)
    if stored is not None:
        return stored
    # Import PyYAML only if an index must be built.
    from .index_building import index_of_files

    index = index_of_files([path for path, _ in files], library, str(folder))
    _keep(cache_file, state, index)
    return index


def find_entry(
    name: str,
    index: Index,
    library: Library,
) -> IndexEntry:
    """Return the entry of a name. For an unknown name, raise an error that suggests the nearest one."""
    entry = index.get(name)
    if entry is None:
        raise UnknownName(
            f"{library.title} task",
            name,
            index,
            hint=f"`assay ls {library.module}` prints all {len(index)}",
        )
    return entry


def leaf_names(
    name: str,
    index: Index,
    chain: tuple[str, ...] = (),
) -> list[str]:
    """Return the names of all tasks in a group or tag, including nested groups.

    The order is kept. A name that is not in the index counts as a task.
    """
    if name in chain:
        names = " -> ".join((*chain, name))
        raise UsageError(f"group {name!r} contains itself: {names}", where=name)
    entry = index.get(name)
    if entry is None or entry.kind == "task":
        return [name]
    leaves: list[str] = []
    for member in entry.members:
        leaves += leaf_names(member, index, (*chain, name))
    return leaves


def different_leaf_names(name: str, index: Index) -> list[str]:
    """Return the task names in a group or tag, at any depth. Raise if a task occurs twice."""
    leaves = leaf_names(name, index)
    for leaf in leaves:
        if leaves.count(leaf) > 1:
            raise UsageError(
                f"contains the task {leaf!r} twice",
                where=f"group {name!r}",
                fix="name each task once in the group",
            )
    return leaves


def yaml_files(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the YAML files below a folder with their modification time and size.

    Links are followed, but each folder is read only once.
    """
    waiting = [str(folder)]
    linked = {os.path.realpath(folder)}
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir():
                    if entry.name in IGNORED_FOLDERS:
                        continue
                    if entry.is_symlink():
                        target = os.path.realpath(entry.path)
                        if target in linked:
                            continue
                        linked.add(target)
                    waiting.append(entry.path)
                elif entry.name.endswith(TASK_SUFFIXES):
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


def _keep(
    file: Path,
    state: str,
    index: Index,
) -> None:
    """Store the index in assay's cache folder. Do nothing if the folder is not writable."""
    document = msgspec.json.encode(_KeptIndex(state, list(index.values())))
    temporary = file.with_suffix(f".{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(document)
        temporary.replace(file)
    except OSError:
        return

"""Read YAML files of a library's tasks, and merge them with the files that they include.

`!function NAME` becomes a string.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from ...core import UsageError
from .library import Library

FUNCTION = "!function "
LARGEST_FILE = 4 * 2**20
"""Size limit of one YAML file in bytes. The largest file of lm-eval has 0.3 MB."""
MOST_ALIASES = 40
MOST_NESTED = 50


class TaskLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A YAML loader that reads `!function NAME` as a string."""


def _function_text(
    loader: object,
    suffix: str,
    node: yaml.ScalarNode,
) -> str:
    value = node.value if isinstance(node.value, str) else ""
    return f"!{suffix} {value}"


TaskLoader.add_multi_constructor("!", _function_text)


def read_yaml(path: str | Path) -> dict[str, Any]:
    """Return one YAML file as a dictionary. If it is invalid, raise with the file and the line."""
    file = Path(path)
    if file.stat().st_size > LARGEST_FILE:
        raise UsageError(
            f"larger than {LARGEST_FILE // 2**20} MB, which no task file is",
            where=str(path),
        )
    data = file.read_bytes()
    if data.count(b"*") > MOST_ALIASES:
        _check_size(file)
    try:
        loaded = yaml.load(data, Loader=TaskLoader)  # noqa: S506 - a SafeLoader
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        problem = getattr(error, "problem", None) or error
        raise UsageError(f"not valid YAML: {problem}", where=where) from error
    if not isinstance(loaded, dict):
        raise UsageError("not a task: it has no keys", where=str(path))
    return loaded


def merged_yaml(
    path: str | Path,
    library: Library,
    prepare: Callable[[dict[str, Any], Path], dict[str, Any]] | None = None,
    chain: tuple[Path, ...] = (),
) -> dict[str, Any]:
    """Return the content of a file merged with its includes. Raise for a cycle or a missing file.

    `prepare` is applied to the content of each file before the merge; it also takes the
    file's path.
    """
    file = Path(path).expanduser().resolve()
    if file in chain:
        names = " -> ".join(entry.name for entry in (*chain, file))
        raise UsageError(f"include cycle: {names}", where=f"{chain[0]}, key `include`")
    _check_size(file)
    config = read_yaml(file)
    includes = includes_of(config, library)
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
    """Raise for a file with more aliases or nested values than allowed, which could be huge when expanded."""
    aliases = depth = 0
    try:
        for event in yaml.parse(file.read_bytes(), Loader=TaskLoader):
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
        return  # `read_yaml` reports the location


def includes_of(
    config: dict[str, Any],
    library: Library,
) -> list[Any]:
    """Remove the key `include` from a configuration, and return the included files in the order of merging."""
    includes = as_list(config.pop("include", None))
    if library.first_include_wins:
        return includes[::-1]
    return includes


def as_list(value: object) -> list[Any]:
    """Return a value as a list; None becomes an empty list."""
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        return list(value)
    return [value]

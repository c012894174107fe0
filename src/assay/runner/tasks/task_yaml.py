"""Tasks in YAML, which contains data, never code. Names are looked up in the registries.

Errors name the nearest known key. `read_task_file` reads every key by itself, so that all errors are listed at once:

    dataset: rows.jsonl          a path, resolved from the folder of the task file
    scorer: score.py:exact       an alias of `scorers`, with a reference that is resolved in the same way
    options: {max_tokens: 64}    becomes `GenerateOptions`
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml

from ...code.userfiles import is_reference, split_reference
from ...core import (
    DEFAULT_OPTIONS,
    AssayError,
    Fewshot,
    GenerateOptions,
    Task,
    UsageError,
    shorten,
    suggest,
)
from ...core.spec import is_prompt_file
from ..option_fields import PartlyRead

ALIASES = {
    "scorer": "scorers",
    "summarizer": "summarizers",
    "data": "dataset",
    "prompt": "template",
}
KINDS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "name": ((str,), "a text"),
    "dataset": ((str, list), "a path, or a list of rows"),
    "template": ((str, list, dict), "a text, messages, or a template's name"),
    "scorers": ((str, list, dict), "a scorer's name, or a list of them"),
    "summarizers": ((str, list, dict), "a summarizer's name, or a list of them"),
    "options": ((dict,), "keys and values, as max_tokens: 64"),
    "fewshot": ((dict, int), "a number of shots, or keys and values, as num: 5"),
    "columns": ((dict,), "keys and values, as target: gold"),
    "roles": ((dict,), "keys and values, as Question: user"),
    "tools": ((str, list), "a tool's name, or a list of them"),
    "mcp": ((str, list), "the command of an MCP server, or a list of them"),
    "user": ((str,), "a text that says who talks with the model"),
    "tool_choice": ((str,), "auto, none, required, or the name of a tool"),
    "limits": ((dict,), "keys and values, as turns: 10"),
    "measures": (
        (str, list),
        "a standard measure's name, or a list of them, the best first",
    ),
    "epochs": ((int,), "a whole number"),
    "tags": ((str, list), "a column, or a list of them"),
    "produces": ((list,), "a list, as [text]"),
    "needs": ((list,), "a list, as [image]"),
    "system": ((str,), "a text"),
    "cluster": ((str,), "a column"),
    "headline": ((str,), "the name of a metric"),
    "subset": ((str,), "a value of one of its tags"),
}
MAX_DEPTH = 50
_CODE_ONLY = frozenset({"to_sample", "driver", "models", "hints", "state"})
"""Fields that only Python code can set. A YAML task file contains only data."""
OF_THE_RUN = frozenset({"foreign", "origin"})
"""Fields that assay sets during a run. Authors of tasks cannot set them."""


def read_task_file(path: Path) -> Task:
    """Return the task in a YAML file. Raise `PartlyRead` with all errors.

    Relative data paths are resolved from the folder of the file.
    """
    plain = load_yaml(path)
    if not isinstance(plain, Mapping):
        raise UsageError(
            "a task file must have keys and values",
            where=str(path),
            fix="write lines such as `dataset: rows.jsonl`",
        )
    names = {f.name for f in fields(Task)} - _CODE_ONLY - OF_THE_RUN
    faults: list[AssayError] = []
    values: dict[str, Any] = {}
    for key, value in plain.items():
        name = ALIASES.get(str(key), str(key).replace("-", "_"))
        if name not in names:
            fix = suggest(name, sorted(names | set(ALIASES)), "known keys:")
            faults.append(
                UsageError(
                    f"unknown key {key!r}",
                    where=str(path),
                    fix=fix,
                )
            )
        elif value is not None:
            try:
                _check_kind(name, value, path)
                values[name] = _read(name, value, path, faults)
            except UsageError as error:
                faults.append(error)
    values.setdefault("name", path.stem)
    task = Task(**values)
    if faults:
        # Without data nothing more can be checked: the key of the data may be misspelled.
        raise PartlyRead(faults, [] if task.dataset is None else [task])
    return task


def _check_kind(
    name: str,
    value: object,
    path: Path,
) -> None:
    """Raise if a value does not have the type that its key requires."""
    if name not in KINDS:
        return
    kinds, expected = KINDS[name]
    # In Python, true and false are integers, too.
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise UsageError(
            f"key {name!r} holds {shorten(value)}",
            where=str(path),
            fix=f"write {expected}",
        )


def _read(
    name: str,
    value: Any,
    path: Path,
    faults: list[AssayError],
) -> object:
    """Convert the value of one key. Invalid parts are left out, and their errors are added to `faults`."""
    entries = value if isinstance(value, list) else [value]
    if name == "dataset":
        return _beside(value, path)
    if name == "fewshot":
        return _fewshot(value, path, faults)
    if name == "options":
        return _generation(value, path, faults)
    if name in ("tags", "produces"):
        return tuple(entries)
    if name == "needs":
        return frozenset(value)
    if name == "tools":
        return tuple(_reference_beside(entry, path) for entry in entries)
    if name in ("scorers", "summarizers"):
        return tuple(
            _prompt_beside(_reference_beside(entry, path), path) for entry in entries
        )
    if name == "template":
        return _reference_beside(value, path)
    return value


def _fewshot(
    plain: Mapping[str, Any] | int,
    path: Path,
    faults: list[AssayError],
) -> Fewshot:
    """Return the few-shot settings in a task file. Errors are added to `faults`."""
    if isinstance(plain, int):
        return Fewshot(plain)
    names = {f.name for f in fields(Fewshot)}
    values: dict[str, Any] = {}
    for key, value in plain.items():
        if key in names:
            values[key] = value
            continue
        fix = suggest(str(key), sorted(names), "known keys:")
        faults.append(
            UsageError(
                f"unknown key {key!r} under fewshot",
                where=str(path),
                fix=fix,
            )
        )
    if "pick" in values:
        values["pick"] = _reference_beside(values["pick"], path)
    values["source"] = _beside(values.get("source"), path)
    return Fewshot(**values)


def _generation(
    plain: Mapping[str, Any],
    path: Path,
    faults: list[AssayError],
) -> GenerateOptions:
    """Return the generation options in a task file. Errors are added to `faults`."""
    options = DEFAULT_OPTIONS
    for name, value in plain.items():
        try:
            options = options.set(**{str(name): value})
        except UsageError as error:
            faults.append(
                UsageError(
                    error.what,
                    where=str(path),
                    fix=error.fix,
                )
            )
    return options


class WrittenRows(list[Any]):
    """Rows that are part of a task file. Relative paths to their media start from the task file's folder."""

    folder: Path


def _beside(value: object, path: Path) -> object:
    """Resolve a data path from the folder of the task file, if it exists there."""
    if isinstance(value, list):
        rows = WrittenRows(value)
        rows.folder = path.parent
        return rows
    if isinstance(value, str) and (path.parent / value).exists():
        return path.parent / value
    return value


def _reference_beside(value: object, path: Path) -> object:
    """Resolve `file.py:fn` relative to the task file's folder. Raise if the file is outside that folder."""
    if isinstance(value, Mapping):
        if "name" in value:
            return {**value, "name": _reference_beside(value["name"], path)}
        return {
            _reference_beside(name, path): options for name, options in value.items()
        }
    if not isinstance(value, str) or not is_reference(value):
        return value
    _refuse_outside(split_reference(value)[0], value, path, "code", "the Python file")
    return str(path.parent / value)


def _prompt_beside(entry: object, path: Path) -> object:
    """Resolve a scorer's option `prompt` relative to the task file's folder.

    Raise if the file is outside that folder.
    """
    if not isinstance(entry, Mapping):
        return entry
    if "name" not in entry:
        return {name: _prompt_beside(options, path) for name, options in entry.items()}
    prompt = entry.get("prompt")
    if not isinstance(prompt, str) or not is_prompt_file(prompt):
        return entry
    _refuse_outside(prompt, prompt, path, "prompt", "the prompt")
    return {**entry, "prompt": str(path.parent / prompt)}


def _refuse_outside(
    file: str,
    typed: str,
    path: Path,
    what: str,
    which: str,
) -> None:
    """Raise if a file is outside the folder of the task file."""
    folder = path.parent.resolve()
    if not (folder / file).resolve().is_relative_to(folder):
        raise UsageError(
            f"names {what} outside its own folder: {shorten(typed)}",
            where=str(path),
            fix=f"put {which} beside the task file",
        )


def load_yaml(path: Path) -> object:
    """Load a YAML file strictly, as plain data."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read: {error}", where=str(path)) from error
    try:
        for depth, event in _depths(text):
            if depth > MAX_DEPTH:
                raise UsageError(f"nested more than {MAX_DEPTH} deep", where=str(path))
            if isinstance(event, yaml.events.AliasEvent):
                line = event.start_mark.line + 1 if event.start_mark else 1
                raise UsageError(
                    "uses an alias (*name)",
                    where=f"{path}:{line}",
                    fix="write the value out",
                )
        return yaml.load(text, Loader=_StrictLoader)  # noqa: S506 - a SafeLoader, made stricter
    except yaml.YAMLError as error:
        problem_mark = getattr(error, "problem_mark", None)
        mark = problem_mark or getattr(error, "context_mark", None)
        raise UsageError(
            f"not valid YAML: {getattr(error, 'problem', error)}",
            where=f"{path}:{mark.line + 1}" if mark else str(path),
            fix="correct that line; indent with spaces, and quote texts with punctuation in them",
        ) from error


def _depths(text: str) -> Iterator[tuple[int, yaml.events.Event]]:
    """Parse YAML, and yield each parser event with its nesting depth."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.events.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.events.CollectionEndEvent):
            depth -= 1
        yield depth, event


class _StrictLoader(yaml.SafeLoader):
    """YAML loader for plain data: rejects repeated keys and aliases, and keeps `no`, `0123` and `12:30` as text."""


_StrictLoader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if tag in ("tag:yaml.org,2002:null", "tag:yaml.org,2002:merge")
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _resolve_scalar(
    tag: str,
    pattern: str,
    first: str,
) -> None:
    """Let the loader convert unquoted values that match a pattern to the type `tag`.

    `first` contains the characters that such values can begin with.
    """
    _StrictLoader.add_implicit_resolver(tag, re.compile(pattern), list(first))


_resolve_scalar("tag:yaml.org,2002:bool", r"^(?:true|false)$", "tf")
_resolve_scalar("tag:yaml.org,2002:int", r"^(?:0|-?[1-9][0-9]*)$", "-0123456789")
_resolve_scalar(
    "tag:yaml.org,2002:float",
    r"^-?(?:0|[1-9][0-9]*)\.[0-9]+$",
    "-0123456789",
)


def _mapping(
    loader: _StrictLoader,
    node: yaml.MappingNode,
    deep: bool = False,
) -> dict[Any, Any]:
    """Build a mapping. Raise for a key that occurs twice."""
    lines: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)  # type: ignore[no-untyped-call]
        if key in lines:
            raise yaml.constructor.ConstructorError(
                None,
                None,
                f"key {key!r} is given twice",
                key_node.start_mark,
            )
        lines[key] = loader.construct_object(value_node, deep=True)  # type: ignore[no-untyped-call]
    return lines


_StrictLoader.add_constructor("tag:yaml.org,2002:map", _mapping)

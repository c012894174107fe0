"""Read a registry tree as data: every entry of every YAML file, with its class, its arguments and line numbers.

No class is imported. Links to entries that do not exist are found here, before anything
runs.
"""

import difflib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ...core import (
    AssayError,
    PlanError,
    UnknownName,
    UsageError,
    nearest,
    shorten,
    suggest,
)
from ..shapes import Fields
from .claims import KINDS, kinds_in, yaml_files

LINKS: Mapping[str, tuple[str, ...]] = {
    "infer_task": ("dataset", "template", "model", "eval_task"),
    "eval_task": ("evaluator", "summarizer"),
}
"""For each kind of entry, the arguments that refer to other entries. The argument `model` refers to a `model` entry."""
OFFLINE_LINKS: Mapping[str, str] = {"llm_name": "model", "template": "template"}
"""Arguments of an offline judge that refer to other entries, each with the kind of the other entry."""
PARTS = ("class", "args")
"""The keys of an entry in a YAML file."""
MERGE = "tag:yaml.org,2002:merge"
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The faster loader of libyaml, if it is available: upstream's registry has hundreds of entries."""
RESERVED = ("key", "group", "cls")


@dataclass(frozen=True, slots=True)
class Entry:
    """One named entry of a tree."""

    kind: str
    name: str
    cls: str
    """The dotted path of the entry's class; empty for an entry that is only configuration."""
    args: Fields
    file: Path
    line: int
    lines: Mapping[str, int] = field(default_factory=dict)
    """The line numbers of `class` and of each argument in the YAML file."""

    def at(self, part: str = "") -> str:
        """Return `file:line` of this entry. With `part`, return the line of `class` or of an argument."""
        return f"{self.file}:{self.lines.get(part, self.line)}"


@dataclass(frozen=True, slots=True)
class Tree:
    """All entries of one registry, by kind and name."""

    folder: Path
    entries: Mapping[str, Mapping[str, Entry]]

    @property
    def root(self) -> Path:
        """The folder that contains the registry and `src/`. Relative data paths start there."""
        return self.folder.parent

    def names(self, kind: str) -> list[str]:
        """Return the names of all entries of a kind, in the order of the files."""
        return list(self.entries.get(kind, {}))

    def get(
        self,
        kind: str,
        name: object,
        where: str | None = None,
    ) -> Entry:
        """Return the entry of a kind with this name. For an unknown name, raise with its location and similar names."""
        entries = self.entries.get(kind, {})
        if not isinstance(name, str) or name not in entries:
            raise dangling(kind, name, entries, where)
        return entries[name]

    def follow(
        self,
        entry: Entry,
        skipped: Collection[str] = (),
    ) -> tuple[list[Entry], list[AssayError]]:
        """Return the entries that this entry links to, and one error for each broken link."""
        links = {argument: argument for argument in LINKS.get(entry.kind, ())}
        if entry.kind == "evaluator" and entry.cls.endswith(".LLMOfflineScorer"):
            links |= OFFLINE_LINKS
        linked: list[Entry] = []
        faults: list[AssayError] = []
        for argument, kind in links.items():
            value = entry.args.get(argument)
            if argument in skipped or value is None:
                continue
            for name in value if isinstance(value, list) else [value]:
                try:
                    linked.append(self.get(kind, name, entry.at(argument)))
                except AssayError as fault:
                    faults.append(fault)
        return linked, faults

    def reached(
        self,
        entries: Iterable[Entry],
        skipped: Collection[str] = (),
    ) -> tuple[list[Entry], list[AssayError]]:
        """Return the entries and all that they link to, directly or indirectly, with an error for each broken link.

        For an infer_task, the links in the arguments `skipped` are not followed.
        """
        reached: dict[tuple[str, str], Entry] = {}
        faults: list[AssayError] = []
        waiting = list(entries)
        while waiting:
            entry = waiting.pop(0)
            if (entry.kind, entry.name) in reached:
                continue
            reached[entry.kind, entry.name] = entry
            is_task = entry.kind == "infer_task"
            linked, missing = self.follow(entry, skipped if is_task else ())
            waiting += linked
            faults += missing
        return list(reached.values()), faults

    def all(self) -> Iterator[Entry]:
        """Yield all entries, grouped by kind."""
        return (
            entry for kind in KINDS for entry in self.entries.get(kind, {}).values()
        )


def dangling(
    kind: str,
    name: object,
    entries: Iterable[str],
    where: str | None,
) -> UnknownName:
    """Build the error for a link to an entry that does not exist, with up to three similar names."""
    names = list(entries)
    close = difflib.get_close_matches(str(name), names)
    if len(close) > 1:
        others = f"near: {', '.join(close)}"
    else:
        listed = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
        others = f"the registry has {listed or 'none'}"
    return UnknownName(
        kind,
        str(name),
        names,
        where=where,
        hint=others,
    )


def read_tree(path: Path) -> Tree:
    """Read the tree of a registry folder, of the folder around it, or of one of its files."""
    folder = _registry_folder(path)
    entries: dict[str, dict[str, Entry]] = {}
    faults: list[AssayError] = []
    for kind in KINDS:
        of_kind = entries.setdefault(kind, {})
        for file in yaml_files(folder / kind):
            try:
                for entry in read_file(file, kind):
                    first = of_kind.setdefault(entry.name, entry)
                    if first is not entry:
                        faults.append(
                            UsageError(
                                f"{kind} {entry.name!r} is defined twice",
                                where=entry.at(),
                                fix=f"also at {first.at()}",
                            )
                        )
            except AssayError as fault:
                faults.append(fault)
    if faults:
        raise faults[0] if len(faults) == 1 else PlanError(faults)
    return Tree(folder, entries)


def _registry_folder(path: Path) -> Path:
    resolved = path.expanduser().resolve()
    if resolved.is_file():
        return resolved.parent.parent
    if not kinds_in(resolved) and kinds_in(resolved / "registry"):
        return resolved / "registry"
    return resolved


def read_file(
    file: Path,
    kind: str,
) -> Iterator[Entry]:
    """Yield the entries of one YAML file."""
    try:
        loader = LOADER(file.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read: {error}", where=str(file)) from error
    try:
        node = loader.get_single_node()
        if node is None:
            return
        merged = {id(mapping) for mapping in _merged(node)}
        for name, line, value in _pairs(
            node, file, "a registry file holds names and their entries"
        ):
            if id(value) not in merged or _is_entry(value):
                yield _entry(
                    kind,
                    name,
                    value,
                    file,
                    line,
                    loader.construct_document,
                )
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{file}:{mark.line + 1}" if mark else str(file)
        problem = getattr(error, "problem", error)
        raise UsageError(f"not valid YAML: {problem}", where=where) from error
    finally:
        loader.dispose()


def _merged(node: object) -> Iterator[yaml.Node]:
    """Yield the mappings that other mappings include with `<<`."""
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if key.tag == MERGE:
            yield from value.value if isinstance(value, yaml.SequenceNode) else (value,)
        yield from _merged(value)


def _is_entry(node: yaml.Node) -> bool:
    """Return True if a YAML mapping has `class` or `args`, even misspelled.

    A mapping without them exists only to be included with `<<`.
    """
    keys = [name for name, _, _ in _pairs(node, Path(), "")]
    return any(nearest(key, PARTS) is not None for key in keys)


def _entry(
    kind: str,
    name: str,
    node: yaml.Node,
    file: Path,
    line: int,
    construct: Callable[[yaml.Node], Any],
) -> Entry:
    """Read one entry. Raise for a reserved name, an unknown part, or a part of the wrong type."""
    if name in RESERVED:
        raise UsageError(
            f"{name!r} is reserved and cannot be the name of a {kind}",
            where=f"{file}:{line}",
        )
    lines: dict[str, int] = {}
    for part, part_line, value in _pairs(
        node, file, f"{kind} {name!r} needs `class` and `args`"
    ):
        if part not in PARTS:
            raise UsageError(
                f"{kind} {name!r} has no {part!r}",
                where=f"{file}:{part_line}",
                fix=suggest(part, PARTS, "an entry has"),
            )
        lines[part] = part_line
        if part == "args" and isinstance(value, yaml.MappingNode):
            for key, _ in value.value:
                lines[str(key.value)] = key.start_mark.line + 1
    content = construct(node)
    args = content.get("args")
    if args is None:
        args = {}
    if not isinstance(args, dict):
        raise UsageError(
            f"`args` of {kind} {name!r} is not a mapping",
            where=f"{file}:{lines['args']}",
        )
    cls = content.get("class", "")
    if not isinstance(cls, str):
        raise UsageError(
            f"`class` of {kind} {name!r} is {shorten(cls)}",
            where=f"{file}:{lines['class']}",
        )
    named_args = {str(key): value for key, value in args.items()}
    return Entry(kind, name, cls, named_args, file, line, lines)


def _pairs(
    node: yaml.Node,
    file: Path,
    expected: str,
) -> list[tuple[str, int, yaml.Node]]:
    """Return the keys of a mapping with their lines and values.

    Raise for a repeated key; YAML would silently drop its first value.
    """
    if not isinstance(node, yaml.MappingNode):
        where = f"{file}:{node.start_mark.line + 1}"
        raise UsageError("not a mapping", where=where, fix=expected)
    lines: dict[str, int] = {}
    pairs: list[tuple[str, int, yaml.Node]] = []
    for key, value in node.value:
        line = key.start_mark.line + 1
        name = str(key.value)
        if name in lines:
            raise UsageError(
                f"{name!r} is given twice",
                where=f"{file}:{line}",
                fix=f"line {lines[name]}",
            )
        lines[name] = line
        pairs.append((name, line, value))
    return pairs

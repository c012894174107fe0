"""Read a registry tree as data: every entry of every YAML file with its class, its arguments and their lines.

Nothing is imported. Names without an entry are found here, before anything runs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ...core import AssayError, PlanError, UnknownName, UsageError, nearest, shorten
from ..shapes import Fields, Record
from .claims import KINDS, kinds_in, yaml_files

LINKS: Mapping[str, Mapping[str, str]] = {
    "infer_task": {
        "dataset": "dataset",
        "template": "template",
        "model": "model",
        "eval_task": "eval_task",
    },
    "eval_task": {"evaluator": "evaluator", "summarizer": "summarizer"},
}
"""For each kind, the arguments that name entries of another kind."""
OFFLINE_LINKS: Mapping[str, str] = {"llm_name": "model", "template": "template"}
MERGE = "tag:yaml.org,2002:merge"
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's loader if available: upstream's registry has hundreds of entries."""
RESERVED = ("key", "group", "cls")


@dataclass(frozen=True, slots=True)
class Entry:
    """One named entry of a tree."""

    kind: str
    name: str
    cls: str
    """The dotted path of its class; empty for an entry that only serves as configuration."""
    args: Fields
    file: Path
    line: int
    lines: Mapping[str, int] = field(default_factory=dict)
    """The line numbers of `class` and of each argument."""

    def at(self, part: str = "") -> str:
        """Return `file:line` of the entry, or of its part with this name, such as `class`."""
        return f"{self.file}:{self.lines.get(part, self.line)}"


@dataclass(frozen=True, slots=True)
class Tree:
    """All entries of one registry."""

    folder: Path
    entries: Mapping[str, Mapping[str, Entry]]

    @property
    def root(self) -> Path:
        """The folder of `src/` and of relative data paths: the one next to the registry."""
        return self.folder.parent

    def names(self, kind: str) -> list[str]:
        """Return all names of a kind, in the order of the files."""
        return list(self.entries.get(kind, {}))

    def get(
        self,
        kind: str,
        name: object,
        where: str | None = None,
    ) -> Entry:
        """Return the entry with a name. For an unknown name, raise with its location and similar names."""
        entries = self.entries.get(kind, {})
        if not isinstance(name, str) or name not in entries:
            raise dangling(kind, name, entries, where)
        return entries[name]

    def linked(self, entry: Entry) -> Iterator[tuple[str, str, str]]:
        """Yield the links of an entry: argument, kind and name."""
        # An offline judge is named in the arguments of its evaluator.
        if entry.kind == "evaluator" and entry.cls.endswith(".LLMOfflineScorer"):
            offline = OFFLINE_LINKS
        else:
            offline = {}
        for argument, kind in {**LINKS.get(entry.kind, {}), **offline}.items():
            value = entry.args.get(argument)
            if isinstance(value, list):
                names = value
            else:
                names = [value]
            yield from ((argument, kind, name) for name in names if name is not None)

    def reached(
        self,
        entries: Iterable[Entry],
        skipped: frozenset[str] = frozenset(),
    ) -> tuple[list[Entry], list[AssayError]]:
        """Return entries with all entries to which they link, and errors for names without an entry.

        Skipped arguments of an infer_task are not followed.
        """
        reached: dict[tuple[str, str], Entry] = {}
        faults: list[AssayError] = []
        waiting = list(entries)
        while waiting:
            entry = waiting.pop(0)
            if (entry.kind, entry.name) in reached:
                continue
            reached[entry.kind, entry.name] = entry
            for argument, kind, name in self.linked(entry):
                if argument in skipped and entry.kind == "infer_task":
                    continue
                try:
                    waiting.append(self.get(kind, name, entry.at(argument)))
                except AssayError as fault:
                    faults.append(fault)
        return list(reached.values()), faults

    def all(self) -> Iterator[Entry]:
        """Iterate over all entries."""
        return (
            entry for kind in KINDS for entry in self.entries.get(kind, {}).values()
        )


def dangling(
    kind: str,
    name: object,
    entries: Iterable[str],
    where: str | None,
) -> UnknownName:
    """Return the error for a name without an entry, with up to three similar names."""
    names = list(entries)
    close: list[str] = []
    while (
        len(close) < 3
        and (name_nearby := nearest(str(name), [n for n in names if n not in close]))
        is not None
    ):
        close.append(name_nearby)
    listed = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    if len(close) > 1:
        others = f"near: {', '.join(close)}"
    else:
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


def read_file(file: Path, kind: str) -> Iterator[Entry]:
    """Yield the entries of one YAML file."""
    try:
        loader = LOADER(file.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read: {error}", where=str(file)) from error
    try:
        node = loader.get_single_node()
        if node is None:
            return
        shared = {id(mapping) for mapping in _shared(node)}
        for key, value in _pairs(
            node,
            file,
            "a registry file holds names and their entries",
        ):
            if not (id(value) in shared and _is_no_entry(value)):
                yield _entry(
                    kind,
                    str(key.value),
                    value,
                    file,
                    key.start_mark.line + 1,
                    loader.construct_document,
                )
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        if mark:
            where = f"{file}:{mark.line + 1}"
        else:
            where = str(file)
        raise UsageError(
            f"not valid YAML: {getattr(error, 'problem', error)}", where=where
        ) from error
    finally:
        loader.dispose()


def _shared(node: object) -> Iterator[Any]:
    """Yield the mappings that other entries include with `<<`."""
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if key.tag == MERGE:
            yield from value.value if isinstance(value, yaml.SequenceNode) else (value,)
        yield from _shared(value)


def _is_no_entry(node: object) -> bool:
    """Return True if a mapping has no key of an entry, so that it exists only to be shared."""
    return all(
        nearest(str(key.value), ["class", "args"]) is None
        for key, _ in _pairs(node, Path(), "")
    )


def _entry(
    kind: str,
    name: str,
    node: object,
    file: Path,
    line: int,
    construct: Callable[[Any], Any],
) -> Entry:
    where = f"{file}:{line}"
    if name in RESERVED:
        raise UsageError(
            f"{name!r} is reserved and cannot be the name of a {kind}", where=where
        )
    parts = {
        str(k.value): (k, v)
        for k, v in _pairs(node, file, f"{kind} {name!r} needs `class` and `args`")
    }
    for part in parts:
        if part not in ("class", "args"):
            close = nearest(part, ["class", "args"])
            location = f"{file}:{parts[part][0].start_mark.line + 1}"
            if close:
                fix = f"did you mean {close!r}?"
            else:
                fix = "an entry has `class` and `args`"
            raise UsageError(
                f"{kind} {name!r} has no {part!r}",
                where=location,
                fix=fix,
            )
    lines = {part: key.start_mark.line + 1 for part, (key, _) in parts.items()}
    args: Record = {}
    if "args" in parts:
        inner = parts["args"][1]
        if not isinstance(inner, yaml.MappingNode):
            if construct(inner) is not None:
                raise UsageError(
                    f"`args` of {kind} {name!r} is not a mapping",
                    where=f"{file}:{lines['args']}",
                )
        else:
            lines |= {str(key.value): key.start_mark.line + 1 for key, _ in inner.value}
            args = {str(key): value for key, value in construct(inner).items()}
    if "class" in parts:
        cls = construct(parts["class"][1])
    else:
        cls = ""
    if not isinstance(cls, str):
        raise UsageError(
            f"`class` of {kind} {name!r} is {shorten(cls)}",
            where=f"{file}:{lines['class']}",
        )
    return Entry(kind, name, cls, args, file, line, lines)


def _pairs(
    node: Any,
    file: Path,
    wanted: str,
) -> Sequence[tuple[Any, Any]]:
    """Return the keys and values of a mapping. Raise for a repeated key; YAML would silently drop its first value."""
    where = f"{file}:{node.start_mark.line + 1}"
    if not isinstance(node, yaml.MappingNode):
        raise UsageError("not a mapping", where=where, fix=wanted)
    lines: dict[str, int] = {}
    for key, _ in node.value:
        if key.value in lines:
            raise UsageError(
                f"{key.value!r} is given twice",
                where=f"{file}:{key.start_mark.line + 1}",
                fix=f"line {lines[key.value]}",
            )
        lines[key.value] = key.start_mark.line + 1
    pairs: Sequence[tuple[Any, Any]] = node.value
    return pairs

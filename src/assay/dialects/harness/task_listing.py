"""List the tasks, groups and tags of a library for `assay ls` and `assay show`, without importing the library."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import source_names
from .library import Library
from .task_index import (
    Index,
    IndexEntry,
    find_entry,
    installed_index,
    leaf_names,
)

MOST_MEMBERS = 12
"""Maximum number of group members that a listing shows by name. Larger groups show only the number."""


class Listing:
    """Builds the output of `assay ls` and `assay show` for the tasks of one library."""

    def __init__(self, library: Library) -> None:
        self.library = library

    def index(self) -> Index:
        """Return the index of the installed package. If it is missing, raise with the command to install it."""
        self.library.need_tasks_folder()
        return installed_index(self.library)

    def listing(self, reference: str) -> dict[str, list[dict[str, Any]]]:
        """Return the tasks, groups and tags by kind. For `lm_eval/TEXT`, only those whose names begin with TEXT."""
        beginning = self.library.name_of(reference)
        index = self.index()
        named: dict[str, list[dict[str, Any]]] = {}
        for kind in ("task", "group", "tag"):
            rows = []
            for name in sorted(index):
                entry = index[name]
                if entry.kind == kind and name.startswith(beginning):
                    rows.append(self._row(entry))
            if rows:
                named[f"{kind}s"] = rows
        return named

    def _row(self, entry: IndexEntry) -> dict[str, Any]:
        full_name = f"{self.library.module}/{entry.name}"
        return {"name": full_name, "summary": _summary(entry)}

    def lines(self, reference: str) -> Iterator[str]:
        """Yield the names of tasks, groups and tags as lines of text, grouped by kind."""
        kinds = self.listing(reference)
        if not kinds:
            find_entry(self.library.name_of(reference), self.index(), self.library)
        for kind, rows in kinds.items():
            yield f"{kind} ({len(rows)})"
            width = max(len(row["name"]) for row in rows)
            for row in rows:
                name = row["name"].ljust(width)
                summary = row["summary"]
                yield f"  {name}  {summary}".rstrip()

    def about(self, reference: str) -> Iterator[str]:
        """Yield lines that describe one task, group or tag, read from the YAML files of the package."""
        index = self.index()
        entry = find_entry(self.library.name_of(reference), index, self.library)
        yield f"{entry.kind} {self.library.module}/{entry.name}: {_summary(entry)}"
        if entry.path:
            yield f"  defined at {entry.path}"
        if entry.family:
            yield f"  family: {entry.family}"
        if entry.kind == "task":
            yield from _task_lines(entry)
        else:
            yield from _member_lines(entry, index, self.library)


def _task_lines(entry: IndexEntry) -> Iterator[str]:
    yield f"  output type: {entry.output_type}"
    yield f"  metrics: {', '.join(entry.metrics) or 'those of the output type'}"
    if entry.dataset:
        yield f"  data: {entry.dataset}, or --data FILE_OR_FOLDER"
    if entry.num_fewshot is not None:
        yield f"  examples: {entry.num_fewshot}"
    if entry.functions:
        yield f"  functions: {', '.join(entry.functions)}"
    packages = missing_packages(entry)
    if packages:
        yield f"  missing packages: {', '.join(packages)}"
    if entry.is_unsafe:
        yield "  runs code that the model wrote, in assay's sandbox"


def _member_lines(
    entry: IndexEntry,
    index: Index,
    library: Library,
) -> Iterator[str]:
    leaves = leaf_names(entry.name, index)
    yield f"  tasks: {len(leaves)}"
    for name in entry.members[:MOST_MEMBERS]:
        yield f"    {library.module}/{name}"
    if len(entry.members) > MOST_MEMBERS:
        yield f"    and {len(entry.members) - MOST_MEMBERS} more"


def _summary(entry: IndexEntry) -> str:
    if entry.kind != "task":
        return f"{len(entry.members)} members"
    return ", ".join(filter(None, (entry.output_type, entry.dataset)))


def missing_packages(entry: IndexEntry) -> list[str]:
    """Return the packages that are not installed although helper modules of an index entry import them."""
    folder = Path(entry.path).parent
    modules = {function.rpartition(".")[0] for function in entry.functions}
    missing: dict[str, None] = {}
    for module in sorted(filter(None, modules)):
        file = folder / f"{module.replace('.', '/')}.py"
        if file.is_file():
            packages = source_names.missing_packages(
                file, lambda top: (folder / f"{top}.py").exists()
            )
            missing.update(dict.fromkeys(packages))
    return list(missing)

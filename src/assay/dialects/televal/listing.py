"""List the entries of a registry for `assay ls registry/`: every kind and name, with its class and line."""

from pathlib import Path

from ...core import AssayError
from ..shapes import Record
from .televal_classes import Classes
from .tree import read_tree


def listing(path: str | Path) -> dict[str, list[Record]]:
    """Return the entries of a registry by kind, each with `name`, `class` and `where`.

    If the class is unknown, or a link refers to a missing entry, the error is under
    `fault`.
    """
    tree = read_tree(Path(path))
    classes = Classes(tree.root)
    by_kind: dict[str, list[Record]] = {}
    for entry in tree.all():
        record = {
            "name": entry.name,
            "class": entry.cls,
            "where": f"{entry.file.relative_to(tree.folder)}:{entry.line}",
        }
        class_fault = classes.fault(entry) if entry.cls else None
        faults: list[AssayError] = [class_fault] if class_fault else []
        faults += tree.follow(entry)[1]
        if faults:
            record["fault"] = "; ".join(map(str, faults))
        by_kind.setdefault(entry.kind, []).append(record)
    return by_kind


def lines(path: str | Path) -> list[str]:
    """Return the entries of a registry as lines of text, grouped by kind."""
    text_lines: list[str] = []
    for kind, entries in listing(path).items():
        width = max(len(entry["name"]) for entry in entries)
        text_lines.append(f"{kind} ({len(entries)})")
        for entry in entries:
            text_lines.append(
                f"  {entry['name']:<{width}}  {entry['class'] or '(configuration)'}  {entry['where']}"
            )
            if "fault" in entry:
                text_lines.append(f"  {'':<{width}}  ! {entry['fault']}")
    return text_lines

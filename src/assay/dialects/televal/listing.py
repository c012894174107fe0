"""List the entries of a registry for `assay ls registry/`: every kind and name, with its class and line."""

from pathlib import Path

from ...core import AssayError
from ..shapes import Record
from .claims import KINDS
from .televal_classes import Classes
from .tree import Tree, read_tree


def listing(path: str | Path) -> dict[str, list[Record]]:
    """Return each kind with its entries: `name`, `class`, `where`, and `fault` if a name in it does not exist."""
    tree = read_tree(Path(path))
    faults = _faults(tree)
    return {
        kind: [
            {
                "name": entry.name,
                "class": entry.cls,
                "where": f"{entry.file.relative_to(tree.folder)}:{entry.line}",
                **(
                    {"fault": faults[kind, entry.name]}
                    if (kind, entry.name) in faults
                    else {}
                ),
            }
            for entry in tree.entries[kind].values()
        ]
        for kind in KINDS
        if tree.entries[kind]
    }


def lines(path: str | Path) -> list[str]:
    """Return the listing as lines of text, kind by kind."""
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


def _faults(tree: Tree) -> dict[tuple[str, str], str]:
    classes = Classes(tree.root)
    fault_texts: dict[tuple[str, str], str] = {}
    for entry in tree.all():
        faults: list[AssayError] = []
        if entry.cls:
            class_fault = classes.fault(entry)
        else:
            class_fault = None
        if class_fault is not None:
            faults.append(class_fault)
        for argument, kind, name in tree.linked(entry):
            try:
                tree.get(kind, name, entry.at(argument))
            except AssayError as fault:
                faults.append(fault)
        text = "; ".join(map(str, faults))
        if text:
            fault_texts[entry.kind, entry.name] = text
    return fault_texts

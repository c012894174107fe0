"""Labels: what people said of answers, beside the journal in a file of its own, line by line.

A line is sealed as the journal's are, and none is ever changed or removed: whoever changes his mind adds a line, and
the last one of a person for a sample counts. The journal stays as the run left it, and so does its digest.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import msgspec

from ..core import StoreError
from ..core.record import is_whole
from .journal import Journal, open_journal, read_lines
from .layout import Layout

KIND = b'{"kind":"label"'
LONGEST_NAME = 80
LONGEST_NOTE = 2000


@dataclass(frozen=True, slots=True)
class Label:
    """What one person said of one answer."""

    task: str
    model: str
    id: str
    epoch: int = 0
    value: float | None = None
    """`None`: the person could not tell."""
    by: str = ""
    at: str = ""
    note: str = ""

    @property
    def place(self) -> tuple[str, str, str, int]:
        """Which answer it is about."""
        return self.task, self.model, self.id, self.epoch

    def line(self) -> dict[str, object]:
        """The label as a line."""
        members = asdict(self) | {
            "by": self.by[:LONGEST_NAME],
            "note": self.note[:LONGEST_NOTE],
        }
        empty = [name for name in ("at", "by", "note") if members[name] == ""]
        return {
            "kind": "label",
            **{name: value for name, value in members.items() if name not in empty},
        }


def add_labels(layout: Layout, labels: list[Label]) -> None:
    """Appends labels; they are on the disk when this returns."""
    if layout.labels.exists() and not _is_ours(layout):
        raise StoreError(
            "labels.jsonl here was not written by assay",
            where=str(layout.folder),
            fix="move it away, then label again",
        )
    now = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    journal: Journal
    journal, _ = open_journal(layout.labels)
    try:
        for label in labels:
            journal.append({**label.line(), "at": label.at or now})
    finally:
        journal.close()


def read_labels(layout: Layout) -> list[Label]:
    """All labels, in the order in which they were given; damaged lines are left out."""
    return list(_labels(layout)) if layout.labels.exists() else []


def standing_labels(
    labels: list[Label],
) -> dict[tuple[str, str, str, int], dict[str, Label]]:
    """By answer and person: the last label, which is the one that counts."""
    found: dict[tuple[str, str, str, int], dict[str, Label]] = {}
    for label in labels:
        found.setdefault(label.place, {})[label.by] = label
    return found


def _labels(layout: Layout) -> Iterator[Label]:
    for _, line in read_lines(layout.labels):
        if line is not None and line.startswith(KIND):
            try:
                yield msgspec.convert(
                    json.loads(line), Label, strict=False
                )  # an id may hold lone surrogates
            except (msgspec.MsgspecError, ValueError):
                continue


def _is_ours(layout: Layout) -> bool:
    if layout.labels.is_symlink() or not layout.labels.is_file():
        return False
    with layout.labels.open("rb") as file:
        first = file.readline().rstrip(b"\n")
    return not first or (first.startswith(KIND) and is_whole(first))

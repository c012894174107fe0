"""Labels: people's judgements of answers, in a separate file next to the journal.

Each line has a checksum, as in the journal, and no line is changed or removed. To
change a label, a person adds another; only the last label of each person is used. The journal
and its digest are not changed.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import msgspec

from ..core import UnusablePath
from ..core.record import is_whole
from .journal import Journal, open_journal, read_lines
from .layout import Layout

KIND = b'{"kind":"label"'
LONGEST_NAME = 80
LONGEST_NOTE = 2000


@dataclass(frozen=True, slots=True)
class Label:
    """One person's judgement of one answer."""

    task: str
    model: str
    id: str
    epoch: int = 0
    value: float | None = None
    """The judgement; None if the person could not decide."""
    by: str = ""
    at: str = ""
    note: str = ""

    @property
    def place(self) -> tuple[str, str, str, int]:
        """Task, model, sample id and epoch of the answer that was judged."""
        return self.task, self.model, self.id, self.epoch

    def line(self) -> dict[str, object]:
        """Return the label as a line of the file."""
        members = asdict(self) | {
            "by": self.by[:LONGEST_NAME],
            "note": self.note[:LONGEST_NOTE],
        }
        empty = [name for name in ("at", "by", "note") if members[name] == ""]
        return {
            "kind": "label",
            **{name: value for name, value in members.items() if name not in empty},
        }


def add_labels(
    layout: Layout,
    labels: list[Label],
) -> None:
    """Append labels and sync them to disk."""
    if layout.labels.exists() and not _is_ours(layout):
        raise UnusablePath(
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
    """Return all labels in the order in which they were added. Damaged lines are left out."""
    if layout.labels.exists():
        return list(_labels(layout))
    return []


def standing_labels(
    labels: list[Label],
) -> dict[tuple[str, str, str, int], dict[str, Label]]:
    """Return each person's current label for each answer, which is the last one given."""
    latest: dict[tuple[str, str, str, int], dict[str, Label]] = {}
    for label in labels:
        by_person = latest.setdefault(label.place, {})
        by_person[label.by] = label
    return latest


def _labels(layout: Layout) -> Iterator[Label]:
    for _, line in read_lines(layout.labels):
        if line is not None and line.startswith(KIND):
            try:
                yield msgspec.convert(
                    json.loads(line),
                    Label,
                    strict=False,
                )  # An id may contain lone surrogates.
            except (msgspec.MsgspecError, ValueError):
                continue


def _is_ours(layout: Layout) -> bool:
    if layout.labels.is_symlink() or not layout.labels.is_file():
        return False
    with layout.labels.open("rb") as file:
        first = file.readline().rstrip(b"\n")
    return not first or (first.startswith(KIND) and is_whole(first))

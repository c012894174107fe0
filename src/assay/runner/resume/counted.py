"""What a summary counted: noted where the journal holds more, as after a run of the same folder with a smaller limit.

Whoever reads the run afterwards, to compare or to export it, then speaks of the same samples as its table.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from ...store import RunWriter
from ..plan.cell import Cell


def counted_samples(cells: Sequence[Cell], writer: RunWriter) -> dict[str, Any]:
    """The member `counted` of `summary.json`; nothing where every sample of the journal was counted."""
    entries = list(_entries(cells, writer))
    return {"counted": entries} if entries else {}


def _entries(cells: Sequence[Cell], writer: RunWriter) -> Iterator[dict[str, Any]]:
    for cell in cells:
        places = writer.cell(cell.task.name, cell.model_name).places
        # A driver goes through its data by itself, and what this run wrote belongs to its own view.
        if cell.task.driver is not None or not len(places) or not (cell.holds_more or cell.rounds):
            continue
        ids = dict.fromkeys(item.id for item in islice(cell.view(), cell.taken))
        epochs = cell.task.epochs
        rounds = [[id, epoch, count] for (id, epoch), count in cell.rounds.items()]
        if rounds or any(id not in ids or epoch >= epochs for id, epoch in places):
            entry = {"task": cell.task.name, "model": cell.model_name, "epochs": epochs, "ids": list(ids)}
            yield {**entry, "rounds": rounds} if rounds else entry

"""Reducers: which numbers of a cell have one, known before anything is asked.

Whatever counts every answer by itself, as a sum over a corpus does, has no `max` and no `pass@k` over the answers to a
sample. Where no number of a task has one, it is refused before the answers are paid for; else those without say so.
"""

from typing import Any

from ...core import UsageError
from ..tasks.components import build_summarizer
from .cell import Cell


def check_reducer(cell: Cell) -> None:
    """Refuses a reducer that all summarizers of the cell would have to ignore."""
    if not not_reduced(cell):
        return
    where = f"task {cell.task.name!r}"
    entries = [e for s in cell.scorings if not s.is_set_level for e in cell.task.summarizers or s.summarizers]
    built = [build_summarizer(entry, where) for entry in entries]
    if built and all(pools_answers(summarizer) for _, summarizer in built):
        names = " and ".join(dict.fromkeys(name for name, _ in built))
        raise UsageError(
            f"summarizer {names!r} counts every answer to a sample and has no {cell.task.reducer!r} over them",
            where=where,
            fix="leave --reducer out, or name a scorer that has one value a sample",
        )


def not_reduced(cell: Cell) -> tuple[str, ...]:
    """What a number that counts every answer by itself must say, where the run asks for a reducer."""
    is_asked = cell.task.reducer != "mean" and cell.task.epochs * cell.options.n > 1
    return (f"reducer {cell.task.reducer} not applied: every answer counts",) if is_asked else ()


def pools_answers(summarizer: Any) -> bool:
    """Whether a summarizer says that it counts every answer by itself; options may be bound to it."""
    return any(getattr(thing, "pools", False) for thing in (summarizer, getattr(summarizer, "__wrapped__", None)))

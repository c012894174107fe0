"""Answers that are there already: whether a file of predictions and the samples of a task are about the same thing."""

from collections.abc import Iterator, Mapping, Sequence

from ...core import AnswersById, UsageError
from .cell import Cell

SHOWN = 3


def check_known_answers(cell: Cell) -> None:
    """Refuses predictions for other samples; says how many samples have none, and which predictions nobody asks for."""
    model = cell.model
    if not isinstance(model, AnswersById):
        return
    where = f"task {cell.task.name!r}, model {cell.model_name!r}"
    if cell.task.driver is not None:
        fix = "give the model itself, or replay/RUN of a run that asked it"
        raise UsageError(
            "the task asks in its own way, by calls that have no sample ids",
            where=where,
            fix=fix,
        )
    counts = model.ids()
    ids = dict.fromkeys(item.id for item in cell.view())
    if not ids:
        return
    found = [id for id in ids if id in counts]
    if not found:
        theirs, ours = next(iter(counts)), next(iter(ids))
        raise UsageError(
            f"no id of the predictions is one of the task's samples: they have {theirs!r}, the task has {ours!r}",
            where=where,
            fix="write the task's ids into the file (`assay show RUN` prints them), or -a id=COLUMN names their column",
        )
    most = max(found, key=counts.__getitem__)
    if counts[most] > cell.task.epochs:
        times = "once" if cell.task.epochs == 1 else f"{cell.task.epochs} times"
        fix = f"--epochs {counts[most]} takes them as repeats, in the order of the file; or leave one for each id"
        what = (
            f"{counts[most]} predictions for {most!r}, and each sample is asked {times}"
        )
        raise UsageError(what, where=where, fix=fix)
    cell.notices += tuple(_notices(cell, ids, counts))


def _notices(
    cell: Cell, sample_ids: Mapping[str, None], ids: Mapping[str, int]
) -> Iterator[str]:
    missing = [id for id in sample_ids if id not in ids]
    if missing:
        yield _said(
            cell, missing, f"of {len(sample_ids):,} samples without a prediction"
        )
    left = [id for id in ids if id not in sample_ids]
    if left:  # a part of the data may be asked, and the file be about all of it
        whole = {item.id for item in cell.samples}
        left = [id for id in left if id not in whole]
    if left:
        yield _said(
            cell, left, f"of {len(ids):,} ids of the predictions belong to no sample"
        )


def _said(cell: Cell, ids: Sequence[str], what: str) -> str:
    first_ids = ", ".join(map(repr, ids[:SHOWN])) + (", …" if len(ids) > SHOWN else "")
    return f"{cell.task.name}: {len(ids):,} {what}: {first_ids}"

"""The end of a run: the numbers of each cell, how the run ended, and what is said under the table."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from ...core import AssayError, Result, StoreError
from ...core.score import UNRESOLVED
from ...store import RunWriter
from ..events import CellProgress
from ..plan.cell import Cell
from ..plan.labels import metrics_apart
from .anytime import anytime_results
from .results import set_level, summarize


async def cell_results(
    cell: Cell,
    writer: RunWriter,
    offsets: Mapping[str, Sequence[int]],
    expected: int,
    others: Sequence[Result],
    say_fault: Callable[[AssayError], None],
) -> list[Result]:
    """The numbers of one cell, whose score lines lie at `offsets` by scorer; named apart from `others`."""
    results: list[Result] = []
    for scoring in cell.scorings:
        try:
            records = writer.scores_at(offsets[scoring.name])
            if scoring.is_set_level:
                found = await set_level(cell, scoring, writer, expected, records)
            else:
                found = summarize(cell, scoring, records, expected, say_fault)
        except StoreError:
            raise
        except AssayError as error:
            say_fault(error)
            continue
        found = metrics_apart(found, [*others, *results], scoring.name)
        if cell.run.until is not None:
            found = anytime_results(found, records, cell, scoring)
        results += found
    return results


def status_of(
    results: Sequence[Result], progress: Sequence[CellProgress], *, is_incomplete: bool
) -> str:
    """How a run that came to its end has ended: exactly one of complete, partial, failed."""
    if not results or all(r.n == 0 for r in results):
        return "failed"
    outcomes = [result.outcomes for result in results] + [
        one.outcomes for one in progress
    ]
    failed = any(
        counts.get(str(outcome)) for counts in outcomes for outcome in UNRESOLVED
    )
    lacking = any(r.n < (r.n_expected or 0) for r in results)
    return "partial" if is_incomplete or lacking or failed else "complete"


def first_errors(
    results: Sequence[Result], progress: Sequence[CellProgress]
) -> Iterator[str]:
    """A line for each outcome that left samples without a number, with the first of them."""
    for one in progress:
        for outcome, example in sorted(one.first_errors.items()):
            yield f"{one.task}: {_count(results, one, outcome)} {outcome}; first: {example}"


def _count(results: Sequence[Result], progress: CellProgress, outcome: str) -> int:
    """How many samples met an outcome: as the table has it, not once for each scorer."""
    rows = [r for r in results if (r.task, r.model) == (progress.task, progress.model)]
    return max(
        (r.outcomes.get(outcome, 0) for r in rows), default=0
    ) or progress.outcomes.get(outcome, 1)


def close_manifest(
    manifest: dict[str, Any],
    status: str,
    finished: str,
    cells: Sequence[Cell],
    progress: Sequence[CellProgress],
) -> None:
    """Adds to a manifest what is known at the end."""
    manifest["status"] = status
    manifest["finished"] = finished
    for described, cell, one in zip(manifest["cells"], cells, progress, strict=True):
        described["n_expected"] = one.done if status == "complete" else one.expected
        described["data_sha256"] = cell.samples.digest()
        if not cell.unchecked:
            described.pop("unchecked", None)


def counted_samples(cells: Sequence[Cell], writer: RunWriter) -> dict[str, Any]:
    """The member `counted` of `summary.json`, by which readers speak of the same samples as its table; nothing where
    every sample of the journal was counted. It holds more after a run of the same folder with a smaller limit."""
    entries = list(_counted(cells, writer))
    return {"counted": entries} if entries else {}


def _counted(cells: Sequence[Cell], writer: RunWriter) -> Iterator[dict[str, Any]]:
    for cell in cells:
        places = writer.cell(cell.task.name, cell.model_name).places
        # A driver goes through its data by itself, and what this run wrote belongs to its own view.
        if (
            cell.task.driver is not None
            or not len(places)
            or not (cell.holds_more or cell.rounds)
        ):
            continue
        ids = dict.fromkeys(item.id for item in islice(cell.view(), cell.taken))
        epochs = cell.task.epochs
        rounds = [[id, epoch, count] for (id, epoch), count in cell.rounds.items()]
        if rounds or any(id not in ids or epoch >= epochs for id, epoch in places):
            entry = {
                "task": cell.task.name,
                "model": cell.model_name,
                "epochs": epochs,
                "ids": list(ids),
            }
            yield {**entry, "rounds": rounds} if rounds else entry

"""The end of a run: results of each task × model, status, and the notes under the table."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from ...core import AssayError, Result, StoreError, SummarizerError
from ...core.score import UNRESOLVED
from ...store import RunWriter
from ..events import TaskProgress
from ..plan.labels import with_unique_metrics
from ..plan.planned_task import PlannedTask
from .anytime import anytime_results
from .results import set_level, summarize


async def task_results(
    planned: PlannedTask,
    writer: RunWriter,
    offsets: Mapping[str, Sequence[int]],
    expected: int,
    others: Sequence[Result],
    say_fault: Callable[[AssayError], None],
) -> list[Result]:
    """Return the results of one task × model, with metric names that differ from those of `others`.

    `offsets` has, by scorer, the offsets of the score lines in the journal.
    """
    results: list[Result] = []
    beside = {
        scoring.name: writer.scores_at(offsets[scoring.name])
        for scoring in planned.scorings
        if not scoring.is_set_level
    }
    for scoring in planned.scorings:
        try:
            records = writer.scores_at(offsets[scoring.name])
            if scoring.is_set_level:
                scorer_results = await set_level(
                    planned,
                    scoring,
                    writer,
                    expected,
                    records,
                )
            else:
                scorer_results = summarize(
                    planned,
                    scoring,
                    records,
                    expected,
                    say_fault,
                    beside,
                )
        except StoreError:
            raise
        except AssayError as error:
            say_fault(error)
            continue
        scorer_results = with_unique_metrics(
            scorer_results,
            [*others, *results],
            scoring.name,
        )
        if planned.run.until is not None:
            scorer_results = anytime_results(scorer_results, records, planned, scoring)
        results += scorer_results
    return headline_first(results, planned, say_fault)


def headline_first(
    results: list[Result],
    planned: PlannedTask,
    say_fault: Callable[[AssayError], None],
) -> list[Result]:
    """Return the results with those of the headline metric first. Report an error if no summarizer computes it."""
    task = planned.task
    if not task.headline or not results:
        return results
    first = [result for result in results if result.metric == task.headline]
    if not first:
        # The short name under which summarizers refer to one of a scorer's values.
        first = [r for r in results if r.metric.endswith(f".{task.headline}")]
        if len(first) > 1:
            first = []
    if not first and not planned.run.scorers:
        names = ", ".join(result.metric for result in results)
        say_fault(
            SummarizerError(
                f"no metric is called {task.headline!r}",
                where=f"task {task.name!r}, key `headline`",
                fix=f"one of {names}",
            )
        )
    return [*first, *(result for result in results if result not in first)]


def status_of(
    results: Sequence[Result],
    progress: Sequence[TaskProgress],
    *,
    is_incomplete: bool,
) -> str:
    """Return the status of a run at its end: complete, partial or failed."""
    if not results or all(r.n == 0 for r in results):
        return "failed"
    lacking = any(r.n < (r.n_expected or 0) for r in results)
    if is_incomplete or lacking:
        return "partial"

    counts_of_all = [result.outcomes for result in results]
    counts_of_all += [task_progress.outcomes for task_progress in progress]
    for counts in counts_of_all:
        if any(counts.get(str(outcome)) for outcome in UNRESOLVED):
            return "partial"
    return "complete"


def first_errors(
    results: Sequence[Result],
    progress: Sequence[TaskProgress],
) -> Iterator[str]:
    """Yield a line for each outcome that left samples without a score, with a count and the first example."""
    for task_progress in progress:
        for outcome, example in sorted(task_progress.first_errors.items()):
            yield f"{task_progress.task}: {_count(results, task_progress, outcome)} {outcome}; first: {example}"


def _count(
    results: Sequence[Result],
    progress: TaskProgress,
    outcome: str,
) -> int:
    """Return the number of samples with an outcome. Each counts once, not once for each scorer."""
    count = 0
    for result in results:
        if result.task == progress.task and result.model == progress.model:
            count = max(count, result.outcomes.get(outcome, 0))
    return count or progress.outcomes.get(outcome, 1)


def close_manifest(
    manifest: dict[str, Any],
    status: str,
    finished: str,
    planned_tasks: Sequence[PlannedTask],
    progress: Sequence[TaskProgress],
) -> None:
    """Add the values known only at the end of the run to its manifest: status, time and counts."""
    manifest["status"] = status
    manifest["finished"] = finished
    for described, planned, task_progress in zip(
        manifest["cells"],
        planned_tasks,
        progress,
        strict=True,
    ):
        if status == "complete":
            described["n_expected"] = task_progress.done
        else:
            described["n_expected"] = task_progress.expected
        described["data_sha256"] = planned.samples.digest()
        if not planned.unchecked:
            described.pop("unchecked", None)


def counted_samples(
    planned_tasks: Sequence[PlannedTask],
    writer: RunWriter,
) -> dict[str, Any]:
    """Return the entry `counted` of `summary.json`: the samples in its table, for readers of the journal.

    It is empty if every sample of the journal was counted. The journal has more samples if the folder was run again
    with a smaller limit.
    """
    entries = list(_counted(planned_tasks, writer))
    return {"counted": entries} if entries else {}


def _counted(
    planned_tasks: Sequence[PlannedTask],
    writer: RunWriter,
) -> Iterator[dict[str, Any]]:
    """Yield an entry for each task × model whose journal has more samples than were counted."""
    for planned in planned_tasks:
        places = writer.cell(planned.task.name, planned.model_name).places
        # A driver reads its data itself, and all it wrote belongs to this run.
        if (
            planned.task.driver is not None
            or not len(places)
            or not (planned.holds_more or planned.rounds)
        ):
            continue
        ids = dict.fromkeys(
            item.id for item in islice(planned.view(), planned.counted_rows)
        )
        epochs = planned.task.epochs
        rounds = [[id, epoch, count] for (id, epoch), count in planned.rounds.items()]
        if rounds or any(id not in ids or epoch >= epochs for id, epoch in places):
            entry = {
                "task": planned.task.name,
                "model": planned.model_name,
                "epochs": epochs,
                "ids": list(ids),
            }
            yield {**entry, "rounds": rounds} if rounds else entry

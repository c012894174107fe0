"""The end of a run: results of each task × model, status, and the notes under the table.

`runner/flow/session` calls these functions in the order of this module: `task_results`
for each task × model, then once `status_of`, `first_errors`, `close_manifest` for
`run.json`, and `counted_samples` for `summary.json`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    """Return the results of one task × model. Their metric names differ from those in `others`.

    `offsets` has, for each scorer, the byte offsets of its score lines in the journal.
    """
    results: list[Result] = []
    records_by_scorer = {
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
                    records_by_scorer,
                )
        except StoreError:
            raise
        except AssayError as error:
            say_fault(error)
            continue
        earlier_results = [*others, *results]
        scorer_results = with_unique_metrics(
            scorer_results,
            earlier_results,
            scoring.name,
        )
        if planned.run.until is not None:
            scorer_results = anytime_results(scorer_results, records, planned, scoring)
        results += scorer_results
    return _with_headline_first(results, planned, say_fault)


def _with_headline_first(
    results: list[Result],
    planned: PlannedTask,
    say_fault: Callable[[AssayError], None],
) -> list[Result]:
    """Move the results of the headline metric to the front. Report an error if no result has this metric."""
    headline = planned.task.headline
    if not headline or not results:
        return results
    leading = [result for result in results if result.metric == headline]
    if not leading:
        # A headline `mrr` also names the metric `ndcg.mrr`, if no other metric ends with `.mrr`.
        with_suffix = [r for r in results if r.metric.endswith(f".{headline}")]
        if len(with_suffix) == 1:
            leading = with_suffix
    # `--scorers` may have replaced the scorer that the headline names.
    if not leading and not planned.run.scorers:
        names = ", ".join(result.metric for result in results)
        say_fault(
            SummarizerError(
                f"no metric is called {headline!r}",
                where=f"task {planned.task.name!r}, key `headline`",
                fix=f"one of {names}",
            )
        )
    others = [result for result in results if result not in leading]
    return [*leading, *others]


def status_of(
    results: Sequence[Result],
    progress: Sequence[TaskProgress],
    *,
    is_incomplete: bool,
) -> str:
    """Return the status of a run at its end: complete, partial or failed."""
    if all(result.n == 0 for result in results):
        return "failed"
    is_lacking = any(result.n < (result.n_expected or 0) for result in results)
    if is_incomplete or is_lacking:
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
    """Yield a line for each outcome that leaves samples unscored: the number of samples, and the first of them."""
    for task_progress in progress:
        for outcome, example in sorted(task_progress.first_errors.items()):
            yield f"{task_progress.task}: {_count(results, task_progress, outcome)} {outcome}; first: {example}"


def _count(
    results: Sequence[Result],
    progress: TaskProgress,
    outcome: str,
) -> int:
    """Return the number of samples with an outcome. A sample counts once, even if it has several scorers."""
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
    for entry, planned, task_progress in zip(
        manifest["cells"],
        planned_tasks,
        progress,
        strict=True,
    ):
        if status == "complete":
            entry["n_expected"] = task_progress.done
        else:
            entry["n_expected"] = task_progress.expected
        entry["data_sha256"] = planned.samples.digest()
        if not planned.unchecked:
            entry.pop("unchecked", None)


def counted_samples(
    planned_tasks: Sequence[PlannedTask],
    writer: RunWriter,
) -> dict[str, Any]:
    """Return the entry `counted` of `summary.json`, which lists the samples in the table.

    Readers of the journal need it if the folder was run again with a smaller limit,
    because the journal then has more samples than the table. It is empty if the journal
    has no others.
    """
    entries = []
    for planned in planned_tasks:
        places = writer.cell(planned.task.name, planned.model_name).places
        # A driver reads its data itself, and all it wrote belongs to this run.
        if planned.task.driver is None and len(places):
            entries += _counted_entry(planned, places)
    return {"counted": entries} if entries else {}


def _counted_entry(
    planned: PlannedTask,
    answered: Iterable[tuple[str, int]],
) -> list[dict[str, Any]]:
    """Return a list with the entry for one result's samples; empty if the journal has no other answers.

    `answered` has the sample and the epoch of each answer in the journal.
    """
    if not planned.holds_more and not planned.rounds:
        return []
    rows = islice(planned.view(), planned.counted_rows)
    ids = dict.fromkeys(row.id for row in rows)
    epochs = planned.task.epochs
    entry: dict[str, Any] = {
        "task": planned.task.name,
        "model": planned.model_name,
        "epochs": epochs,
        "ids": list(ids),
    }
    if planned.rounds:
        entry["rounds"] = [
            [id, epoch, count] for (id, epoch), count in planned.rounds.items()
        ]
        return [entry]
    has_more = any(id not in ids or epoch >= epochs for id, epoch in answered)
    return [entry] if has_more else []

"""Recompute the table of a finished run from the scores in its journal, and compare it with its summary.

No model is called, and nothing is scored or written. Numbers from drivers and set-level
scorers cannot be recomputed from the scores of individual samples, and are listed as
unchecked.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...core import AssayError, Result, ScoreRecord
from ...core.record import result_from_plain
from ...core.trust import guarded
from ...store import RunReader, Scores
from ..plan.labels import with_unique_metrics
from ..plan.planned_task import PlannedTask
from ..plan.planning import make_plan
from ..resume.recorded import recorded_run
from ..scoring.scoring import Scoring
from .results import summarize

TOLERANCE = 1e-9


@dataclass(slots=True)
class Recomputed:
    """The results of a run, recomputed from its journal."""

    results: list[Result] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    """The results that could not be recomputed: one line each, with the reason."""

    def differences(self, summary: Mapping[str, Any]) -> Iterator[str]:
        """Yield a line for each result that differs from the summary."""
        table = {
            _name(r): r for r in map(result_from_plain, summary.get("results", ()))
        }
        results = {_name(r): r for r in self.results}
        left_out = self.left_out(summary)
        for name, result in results.items():
            if name in left_out:
                continue
            if name not in table:
                yield f"{' · '.join(name)}: not in summary.json"
                continue
            table_row = table[name]
            for field_name in ("value", "n", "stderr"):
                summarized = getattr(table_row, field_name)
                computed = getattr(result, field_name)
                if not _equal(summarized, computed):
                    yield (
                        f"{' · '.join(name)}: summary.json has {field_name} {summarized},"
                        f" and the journal gives {computed}"
                    )
        judged = {(result.task, result.model) for result in self.results}
        if not self.unchecked:
            for name in table.keys() - results.keys():
                if name[:2] in judged:
                    yield f"{' · '.join(name)}: the journal does not give it"

    def left_out(self, summary: Mapping[str, Any]) -> set[tuple[str, str, str]]:
        """Return the results, as (task, model, metric), that are missing in the
        summary because the run was interrupted.
        """
        if summary.get("status") != "interrupted":
            return set()
        rows = map(result_from_plain, summary.get("results", ()))
        summarized = {(row.task, row.model) for row in rows}
        return {
            _name(result)
            for result in self.results
            if (result.task, result.model) not in summarized
        }


def recompute(reader: RunReader, **settings: object) -> Recomputed:
    """Recompute the table of a run from its journal. `settings` are those of `score`."""
    run = recorded_run(Path(reader.layout.folder), settings)
    recomputed = Recomputed()
    with guarded(run.gate):
        for planned in make_plan(
            run.options,
            run.models,
            may_have_unused=True,
            recorded=run.ways,
        ):
            if planned.task.driver is not None:
                recomputed.unchecked.append(
                    f"{planned.task.name}: its own evaluator made the numbers"
                )
                continue
            for scoring in planned.scorings:
                _add(recomputed, reader, planned, scoring)
    return recomputed


def _add(
    recomputed: Recomputed,
    reader: RunReader,
    planned: PlannedTask,
    scoring: Scoring,
) -> None:
    """Recompute the results of one scorer, and add them."""
    task = planned.task.name
    model = planned.model_name
    name = f"{task} · {model} · {scoring.name}"
    if scoring.is_set_level:
        recomputed.unchecked.append(f"{name}: it judges all samples at once")
        return
    if scoring.name not in (judged := reader.scorers(task, model)):
        if judged:
            why = "the run was last scored by others (--scorer names them)"
        else:
            why = "the journal has no verdicts"
        recomputed.unchecked.append(f"{name}: {why}")
        return
    faults: list[AssayError] = []
    records = _in_order(reader, task, model, scoring.name)
    beside = {}
    for other in planned.scorings:
        if other.name in judged and not other.is_set_level:
            beside[other.name] = _in_order(reader, task, model, other.name)
    expected = _expected(reader, planned)
    scorer_results = summarize(
        planned,
        scoring,
        records,
        expected,
        faults.append,
        beside,
    )
    recomputed.results += with_unique_metrics(
        scorer_results,
        recomputed.results,
        scoring.name,
    )
    recomputed.unchecked += [f"{name}: {fault}" for fault in faults]


def _in_order(
    reader: RunReader,
    task: str,
    model: str,
    scorer: str,
) -> Sequence[ScoreRecord]:
    """Return the scores that the run's last summary is based on, in the order of the data."""
    scores = reader.counted_scores(task, model, scorer)
    orders = [record.order for record in scores]
    ranked = sorted(range(len(orders)), key=orders.__getitem__)
    if isinstance(scores, Scores):
        return scores.arranged(ranked)
    return [scores[index] for index in ranked]


def _expected(reader: RunReader, planned: PlannedTask) -> int | None:
    """Return the number of samples that the run's summary expects for a task × model;
    None if it has no such number.
    """
    rows: Iterable[Mapping[str, Any]] = reader.summary.get("results", ())
    counts = []
    for row in rows:
        is_of_task = row["task"] == planned.task.name
        is_of_model = row["model"] == planned.model_name
        if is_of_task and is_of_model and row["n_expected"] is not None:
            counts.append(row["n_expected"])
    return max(counts, default=None)


def _name(result: Result) -> tuple[str, str, str]:
    """Return the key of a row in the results table: task, model and metric."""
    return result.task, result.model, result.metric


def _equal(one: object, other: object) -> bool:
    """Return True if two values are equal, numbers within a tolerance."""
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(
            one,
            other,
            rel_tol=TOLERANCE,
            abs_tol=TOLERANCE,
        )
    return bool(one == other)

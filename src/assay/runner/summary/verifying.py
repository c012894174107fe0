"""Verifying: the table of a finished run made again from the verdicts in its journal, and compared with its summary.

Nothing is asked, scored or written. What its own evaluator or a scorer of the whole set judged cannot be made again
from verdicts on single samples, and is named.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...core import AssayError, Result
from ...core.record import result_from_plain
from ...core.trust import guarded
from ...store import RunReader, Scores
from ..plan.cell import Cell
from ..plan.labels import metrics_apart
from ..plan.planning import make_plan
from ..resume.recorded import recorded_run
from ..scoring.scoring import Scoring
from .results import summarize

TOLERANCE = 1e-9


@dataclass(slots=True)
class Recomputed:
    """The numbers of a run, made again."""

    results: list[Result] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    """Numbers that could not be made again, and why."""

    def differences(self, summary: Mapping[str, Any]) -> Iterator[str]:
        """Where the summary has another number, each in one line."""
        table = {
            _name(r): r for r in map(result_from_plain, summary.get("results", ()))
        }
        results = {_name(r): r for r in self.results}
        for name, result in results.items():
            if name not in table:
                yield f"{' · '.join(name)}: not in summary.json"
                continue
            there = table[name]
            for what in ("value", "n", "stderr"):
                if not _equal(getattr(there, what), getattr(result, what)):
                    found = f"{what} {getattr(there, what)}, and the journal gives {getattr(result, what)}"
                    yield f"{' · '.join(name)}: summary.json has {found}"
        judged = {(result.task, result.model) for result in self.results}
        if not self.unchecked:
            for name in table.keys() - results.keys():
                if name[:2] in judged:
                    yield f"{' · '.join(name)}: the journal does not give it"


def recompute(reader: RunReader, **settings: Any) -> Recomputed:
    """The table of a run from its journal; `settings` as those of `score`."""
    run = recorded_run(Path(reader.layout.folder), settings)
    recomputed = Recomputed()
    with guarded(run.gate):
        for cell in make_plan(
            run.options, run.models, may_have_unused=True, recorded=run.ways
        ):
            if cell.task.driver is not None:
                recomputed.unchecked.append(
                    f"{cell.task.name}: its own evaluator made the numbers"
                )
                continue
            for scoring in cell.scorings:
                _add(recomputed, reader, cell, scoring)
    return recomputed


def _add(
    recomputed: Recomputed, reader: RunReader, cell: Cell, scoring: Scoring
) -> None:
    task, model = cell.task.name, cell.model_name
    name = f"{task} · {model} · {scoring.name}"
    if scoring.is_set_level:
        recomputed.unchecked.append(f"{name}: it judges all samples at once")
        return
    if scoring.name not in (judged := reader.scorers(task, model)):
        why = (
            "the run was last scored by others (--scorer names them)"
            if judged
            else "the journal has no verdicts"
        )
        recomputed.unchecked.append(f"{name}: {why}")
        return
    faults: list[AssayError] = []
    records = _in_order(reader, task, model, scoring.name)
    found = summarize(cell, scoring, records, _expected(reader, cell), faults.append)
    recomputed.results += metrics_apart(found, recomputed.results, scoring.name)
    recomputed.unchecked += [f"{name}: {fault}" for fault in faults]


def _in_order(reader: RunReader, task: str, model: str, scorer: str) -> Scores:
    """The verdicts that the last summary counted, in the order of the data, as a run reads them."""
    scores = reader.scores(task, model, scorer)
    orders = [record.order for record in scores]
    return scores.arranged(sorted(range(len(orders)), key=orders.__getitem__))


def _expected(reader: RunReader, cell: Cell) -> int | None:
    rows: Iterable[Mapping[str, Any]] = reader.summary.get("results", ())
    counts = [
        row["n_expected"]
        for row in rows
        if (row["task"], row["model"]) == (cell.task.name, cell.model_name)
    ]
    return max((n for n in counts if n is not None), default=None)


def _name(result: Result) -> tuple[str, str, str]:
    return result.task, result.model, result.metric


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(one == other)

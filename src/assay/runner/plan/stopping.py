"""Whether `--until` can be kept: a mean of independent samples in random order, on a scale with known ends."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ...core import Result, UsageError
from ...store import RunReader
from ..counts.until import parse_until
from ..options import RunOptions
from ..scoring.scoring import Scoring
from .cell import Cell


def prepare_until(options: RunOptions, cells: Sequence[Cell]) -> None:
    """Refuses a rule that a task cannot keep, and reads the baseline that it looks at."""
    if options.until is None:
        return
    rule = parse_until(options.until)
    where = f"--until {rule.text}"
    if options.predict_only:
        raise UsageError(
            "--predict_only scores nothing, so nothing can be judged",
            where=where,
            fix="leave one out",
        )
    if rule.is_paired and options.baseline is None:
        raise UsageError(
            "no earlier run to decide against", where=where, fix="--baseline RUN"
        )
    for cell in cells:
        scoring = watched_scoring(cell)
        if fault := _unfit(cell, scoring):
            raise UsageError(
                f"task {cell.task.name!r}: {fault}", where=where, fix="--limit N"
            )
        assert scoring is not None  # else it were unfit
        if options.baseline is not None:
            cell.earlier_values = _earlier_values(
                options.baseline, cell, scoring, where
            )


def watched_scoring(cell: Cell) -> Scoring | None:
    """The scorer whose number is looked at: the first of the task."""
    return cell.scorings[0] if cell.scorings else None


def _unfit(cell: Cell, scoring: Scoring | None) -> str:
    if cell.task.driver is not None or scoring is None:
        return "it asks and judges in its own way"
    if scoring.is_set_level or "mean" not in (
        cell.task.summarizers or scoring.summarizers
    ):
        return f"the number of {scoring.name!r} is not the mean of its samples"
    if scoring.bounds is None:
        return f"scorer {scoring.name!r} does not say between which values its scores lie (`bounds`)"
    first = cell.first_sample()
    if cell.task.cluster or (first is not None and first.cluster is not None):
        return "its samples go right or wrong together (`cluster`), and the rule needs independent ones"
    return ""


def _earlier_values(
    baseline: str, cell: Cell, scoring: Scoring, where: str
) -> Mapping[str, float]:
    """The baseline's value of each sample."""
    reader = RunReader(Path(baseline).expanduser())
    rows = [
        row
        for row in reader.results
        if row.task == cell.task.name and _is_of(row, scoring)
    ]
    models = {row.model for row in rows}
    model = (
        cell.model_name
        if cell.model_name in models
        else next(iter(models))
        if len(models) == 1
        else None
    )
    found = next((row for row in rows if row.model == model), None)
    if found is None:
        what = (
            "several models"
            if models
            else f"no number of {scoring.name!r} for task {cell.task.name!r}"
        )
        raise UsageError(
            f"the baseline {baseline} has {what}",
            where=where,
            fix="give a finished run of this task",
        )
    values, _ = reader.sample_values(found)
    if not values:
        fix = f"assay score {baseline}"
        raise UsageError(
            f"the baseline {baseline} has no value for each sample",
            where=where,
            fix=fix,
        )
    return values


def _is_of(row: Result, scoring: Scoring) -> bool:
    return row.metric == scoring.name or row.metric.startswith(f"{scoring.name}.")

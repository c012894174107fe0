"""A corpus metric from what its samples stored: sums of counts, one formula, a bootstrap over the samples."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..core import EMPTY, UNRESOLVED, Result, ScoreRecord, SummaryContext
from .statistics import bootstrap
from .statistics.failures import FLAG_ABOVE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Formula = Callable[["Floats"], "Floats"]
"""Many rows of sums in, one value for each out."""


def corpus_result(
    records: Sequence[ScoreRecord],
    context: SummaryContext,
    metric: str,
    counts: Callable[[ScoreRecord], Sequence[float] | None],
    formula: Formula,
    *,
    details: Mapping[str, Any] = EMPTY,
    higher_is_better: bool = True,
) -> Result:
    """The value over all records that have counts, with its interval; a record without them is only counted.

    Clusters are drawn whole. Without clusters the sample is the unit, so that its epochs stay together.
    """
    pooled = [(record, row) for record in records if (row := counts(record)) is not None]
    outcomes = Counter(record.outcome for record in records)
    unresolved = sum(outcomes[str(outcome)] for outcome in UNRESOLVED)
    result: dict[str, Any] = {
        "task": context.task,
        "model": context.model,
        "metric": metric,
        "n": len(pooled),
        "n_expected": context.n_expected,
        "protocol": context.protocol,
        "outcomes": dict(outcomes),
        "flags": ("unresolved",) if records and unresolved > FLAG_ABOVE * len(records) else (),
        "higher_is_better": higher_is_better,
        "details": details,
    }
    rows = [row for _, row in pooled]
    if not rows or not _is_defined(rows, formula):
        why = "no sample has counts" if not rows else "undefined on these counts"
        return Result(value=None, interval=f"none: {why}", **result)
    estimate = bootstrap(rows, formula, _clusters([record for record, _ in pooled]), seed=context.seed)
    ci = None if estimate.low is None or estimate.high is None else (estimate.low, estimate.high)
    return Result(
        value=estimate.value,
        stderr=estimate.stderr,
        ci=ci,
        interval=estimate.method if ci else f"none: {estimate.method.removeprefix('n/a: ')}",
        clusters=estimate.clusters,
        groups=_by_tag(pooled, formula),
        **result,
    )


def _clusters(records: Sequence[ScoreRecord]) -> list[str] | None:
    if any(record.cluster is not None for record in records):
        return [record.cluster if record.cluster is not None else record.id for record in records]
    ids = [record.id for record in records]
    return ids if len(set(ids)) < len(ids) else None


def _by_tag(pooled: Sequence[tuple[ScoreRecord, Sequence[float]]], formula: Formula) -> dict[str, Any]:
    """`{"direction=de-en": {"value": …, "n": …}}` for each tag the samples carry."""
    groups: dict[str, list[Sequence[float]]] = {}
    for record, row in pooled:
        for name, value in record.tags.items():
            groups.setdefault(f"{name}={value}", []).append(row)
    return {
        name: {"value": _value(rows, formula) if _is_defined(rows, formula) else None, "n": len(rows)}
        for name, rows in sorted(groups.items())
    }


def _value(rows: Sequence[Sequence[float]], formula: Formula) -> float:
    import numpy as np

    return float(formula(np.asarray(rows, float).sum(axis=0, keepdims=True))[0])


def _is_defined(rows: Sequence[Sequence[float]], formula: Formula) -> bool:
    import math

    return math.isfinite(_value(rows, formula))

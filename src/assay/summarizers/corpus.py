"""A corpus metric from what its samples stored: sums of counts, one formula, a bootstrap over the samples."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..core import EMPTY, UNRESOLVED, Result, ScoreRecord, SummaryContext
from .breakdown import interval_of
from .statistics import bootstrap
from .units import failure_flags, lacking_flags

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Formula = Callable[["Floats"], "Floats"]
"""Many rows of sums in, one value for each out."""
Pooled = Sequence[tuple[ScoreRecord, Sequence[float]]]


def corpus_result(
    records: Sequence[ScoreRecord],
    context: SummaryContext,
    metric: str,
    counts: Callable[[ScoreRecord], Sequence[float] | None],
    formula: Formula,
    *,
    details: Mapping[str, Any] = EMPTY,
    higher_is_better: bool = True,
    ends: tuple[float, float] | None = None,
    flags: Sequence[str] = (),
) -> Result:
    """The value over all answers that have counts, with its interval; how many have none is said.

    Clusters are drawn whole. Without clusters the sample is the unit, so that all answers to it stay together.
    Where the value is a mean, `ends` are those of its scale.
    """
    pooled = [(record, row) for record in records if (row := counts(record)) is not None]
    common: dict[str, Any] = {
        "task": context.task,
        "model": context.model,
        "metric": metric,
        "protocol": context.protocol,
        "higher_is_better": higher_is_better,
    }
    own = {**_counted(records, pooled, flags), "n_expected": context.n_expected, "details": details, **common}
    if not pooled:
        return Result(value=None, n=0, interval="none: no sample has counts", **own)
    fields = _estimate(pooled, formula, context.seed, ends)
    groups = {
        name: {
            value: Result(n=_samples(part), n_expected=None, **common, **_estimate(part, formula, context.seed, ends))
            for value, part in sorted(parts.items())
        }
        for name, parts in _by_tag(pooled).items()
    }
    return Result(n=_samples(pooled), groups=groups, **fields, **own)


def _estimate(pooled: Pooled, formula: Formula, seed: int, ends: tuple[float, float] | None) -> dict[str, Any]:
    import numpy as np

    table = np.asarray([row for _, row in pooled], float)
    if not np.isfinite(formula(table.sum(axis=0, keepdims=True))).all():
        return {"value": None, "interval": "none: undefined on these counts"}
    return interval_of(bootstrap(table, formula, _clusters([record for record, _ in pooled]), seed=seed, ends=ends))


def _samples(pooled: Pooled) -> int:
    return len({record.id for record, _ in pooled})


def _counted(records: Sequence[ScoreRecord], pooled: Pooled, more: Sequence[str]) -> dict[str, Any]:
    outcomes = Counter(record.outcome for record in records)
    total = sum(outcomes.values())
    unresolved = sum(outcomes[str(outcome)] for outcome in UNRESOLVED)
    lacking = total - unresolved - sum(record.outcome not in UNRESOLVED for record, _ in pooled)
    flags = failure_flags(unresolved / total if total else 0.0)
    return {"outcomes": dict(outcomes), "flags": (*flags, *lacking_flags(lacking), *more)}


def _clusters(records: Sequence[ScoreRecord]) -> list[str] | None:
    if any(record.cluster is not None for record in records):
        return [record.cluster if record.cluster is not None else record.id for record in records]
    ids = [record.id for record in records]
    return ids if len(set(ids)) < len(ids) else None


def _by_tag(pooled: Pooled) -> dict[str, dict[str, list[tuple[ScoreRecord, Sequence[float]]]]]:
    """For each tag and each of its values, the records that carry it."""
    found: dict[str, dict[str, list[tuple[ScoreRecord, Sequence[float]]]]] = {}
    for record, row in pooled:
        for name, value in record.tags.items():
            found.setdefault(name, {}).setdefault(value, []).append((record, row))
    return found

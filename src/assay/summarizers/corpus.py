"""A corpus metric from what its samples stored: sums of counts, one formula, an interval over the samples."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..core import EMPTY, UNRESOLVED, Result, ScoreRecord, SummaryContext
from .breakdown import interval_of
from .recipes import Recipe
from .statistics import jackknife, ratio_estimate
from .statistics.estimate import Ends
from .units import failure_flags, lacking_flags

Counts = Callable[[ScoreRecord], Sequence[float] | None]
"""A value times its weight, and the weight; `None` for an answer that has none."""
Pooled = Sequence[tuple[ScoreRecord, Sequence[float]]]


def corpus_result(
    records: Sequence[ScoreRecord],
    context: SummaryContext,
    metric: str,
    source: Recipe | Counts,
    *,
    details: Mapping[str, Any] = EMPTY,
    higher_is_better: bool = True,
    ends: Ends | None = None,
    flags: Sequence[str] = (),
) -> Result:
    """The value over all answers that have counts, with its interval; how many have none is said.

    A recipe has its formula and its scale; other counts are those of a mean between `ends`. Clusters count as one unit
    each. Without clusters the sample is the unit, so that all answers to it stay together.
    """
    counts: Counts = source.read if isinstance(source, Recipe) else source
    pooled = [(record, row) for record in records if (row := counts(record)) is not None]
    common: dict[str, Any] = {
        "task": context.task,
        "model": context.model,
        "metric": metric,
        "protocol": context.protocol,
        "higher_is_better": higher_is_better,
    }
    if isinstance(source, Recipe):
        details = {**details, "recipe": source.to_plain()}
    outcomes, marks = _counted(records, pooled, flags)
    own = {"outcomes": outcomes, "n_expected": context.n_expected, "details": details, **common}
    if not pooled:
        return Result(value=None, n=0, interval="none: no sample has counts", flags=marks, **own)
    recipe = source if isinstance(source, Recipe) else None
    groups = {
        name: {
            value: Result(n=_samples(part), n_expected=None, **common, **_estimate(part, recipe, ends))
            for value, part in sorted(parts.items())
        }
        for name, parts in _by_tag(pooled).items()
    }
    return Result(n=_samples(pooled), groups=groups, **_estimate(pooled, recipe, ends, marks), **own)


def _estimate(pooled: Pooled, recipe: Recipe | None, ends: Ends | None, flags: Sequence[str] = ()) -> dict[str, Any]:
    import numpy as np

    table = np.asarray([row for _, row in pooled], float)
    units = _clusters([record for record, _ in pooled])
    function = None if recipe is None or recipe.formula in ("ratio", "share") else recipe.function()
    total = table.sum(axis=0, keepdims=True)
    defined = bool(total[0, 1]) if function is None else bool(np.isfinite(function(total)).all())
    if not defined:
        return {"value": None, "interval": "none: undefined on these counts", "flags": tuple(flags)}
    scale = ends if recipe is None else recipe.ends
    if function is None:
        estimate = ratio_estimate(table[:, 0].tolist(), table[:, 1].tolist(), units, ends=scale)
    else:
        estimate = jackknife(table, function, units, ends=scale)
    return interval_of(estimate, flags)


def _samples(pooled: Pooled) -> int:
    return len({record.id for record, _ in pooled})


def _counted(
    records: Sequence[ScoreRecord], pooled: Pooled, more: Sequence[str]
) -> tuple[dict[str, int], tuple[str, ...]]:
    outcomes = Counter(record.outcome for record in records)
    total = sum(outcomes.values())
    unresolved = sum(outcomes[str(outcome)] for outcome in UNRESOLVED)
    lacking = total - unresolved - sum(record.outcome not in UNRESOLVED for record, _ in pooled)
    flags = failure_flags(unresolved / total if total else 0.0)
    return dict(outcomes), (*flags, *lacking_flags(lacking), *more)


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

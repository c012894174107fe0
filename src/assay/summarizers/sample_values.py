"""One value for each sample, in the order in which the samples come: what a mean is made of, before it is taken."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable

from ..core import COUNTED_AS_ZERO, UNRESOLVED, ScoreRecord
from .units import one_value

ValueOf = Callable[[ScoreRecord], float | None]


def value_reader(metric: str, unread: float | None) -> ValueOf:
    """Reads what one answer counts as: `unread` where no rule could read it, `None` where it has no value."""

    def value_of(record: ScoreRecord) -> float | None:
        if record.outcome in UNRESOLVED:
            return None
        return (
            unread if record.outcome in COUNTED_AS_ZERO else record.values.get(metric)
        )

    return value_of


def values_by_sample(
    records: Iterable[ScoreRecord], value_of: ValueOf, reducer: str = "mean"
) -> tuple[dict[str, float], dict[str, Hashable]]:
    """One value for each sample id, its answers reduced; and what each goes right or wrong together with.

    That is its cluster, else its group; a sample with neither stands alone. Raises `ValueError` for a reducer that the
    answers do not fit.
    """
    values: dict[str, list[float]] = {}
    lost: Counter[str] = Counter()
    clusters: dict[str, Hashable] = {}
    for record in records:
        value = value_of(record)
        if value is None:
            lost[record.id] += 1
            continue
        values.setdefault(record.id, []).append(value)
        together = record.cluster if record.cluster is not None else record.group
        clusters[record.id] = ("sample", record.id) if together is None else together
    reduced = {
        id: one_value(answers, lost[id], reducer) for id, answers in values.items()
    }
    return {id: one.value for id, one in reduced.items() if one is not None}, clusters

"""One value for each sample, in the order of the samples: the values from which a mean is computed."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable

from ..core import COUNTED_AS_ZERO, UNRESOLVED, ScoreRecord
from .score_table import vote_of
from .statistics.clusters import finite
from .units import ballot_of, one_value

ValueOf = Callable[[ScoreRecord], float | None]
_OF_ONE_ITSELF = frozenset({"mean", "max", "majority"})
"""Reducers that return a single answer unchanged."""


def value_reader(metric: str, unread: float | None) -> ValueOf:
    """Return a function that reads the value of one answer: `unread` if no rule could read it, None if it has none."""

    def value_of(record: ScoreRecord) -> float | None:
        if record.outcome in UNRESOLVED:
            return None
        if record.outcome in COUNTED_AS_ZERO:
            return unread
        return record.values.get(metric)

    return value_of


def values_by_sample(
    records: Iterable[ScoreRecord],
    value_of: ValueOf,
    reducer: str = "mean",
) -> tuple[dict[str, float], dict[str, Hashable]]:
    """Return one value for each sample id, with its answers reduced, and the cluster of each.

    The cluster is the record's own, else its group; otherwise a sample is a separate cluster. Raise `ValueError` if
    a reducer cannot be applied to the answers.
    """
    values: dict[str, float] = {}
    repeats: dict[str, list[float]] = {}
    ballots: dict[str, list[Hashable | None]] = {}
    lost: Counter[str] = Counter()
    clusters: dict[str, Hashable] = {}
    for record in records:
        id = record.id
        value = value_of(record)
        if value is None:
            lost[id] += 1
            continue
        if id in values:
            repeats.setdefault(id, [values[id]]).append(value)
        else:
            values[id] = value
        if reducer == "majority":
            ballot = ballot_of(vote_of(record), record.outcome, value)
            ballots.setdefault(id, []).append(ballot)
        cluster = record.cluster if record.cluster is not None else record.group
        clusters[id] = ("sample", id) if cluster is None else cluster
    if reducer in _OF_ONE_ITSELF:
        # Most runs have one answer to each sample, which is its own mean.
        answers_of: dict[str, list[float]] = repeats
        finite(list(values.values()) or [0.0])
    else:
        answers_of = {id: repeats.get(id, [value]) for id, value in values.items()}
    for id, answers in answers_of.items():
        reduced = one_value(answers, lost[id], reducer, ballots.get(id))
        if reduced is None:
            del values[id]
        else:
            values[id] = reduced.value
    return values, clusters

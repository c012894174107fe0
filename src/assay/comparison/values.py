"""The values and counts of single samples, as the table of a run was made of them."""

from collections.abc import Hashable

from ..core import UNRESOLVED, Result
from ..store import RunReader
from ..summarizers.attempts import Attempts
from ..summarizers.recipes import Recipe

ROUNDING = 1e-6


def sample_counts(
    reader: RunReader, task: str, model: str, result: Result | None, recipe: Recipe
) -> tuple[dict[str, list[float]], dict[str, Hashable]]:
    """The counts of each sample, those of its answers added up; and its cluster, or else itself.

    Of several scorers with such counts it is the one whose sums make the number of the table; none if there is no such.
    """
    import numpy as np

    for scorer in reader.scorers(task, model):
        counts: dict[str, list[float]] = {}
        clusters: dict[str, Hashable] = {}
        for record in Attempts(reader.scores(task, model, scorer)):
            found = None if record.outcome in UNRESOLVED else recipe.read(record)
            if found is None:
                continue
            sums = counts.setdefault(record.id, [0.0] * len(found))
            counts[record.id] = [x + y for x, y in zip(sums, found, strict=True)]
            clusters[record.id] = (
                ("sample", record.id) if record.cluster is None else record.cluster
            )
        if not counts:
            continue
        value = float(
            recipe.function()(
                np.asarray(list(counts.values()), float).sum(axis=0, keepdims=True)
            )[0]
        )
        if result is None or (
            result.value is not None
            and abs(value - result.value) <= ROUNDING * max(1.0, abs(value))
        ):
            return counts, clusters
    return {}, {}


class Values:
    """Values and counts of samples, read once for all rows they are compared in."""

    def __init__(self) -> None:
        self._samples: dict[
            tuple[str, ...], tuple[dict[str, float], dict[str, Hashable]]
        ] = {}
        self._counts: dict[
            tuple[str, ...], tuple[dict[str, list[float]], dict[str, Hashable]]
        ] = {}

    def of_samples(
        self, reader: RunReader, result: Result, model: str
    ) -> tuple[dict[str, float], dict[str, Hashable]]:
        """One value for each sample of a number, and its cluster."""
        key = str(reader.layout.folder), result.task, model, result.metric
        if key not in self._samples:
            self._samples[key] = reader.sample_values(result, model)
        return self._samples[key]

    def counts(
        self,
        reader: RunReader,
        number: Result,
        table: Result | None,
        model: str,
        recipe: Recipe,
    ) -> tuple[dict[str, list[float]], dict[str, Hashable]]:
        """The counts of each sample of a number, and its cluster: `sample_counts`."""
        key = str(reader.layout.folder), number.task, model, number.metric
        if key not in self._counts:
            self._counts[key] = sample_counts(reader, number.task, model, table, recipe)
        return self._counts[key]

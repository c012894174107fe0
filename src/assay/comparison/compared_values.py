"""Read, from a finished run, the sample values and counts from which its results table was computed."""

from collections.abc import Hashable, Iterable, Iterator

from ..core import UNRESOLVED, Result, ScoreRecord
from ..store import RunReader
from ..summarizers.attempts import Attempts
from ..summarizers.recipes import Recipe, together

ROUNDING = 1e-6
Counts = dict[str, list[float]]
"""For each sample id, the counts from which a corpus metric such as BLEU is computed."""
Clusters = dict[str, Hashable]
SampleValues = tuple[dict[str, float], dict[str, Hashable]]
"""The value of each sample by id, and the cluster of each sample."""


def sample_counts(
    reader: RunReader,
    task: str,
    model: str,
    result: Result | None,
    recipe: Recipe,
) -> tuple[Counts, Clusters]:
    """Return the counts of each sample, summed over its answers, and the cluster of
    each sample.

    A sample without a cluster is its own cluster. If several scorers record such
    counts, choose those that give the value in the results table. If none do, return
    two empty mappings.
    """
    for records in _sources(reader, task, model, recipe):
        counts, clusters = _added_up(records, recipe)
        if counts and _makes_the_number(counts, result, recipe):
            return counts, clusters
    return {}, {}


def _sources(
    reader: RunReader,
    task: str,
    model: str,
    recipe: Recipe,
) -> Iterator[Iterable[ScoreRecord]]:
    """Yield each group of score records that may contain the counts.

    If the metric needs the records of all scorers together, there is one group,
    otherwise one per scorer.
    """
    beside = {
        scorer: Attempts(reader.counted_scores(task, model, scorer))
        for scorer in reader.scorers(task, model)
    }
    if recipe.reading is not None and recipe.reading.is_joint:
        yield together(beside)
    else:
        yield from beside.values()


def _added_up(
    records: Iterable[ScoreRecord],
    recipe: Recipe,
) -> tuple[Counts, Clusters]:
    """Return the counts of each sample, summed over its records, and its cluster."""
    counts: Counts = {}
    clusters: Clusters = {}
    for record in records:
        if record.outcome in UNRESOLVED:
            continue
        row = recipe.read(record)
        if row is None:
            continue
        sums = counts.get(record.id, [0.0] * len(row))
        counts[record.id] = [x + y for x, y in zip(sums, row, strict=True)]
        alone = ("sample", record.id)
        clusters[record.id] = alone if record.cluster is None else record.cluster
    return counts, clusters


def _makes_the_number(
    counts: Counts,
    result: Result | None,
    recipe: Recipe,
) -> bool:
    """Return True if the metric computed from these counts equals the value in the
    results table.

    Also return True if the run has no table.
    """
    import numpy as np

    if result is None:
        return True
    if result.value is None:
        return False
    total = np.asarray(list(counts.values()), float).sum(
        axis=0,
        keepdims=True,
    )
    value = float(recipe.function()(total)[0])
    return abs(value - result.value) <= ROUNDING * max(1.0, abs(value))


class Values:
    """Cache of the values and counts of samples, for comparisons that use the same run several times."""

    def __init__(self) -> None:
        self._samples: dict[tuple[str, ...], SampleValues] = {}
        self._counts: dict[tuple[str, ...], tuple[Counts, Clusters]] = {}

    def of_samples(
        self,
        reader: RunReader,
        result: Result,
        model: str,
    ) -> SampleValues:
        """Return the sample values behind a result, and the cluster of each sample."""
        folder = str(reader.layout.folder)
        key = folder, result.task, model, result.metric
        if key not in self._samples:
            self._samples[key] = reader.sample_values(result, model)
        return self._samples[key]

    def weights(
        self,
        reader: RunReader,
        task: str,
        model: str,
    ) -> dict[str, float]:
        """Return the weight of each sample by its id."""
        weights: dict[str, float] = {}
        for scorer in reader.scorers(task, model):
            for record in reader.counted_scores(task, model, scorer):
                weights[record.id] = 1.0 if record.weight is None else record.weight
        return weights

    def counts(
        self,
        reader: RunReader,
        number: Result,
        table: Result | None,
        model: str,
        recipe: Recipe,
    ) -> tuple[Counts, Clusters]:
        """Return the counts and clusters of the samples behind a result, as `sample_counts` does.

        Results are cached.
        """
        key = str(reader.layout.folder), number.task, model, number.metric
        if key not in self._counts:
            self._counts[key] = sample_counts(reader, number.task, model, table, recipe)
        return self._counts[key]

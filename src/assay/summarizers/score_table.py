"""The score records of one scorer as columns, read in one pass with a few bytes for each record.

The values in a column are numbers, two of them with a special meaning. `NO_VALUE` marks
a metric that a sample does not have. `UNKNOWN` marks a value that is expected but
missing. It also marks samples that are left out of the denominator once outcomes are
applied.
"""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..core import COUNTED_AS_ZERO, ORIGINAL_LETTER, UNRESOLVED, WITH_VALUE, ScoreRecord

NO_VALUE = math.nan
UNKNOWN = math.inf
DOUBTS = {
    "suspect": ("suspect verdict", "suspect verdicts"),
    "default_grade": (
        "judge reply got the default grade",
        "judge replies got the default grade",
    ),
    "missing_module": ("program lacks a module", "programs lack a module"),
}
"""Keys of `details` that mark a doubtful verdict, with the words (singular and plural) for them in a flag."""

Tags = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Table:
    """The score records of one scorer as columns of equal length, with one row for each record."""

    metrics: dict[str, "array[float]"] = field(default_factory=dict)
    outcomes: "array[int]" = field(default_factory=lambda: array("B"))
    outcome_names: list[str] = field(default_factory=list)
    tags: "array[int]" = field(default_factory=lambda: array("L"))
    tag_sets: list[Tags] = field(default_factory=list)
    clusters: "array[int] | None" = None
    n_clusters: int = 0
    """The number of clusters in the data. Each sample without a cluster gets a separate, higher number."""
    samples: "array[int] | None" = None
    """The sample of each row; None if no sample has several rows."""
    weights: "array[float] | None" = None
    """The weight of each row's sample; `None` if all weights are equal."""
    answers: list[str | None] | None = None
    """For each row, the answer that the scorer read. None if no sample has several rows."""
    ties: Counter[str] = field(default_factory=Counter)
    """For each metric, the rows in which several options had the same likelihood, from `ties` in the details."""
    doubts: Counter[str] = field(default_factory=Counter)
    """The number of rows with a doubtful verdict, by the key of `details` that marks it."""

    def __len__(self) -> int:
        return len(self.outcomes)

    @property
    def n_samples(self) -> int:
        """The number of different samples, however many epochs each has."""
        if self.samples is None:
            return len(self)
        return max(self.samples, default=-1) + 1

    def weights_of(self, rows: Sequence[int]) -> list[float] | None:
        """Return the weights of the given rows; `None` if the table has no weights."""
        weights = self.weights
        if weights is None:
            return None
        return [weights[row] for row in rows]

    def outcome_counts(self) -> dict[str, int]:
        """Return the number of rows by outcome."""
        counts = {}
        for code, n in sorted(Counter(self.outcomes).items()):
            counts[self.outcome_names[code]] = n
        return counts

    def names(self, otherwise: str) -> list[str]:
        """Return the names of the metrics with a value in a scored answer.

        If there are none, return the names in all answers, or `otherwise` without any.
        For an answer that it could not read, a scorer with several metrics may only use
        its own name.
        """
        if len(self.metrics) < 2:
            return list(self.metrics) or [otherwise]
        is_zero = [name in COUNTED_AS_ZERO for name in self.outcome_names]
        judged = []
        for name, column in self.metrics.items():
            cells = zip(column, self.outcomes, strict=True)
            # `NO_VALUE` is nan, which differs from itself.
            if any(value == value and not is_zero[code] for value, code in cells):
                judged.append(name)
        return judged or list(self.metrics)

    def only_scored(self, name: str) -> "array[float]":
        """Return the column of a metric with `NO_VALUE` in rows whose outcome is not `scored`."""
        if WITH_VALUE.issuperset(self.outcome_names) and name in self.metrics:
            return self.metrics[name]
        is_scored = [outcome in WITH_VALUE for outcome in self.outcome_names]
        column = self.metrics.get(name)
        if not column:
            column = array("d", [NO_VALUE]) * len(self)
        scored = array("d")
        for value, code in zip(column, self.outcomes, strict=True):
            scored.append(value if is_scored[code] else NO_VALUE)
        return scored

    def resolved(
        self,
        name: str,
        zero: float | None,
    ) -> "array[float]":
        """Return the column of a metric, in which an answer that could not be read has the value `zero`.

        A scorer with several metrics may be able to compute some of them even for such
        an answer. So a value other than 0 is kept.
        """
        counted = UNKNOWN if zero is None else zero
        fixed: list[float | None] = []
        for outcome in self.outcome_names:
            if outcome in UNRESOLVED:
                fixed.append(UNKNOWN)
            elif outcome in COUNTED_AS_ZERO:
                fixed.append(counted)
            else:
                fixed.append(None)
        column = self.metrics.get(name) or array("d", [NO_VALUE]) * len(self)
        if all(value is None for value in fixed):
            return column
        done = array("d")
        for code, value in zip(self.outcomes, column, strict=True):
            fixed_value = fixed[code]
            done.append(value if fixed_value is None else fixed_value)
        if len(self.metrics) > 1:
            self._spare_other_metrics(done, name, column)
        return done

    def _spare_other_metrics(
        self,
        done: "array[float]",
        name: str,
        column: "array[float]",
    ) -> None:
        """Correct the values of unreadable answers in `done`. The metric's own value is kept.

        If only other metrics have a value for such an answer, this metric gets none.
        """
        others = [self.metrics[other] for other in self.names(name) if other != name]
        zero = [outcome in COUNTED_AS_ZERO for outcome in self.outcome_names]
        for row, code in enumerate(self.outcomes):
            value = column[row]
            if zero[code] and value and math.isfinite(value):
                done[row] = value
            elif (
                zero[code]
                and math.isnan(value)
                and any(not math.isnan(other[row]) for other in others)
            ):
                done[row] = NO_VALUE


def vote_of(record: ScoreRecord) -> str | None:
    """Return the answer for which a record votes.

    If the options were shuffled, this is the letter of the chosen option before the
    shuffle.
    """
    original: str | None = record.details.get(ORIGINAL_LETTER)
    return original or record.answer


def read_table(records: Iterable[ScoreRecord]) -> Table:
    """Return the records as a table. They are read a second time only if samples have several epochs."""
    table = _read(records, with_samples=False)
    if table is not None:
        return table
    return _read(records, with_samples=True) or Table()


def _read(
    records: Iterable[ScoreRecord],
    *,
    with_samples: bool,
) -> Table | None:
    """Read the records in one pass. Return None if a sample has several rows and `with_samples` is False."""
    metrics: dict[str, array[float]] = {}
    outcomes = array("B")
    tags = array("L")
    clusters = array("l")
    samples = array("L")
    outcome_codes: dict[str, int] = {}
    tag_codes: dict[Tags, int] = {}
    cluster_codes: dict[str, int] = {}
    ids: dict[str, int] = {}
    answers: list[str | None] = []
    ties: Counter[str] = Counter()
    weights: array[float] | None = None
    doubts: Counter[str] = Counter()
    isfinite = math.isfinite
    first_epoch: int | None = None
    for row, record in enumerate(records):
        if with_samples:
            samples.append(ids.setdefault(record.id, len(ids)))
            answers.append(vote_of(record))
        elif record.epoch != first_epoch:
            if first_epoch is not None:
                return None
            first_epoch = record.epoch
        outcome = record.outcome
        if outcome not in outcome_codes:
            outcome_codes[outcome] = len(outcome_codes)
        outcomes.append(outcome_codes[outcome])
        for name, value in record.values.items():
            column = metrics.get(name)
            if column is None:
                column = metrics[name] = array("d")
            if len(column) < row:
                _pad(column, row)
            column.append(value if value is not None and isfinite(value) else UNKNOWN)
        weight = record.weight
        if weight is not None and weights is None:
            weights = array("d", [1.0]) * row
        if weights is not None:
            weights.append(1.0 if weight is None else weight)
        key = tuple(record.tags.items()) if record.tags else ()
        tags.append(tag_codes.setdefault(key, len(tag_codes)))
        tied = record.details.get("ties")
        if isinstance(tied, Mapping):
            ties.update(
                name
                for name in record.values
                if name.removeprefix(f"{record.scorer}.") in tied
            )
        _count_doubts(record, doubts)
        cluster = record.cluster
        clusters.append(
            -1
            if cluster is None
            else cluster_codes.setdefault(cluster, len(cluster_codes))
        )
    for column in metrics.values():
        _pad(column, len(outcomes))
    return Table(
        metrics=metrics,
        outcomes=outcomes,
        outcome_names=list(outcome_codes),
        tags=tags,
        tag_sets=list(tag_codes),
        clusters=_alone(clusters, samples if with_samples else None, len(cluster_codes))
        if cluster_codes
        else None,
        n_clusters=len(cluster_codes),
        samples=samples if with_samples else None,
        weights=weights,
        answers=answers if with_samples else None,
        ties=ties,
        doubts=doubts,
    )


def _count_doubts(record: ScoreRecord, doubts: Counter[str]) -> None:
    """Add up the keys of `details` that mark a verdict as doubtful."""
    if not record.details:
        return
    for name in DOUBTS:
        if record.details.get(name):
            doubts[name] += 1


def _alone(
    clusters: "array[int]",
    samples: "array[int] | None",
    first: int,
) -> "array[int]":
    """Give each sample without a cluster its own cluster number, counting from `first`."""
    for row, code in enumerate(clusters):
        if code < 0:
            clusters[row] = first + (row if samples is None else samples[row])
    return clusters


def _pad(column: "array[float]", length: int) -> None:
    if len(column) < length:
        column.extend(array("d", [NO_VALUE]) * (length - len(column)))

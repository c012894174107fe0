"""The score records of one scorer as columns: one pass, a few bytes for each record, nothing kept of the records.

Cells of a column are numbers; `NO_VALUE` marks a metric that a sample does not have, `UNKNOWN` a value that was due and
is not a number. Once outcomes are applied, `UNKNOWN` also marks the samples that leave the denominator.
"""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..core import COUNTED_AS_ZERO, UNRESOLVED, Outcome, ScoreRecord

NO_VALUE = math.nan
UNKNOWN = math.inf

Tags = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Table:
    """Columns of equal length, one row for each record."""

    metrics: dict[str, "array[float]"] = field(default_factory=dict)
    outcomes: "array[int]" = field(default_factory=lambda: array("B"))
    outcome_names: list[str] = field(default_factory=list)
    tags: "array[int]" = field(default_factory=lambda: array("L"))
    tag_sets: list[Tags] = field(default_factory=list)
    clusters: "array[int] | None" = None
    n_clusters: int = 0
    """Clusters that were given; a sample without one, where others have one, stands alone and has a higher number."""
    samples: "array[int] | None" = None
    """Which sample a row is an answer to; `None` where each sample has one row."""
    ties: Counter[str] = field(default_factory=Counter)
    """For each metric, the rows in which several options came out best, as their scorer says in `ties`."""

    def __len__(self) -> int:
        return len(self.outcomes)

    @property
    def n_samples(self) -> int:
        """Samples, however often each was asked."""
        return len(self) if self.samples is None else max(self.samples, default=-1) + 1

    def outcome_counts(self) -> dict[str, int]:
        """How many rows had each outcome that occurred."""
        return {
            self.outcome_names[code]: n
            for code, n in sorted(Counter(self.outcomes).items())
        }

    def names(self, otherwise: str) -> list[str]:
        """The metrics: those of the answers that were judged, else those of any; else `otherwise`.

        A scorer with several named values has only its own name for an answer that it could not read.
        """
        if len(self.metrics) < 2:
            return list(self.metrics) or [otherwise]
        zero = [name in COUNTED_AS_ZERO for name in self.outcome_names]
        judged = [
            name
            for name, column in self.metrics.items()
            if any(
                v == v and not zero[code]
                for v, code in zip(column, self.outcomes, strict=True)
            )
        ]
        return judged or list(self.metrics)

    def only_scored(self, name: str) -> "array[float]":
        """The column of a metric with nothing but the rows that were scored."""
        if self.outcome_names == [Outcome.SCORED] and name in self.metrics:
            return self.metrics[name]
        scored = [outcome == Outcome.SCORED for outcome in self.outcome_names]
        column = self.metrics.get(name) or array("d", [NO_VALUE]) * len(self)
        cells = zip(column, self.outcomes, strict=True)
        return array(
            "d", (value if scored[code] else NO_VALUE for value, code in cells)
        )

    def resolved(self, name: str, zero: float | None) -> "array[float]":
        """The column of a metric with the outcomes applied: `zero` for an answer that could not be read.

        Of a scorer with several metrics one may have read what another could not: a value that is not 0 stands, since
        the outcome is the verdict of the rule that read nothing.
        """
        counted = UNKNOWN if zero is None else zero
        fixed: list[float | None] = []
        for outcome in self.outcome_names:
            fixed.append(
                UNKNOWN
                if outcome in UNRESOLVED
                else counted
                if outcome in COUNTED_AS_ZERO
                else None
            )
        column = self.metrics.get(name) or array("d", [NO_VALUE]) * len(self)
        if all(value is None for value in fixed):
            return column
        cells = (
            value if (number := fixed[code]) is None else number
            for code, value in zip(self.outcomes, column, strict=True)
        )
        done = array("d", cells)
        if len(self.metrics) > 1:
            self._spare_other_metrics(done, name, column)
        return done

    def _spare_other_metrics(
        self, done: "array[float]", name: str, column: "array[float]"
    ) -> None:
        """An unread answer with values for other metrics only does not concern this one; what this one read stands."""
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


def read_table(records: Iterable[ScoreRecord]) -> Table:
    """The records as a table; read a second time only where samples turn out to have several epochs."""
    table = _read(records, with_samples=False)
    return table if table is not None else _read(records, with_samples=True) or Table()


def _read(records: Iterable[ScoreRecord], *, with_samples: bool) -> Table | None:
    """One pass; `None` when rows must be joined by sample and their ids were not kept."""
    metrics: dict[str, array[float]] = {}
    outcomes, tags, clusters, samples = array("B"), array("L"), array("l"), array("L")
    outcome_codes: dict[str, int] = {}
    tag_codes: dict[Tags, int] = {}
    cluster_codes: dict[str, int] = {}
    ids: dict[str, int] = {}
    ties: Counter[str] = Counter()
    isfinite = math.isfinite
    first_epoch: int | None = None
    for row, record in enumerate(records):
        if with_samples:
            samples.append(ids.setdefault(record.id, len(ids)))
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
        key = tuple(record.tags.items()) if record.tags else ()
        tags.append(tag_codes.setdefault(key, len(tag_codes)))
        tied = record.details.get("ties")
        if isinstance(tied, Mapping):
            ties.update(
                name
                for name in record.values
                if name.removeprefix(f"{record.scorer}.") in tied
            )
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
        ties=ties,
    )


def _alone(
    clusters: "array[int]", samples: "array[int] | None", first: int
) -> "array[int]":
    """Gives each sample without a cluster one of its own, numbered from `first`."""
    for row, code in enumerate(clusters):
        if code < 0:
            clusters[row] = first + (row if samples is None else samples[row])
    return clusters


def _pad(column: "array[float]", length: int) -> None:
    if len(column) < length:
        column.extend(array("d", [NO_VALUE]) * (length - len(column)))
